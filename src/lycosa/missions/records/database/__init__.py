"""The records database: `records.db` beside the crawl's, with every record, its versions and where they come from."""

from lycosa.missions.records.database.model import FieldChange, NewRecord, RecordChange, RecordVersion, StoredRecord
from lycosa.missions.records.database.store import RecordStore, open_store

__all__ = ["FieldChange", "NewRecord", "RecordChange", "RecordStore", "RecordVersion", "StoredRecord", "open_store"]
