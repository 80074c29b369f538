"""Analyse: a whole collection goes in; what each document is, holds, links to and lacks comes out, in `analysis.db`.

`part` is what a mission brings, `plan` what the user wants (which phases for which kind, which clusters), `phases` runs
them over one document in a worker process (`bench`), `store` keeps what comes back, `run` leads the whole; `select` and
`cluster` sort the documents by what was found.
"""
