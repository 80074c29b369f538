"""The verbs of the records mission."""
