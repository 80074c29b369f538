"""Header: what one document says of itself, read from its lines."""
