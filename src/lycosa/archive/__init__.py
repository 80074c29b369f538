"""What lasts: WARC is the truth; the mirror, the index file and the exports are views of it."""

from lycosa.archive import unstored_log
from lycosa.archive.reader import StoredAnswer, iter_records, read_record
from lycosa.archive.repair import Repair, inspect, mend, settle
from lycosa.archive.writer import Archive, Profile

__all__ = [
    "Archive",
    "Profile",
    "Repair",
    "StoredAnswer",
    "inspect",
    "iter_records",
    "ledger",
    "mend",
    "read_record",
    "settle",
]
