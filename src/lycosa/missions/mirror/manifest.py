"""The manifest of the mirror mission: settings, and nothing that the core does not have."""

from __future__ import annotations

from pathlib import Path

from lycosa.missions.manifest import MissionManifest

MANIFEST = MissionManifest(
    name="mirror",
    summary="whole sites, kept as an archive and as a tree of files with an index",
    job="A site to keep",
    example="https://museum.example/",
    defaults=Path(__file__).with_name("mirror.toml"),
)
