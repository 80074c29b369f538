"""Pages for browsers about a hunt for a topic."""
