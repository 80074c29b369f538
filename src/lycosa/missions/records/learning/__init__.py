"""Rules learned from examples: pages with the values that stand on them give a schema that people can read."""
