"""Intake: what an answer becomes: rows of a batch, records of the archive, links that are followed."""
