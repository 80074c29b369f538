"""Descriptions of services: what each offers, by the family of its protocol."""
