"""The mission that collects the XML family: it recognises its members, reads what they refer to, and opens archives.

Every function is pure: bytes and an address go in, values come out.
"""

from lycosa.missions.xml.kinds import NAMES, Kind, recognise, recognise_doc
from lycosa.missions.xml.links import Fault, Reference, Trace, trace

__all__ = ["NAMES", "Fault", "Kind", "Reference", "Trace", "recognise", "recognise_doc", "trace"]
