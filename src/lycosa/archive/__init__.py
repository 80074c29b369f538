"""The archive: every answer as received, in WARC files. It is the truth; databases and exports are views of it."""
