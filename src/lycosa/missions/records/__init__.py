"""Mission records."""
