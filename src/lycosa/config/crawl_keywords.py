"""Keywords of `crawl`: the settings of a mission as Python names them, so that type checkers see a wrong one."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, TypedDict

from lycosa.config.settings import Order, Ports, Rendering, Robots, Scope

#: Units may be written with a number: "1h30m", "10 MB".
Number = float | str
Texts = str | Iterable[str]
FilePath = str | os.PathLike[str]


class CrawlKeywords(TypedDict, total=False):
    """A mission's own settings, its sections, and the short names that the options of the command line have."""

    name: str
    scope: Scope
    ports: Ports
    order: Order
    accept: Texts
    reject: Texts
    missions: Texts
    thesaurus: str
    themes: Texts
    workers: int
    limits: dict[str, Any]
    policy: str | dict[str, Any]
    agent: dict[str, Any]
    fetch: dict[str, Any]
    render: Rendering | dict[str, Any]
    urls: dict[str, Any]
    traps: dict[str, Any]
    keep: dict[str, Any]
    log: dict[str, Any]
    extract: dict[str, Any]
    hosts: dict[str, dict[str, Any]]
    own: dict[str, dict[str, Any]]

    include: Texts
    exclude: Texts
    learned_from: FilePath
    limit: int
    max_time: Number
    depth: int
    max_host_pages: int
    period: Number
    contact: str
    delay: Number
    per_host: int
    connections: int
    robots: Robots
    connect_to: Texts
    allow_private: Texts
    ca: FilePath
    proxy: str
    database: str
    archive: str
    mirror: FilePath
    index: FilePath
    log_file: FilePath
    log_level: int
