"""Export: documents, contacts and the graph as files for repositories and other programs."""
