"""The collection: its folder, its lock, and all that reads it. Only the lock and side databases are written here."""
