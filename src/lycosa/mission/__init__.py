"""Configuration: files, environment and command line become one frozen `Mission`."""

from lycosa.mission.settings import Mission

__all__ = ["Mission"]
