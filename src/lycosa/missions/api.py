"""The interface of missions: what their packages import of lycosa.

A `MissionManifest` describes a mission; the structs beside it are what the functions that it names are given, and give
back. `PlainMission` is the interface that missions had before: plug-ins written for it are read as manifests.
"""

from __future__ import annotations

from lycosa.export.definition import Export, NoOptions, Written, export_kind
from lycosa.missions.former_plugins import MissionPlugin, PlainMission
from lycosa.missions.manifest import (
    ChangesAsked,
    CrawlOption,
    FinishedRound,
    MissionManifest,
    RecordHistory,
    RecordState,
    Report,
    SideDatabase,
    WebPage,
)

__all__ = [
    "ChangesAsked",
    "CrawlOption",
    "Export",
    "FinishedRound",
    "MissionManifest",
    "MissionPlugin",
    "NoOptions",
    "PlainMission",
    "RecordHistory",
    "RecordState",
    "Report",
    "SideDatabase",
    "WebPage",
    "Written",
    "export_kind",
]
