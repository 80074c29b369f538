"""Alerts: readers are told, once, when a record or a page changes in meaning."""
