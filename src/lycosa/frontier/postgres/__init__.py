"""PostgreSQL frontier: one database for the workers of many machines, and for those who read while they work.

Writing: `frontier` has the facets, each in the module of its name; `connection` runs transactions, `batch_transaction`
writes a commit, `leases` and `machines` say which worker may fetch what, and how much. Reading: `virtual_tables` shows
the tables to SQLite, by `snapshot_reader` and `server_tables`; `transfer` copies
whole collections.
"""
