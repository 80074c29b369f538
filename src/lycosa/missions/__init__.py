"""Missions: what the core hunts. Each uses public names of the core, and no other mission; the core imports none."""
