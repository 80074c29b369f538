"""Pages of the documents mission in the browser: documents, one beside its pages, authors, OAI-PMH."""
