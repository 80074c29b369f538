"""lycosa: a focused web-collection system."""

__version__ = "0.1.0"
