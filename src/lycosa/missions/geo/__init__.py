"""The geo mission: it recognises the descriptions of geographic services, infers where others are, and lists all."""


def __getattr__(name: str) -> object:
    """The quarry by the path that earlier versions stored, `lycosa.missions.geo:Geo`; loading a plug-in stays cheap."""
    if name == "Geo":
        from lycosa.missions.geo.quarry import Geo

        return Geo
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
