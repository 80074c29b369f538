"""What lives as long as the server: the listing of collections, sessions, tokens."""

from __future__ import annotations

from dataclasses import dataclass, field

from lycosa.serve.collection_folders import CollectionFolders
from lycosa.serve.indexing import Indexing
from lycosa.serve.passwords import PasswordGate
from lycosa.serve.security import TokenMaker
from lycosa.serve.settings import ServeSettings


@dataclass
class Services:
    """What all requests share."""

    settings: ServeSettings
    folders: CollectionFolders
    gate: PasswordGate | None
    tokens: TokenMaker
    indexing: Indexing = field(default_factory=Indexing)
