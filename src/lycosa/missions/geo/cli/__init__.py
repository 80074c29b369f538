"""The verbs of the geo mission."""
