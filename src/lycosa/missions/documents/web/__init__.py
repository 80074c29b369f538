"""The documents mission's pages for browsers."""
