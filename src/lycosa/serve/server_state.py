"""Server state: what all requests share and what lasts as long as the server."""

from __future__ import annotations

from dataclasses import dataclass, field

from lycosa.serve.collection_folders import CollectionFolders
from lycosa.serve.collection_summaries import CollectionSummaries
from lycosa.serve.indexing import Indexing
from lycosa.serve.passwords import PasswordGate
from lycosa.serve.security import TokenMaker
from lycosa.serve.settings import ServeSettings
from lycosa.serve.watched_crawls import WatchedCrawls


@dataclass
class ServerState:
    """The listing and the summaries of collections, sessions, tokens, watched crawls and indexing."""

    settings: ServeSettings
    folders: CollectionFolders
    gate: PasswordGate | None
    tokens: TokenMaker
    summaries: CollectionSummaries = field(default_factory=CollectionSummaries)
    watch: WatchedCrawls = field(default_factory=WatchedCrawls)
    indexing: Indexing = field(default_factory=Indexing)
