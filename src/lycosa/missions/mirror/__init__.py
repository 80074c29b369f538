"""The mission that mirrors whole sites."""
