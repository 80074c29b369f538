"""Wishes: what sites say about the use of their texts, in one vocabulary of uses."""
