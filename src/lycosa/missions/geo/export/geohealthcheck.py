"""GeoHealthCheck export: the inventory as one JSON document that an instance of GeoHealthCheck loads.

`geohc db-load --file FILE.json` puts it into an instance, in place of all that was there: one resource per service,
probed for its description. The user that the format demands has a password made for this file.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Any

import msgspec

from lycosa.missions.geo.inventory.inventory import ServiceEntry

_PROBES = "GeoHealthCheck.plugins.probe"
_CHECKS = "GeoHealthCheck.plugins.check.checks"
#: By the type of a service: what GeoHealthCheck calls it, the class that asks for its description, and the versions
#: that this asks for, the usual one first.
_TYPES = {
    "WMS": ("OGC:WMS", "owsgetcaps.WmsGetCaps", ("1.3.0", "1.1.1")),
    "WFS": ("OGC:WFS", "owsgetcaps.WfsGetCaps", ("1.1.0", "1.0.0", "2.0.2")),
    "WCS": ("OGC:WCS", "owsgetcaps.WcsGetCaps", ("1.1.0", "1.1.1", "2.0.1")),
    "WMTS": ("OGC:WMTS", "owsgetcaps.WmtsGetCaps", ("1.0.0",)),
    "WPS": ("OGC:WPS", "owsgetcaps.WpsGetCaps", ("1.0.0", "2.0.0")),
    "CSW": ("OGC:CSW", "owsgetcaps.CswGetCaps", ("2.0.2",)),
    "SOS": ("OGC:SOS", "owsgetcaps.SosGetCaps", ("1.0.0", "2.0.0")),
}
#: Services that are asked by their address alone.
_LINKS = {"TMS": "OSGeo:TMS", "STA": "OGC:STA"}


def write_list(entries: Iterable[ServiceEntry]) -> bytes:
    """The document of all these services."""
    found: dict[str, dict[str, Any]] = {
        "users": {
            "admin": {
                "username": "admin",
                "password": secrets.token_urlsafe(12),
                "email": "admin@example.org",
                "role": "admin",
            }
        },
        "tags": {},
        "resources": {},
        "probe_vars": {},
        "check_vars": {},
    }
    for entry in entries:
        _add(found, entry)
    return msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n"


def _add(found: dict[str, dict[str, Any]], entry: ServiceEntry) -> None:
    service = entry.service
    kind, probe, versions = _TYPES.get(service.type, (_LINKS.get(service.type, "WWW:LINK"), "", ("",)))
    tag = service.type.lower()
    found["tags"][tag] = tag
    address = service.endpoint if kind != "WWW:LINK" or not entry.sources else entry.sources[0].url
    found["resources"][entry.id] = {
        "owner": "admin",
        "resource_type": kind,
        "active": True,
        "title": service.title or service.endpoint,
        "url": address,
        "tags": [tag],
    }
    version = next((version for version in entry.versions or (service.version,) if version in versions), versions[0])
    parameters = {"service": service.type, "version": version} if probe else {}
    found["probe_vars"][entry.id] = {
        "resource": entry.id,
        "probe_class": f"{_PROBES}.{probe or 'http.HttpGet'}",
        "parameters": parameters,
    }
    # An answer that is XML may still be an exception report.
    for check in ("XmlParse", "NotContainsOwsException") if probe else ("HttpStatusNoError",):
        made = {"probe_vars": entry.id, "check_class": f"{_CHECKS}.{check}", "parameters": {}}
        found["check_vars"][f"{entry.id} {check}"] = made
