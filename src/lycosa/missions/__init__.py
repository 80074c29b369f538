"""Missions: what is hunted with the core. Each uses public names of the core, none another; the core imports none."""
