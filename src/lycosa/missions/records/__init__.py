"""The records mission: the fields of what pages show, by schemas that people write, learn, or need not."""
