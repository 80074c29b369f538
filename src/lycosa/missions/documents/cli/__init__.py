"""The verbs of the documents mission."""
