"""Rules learned from examples: pages with the values that stand on them give a schema that people read and edit.

A value is found on its page (`places`), every way to it becomes a candidate (`candidates`), those that hold on all
examples and are trusted most become the rule, and the rules are written as TOML (`learner`).
"""

from lycosa.missions.records.learning.learner import MAX_TEACHING, Example, FieldScores, Learned, learn
from lycosa.missions.records.learning.places import FieldRule

__all__ = ["MAX_TEACHING", "Example", "FieldRule", "FieldScores", "Learned", "learn"]
