"""The records mission's pages for browsers."""
