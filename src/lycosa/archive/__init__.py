"""The archive: every answer as received, in WARC files. It is the truth; databases and exports are views of it.

A file that was moved to an object store is a segment: `segment_store` reads and writes there, and opens an archive file
wherever it is.
"""
