"""The version of lycosa."""

__version__ = "0.1.0"
