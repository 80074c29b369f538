"""The mirror mission: whole sites."""
