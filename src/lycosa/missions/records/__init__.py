"""The records mission: from pages to records, by schemas whose rules people can read, change and repeat."""
