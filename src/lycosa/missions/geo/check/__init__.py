"""Checks of services: what each is asked, what its answer means, and the history of rounds."""
