"""Admission: may a URL be visited, is its page stored, and when is it visited again."""
