"""A collection at rest: folder, lock, pages, lists, figures, graph. Nothing here changes crawl.db or the archive."""
