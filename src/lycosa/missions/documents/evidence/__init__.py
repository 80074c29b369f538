"""Evidence: what the document, the pages around it and the other documents say, weighed against each other."""
