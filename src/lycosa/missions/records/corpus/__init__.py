"""Corpora: the clean text of a collection's pages with its metadata, each said once, for linguists and for training."""
