"""Reports: templates over queries and selections of records; digests, newspapers and statistics are such."""
