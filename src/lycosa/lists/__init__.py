"""Lists: what has rows, with facets, words, an order, columns and files; one way for the core and for missions."""
