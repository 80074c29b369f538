"""Explanation: what is known of a URL, what was decided about it, and on which grounds."""
