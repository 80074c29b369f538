"""Analysis of a collection: what each document is, holds, links to and lacks, in `analysis.db`.

`analyzer` is what a mission brings, `plan` what the user wants (which phases for which kind, which clusters). `phases`
runs them over one document in a worker process (`analysis_main`), `store` keeps the findings, `run` leads the whole.
`collectors` sorts documents into clusters, `selection` chooses among them, `search` finds them by their words.
"""
