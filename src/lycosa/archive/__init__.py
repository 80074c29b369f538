"""The archive: every answer as it was received, in WARC files. It is the truth; databases and exports are views of it."""
