"""The frontier of many machines, in a PostgreSQL database."""
