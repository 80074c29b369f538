"""Wishes: what sites say about the use of their texts, in one vocabulary of uses."""

from lycosa.wishes.signals import USES, Signal, Use, read_page, read_robots, read_rsl, read_tdmrep, settle

__all__ = ["USES", "Signal", "Use", "read_page", "read_robots", "read_rsl", "read_tdmrep", "settle"]
