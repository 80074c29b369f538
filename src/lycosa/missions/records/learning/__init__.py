"""Rules learned from examples: pages with the values that stand on them give a schema that people read and edit.

A value is found on its page (`places`), every way to it becomes a candidate (`candidates`), those that hold on all
examples and are trusted most become the rule (`selection`), and the rules are written as TOML (`schema_text`).
"""

from lycosa.missions.records.learning.execution import FieldRule
from lycosa.missions.records.learning.learner import MAX_TEACHING, Example, Learned, learn
from lycosa.missions.records.learning.schema_text import FieldScores

__all__ = ["MAX_TEACHING", "Example", "FieldRule", "FieldScores", "Learned", "learn"]
