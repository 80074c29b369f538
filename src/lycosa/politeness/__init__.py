"""Politeness: who may be asked when, by which of the workers, and what robots.txt files and answers say about it."""
