"""The frontier on disk: one SQLite file, shared by the workers of one machine."""
