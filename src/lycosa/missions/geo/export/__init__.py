"""Exports of the services: map, GeoJSON, STAC, ISO 19139, originals."""
