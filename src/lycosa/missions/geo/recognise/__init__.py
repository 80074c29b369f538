"""Recognition: which documents describe services, and where other services must be."""
