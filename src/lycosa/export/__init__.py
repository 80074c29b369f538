"""Exports: a collection as files and lists that other programs read."""
