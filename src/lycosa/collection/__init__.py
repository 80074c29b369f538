"""Looking: a collection in, its pages, lists, figures and exports out. Nothing here writes to a collection."""
