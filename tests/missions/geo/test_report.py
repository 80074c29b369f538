"""The report on services as a page."""

from __future__ import annotations

from pathlib import Path

from support.command_line import run


def test_the_report_tells_what_was_found(atlas: Path, tmp_path: Path) -> None:
    """Services by kind, what they are, and what does not answer with its reasons; one file."""
    said = run("report", "geo", "-o", str(tmp_path / "r.html"), "-c", str(atlas))
    assert said.code == 0, said.output
    page = (tmp_path / "r.html").read_text()
    for part in ("12 services", "Mapas de Villarrubia", "WMTS", "http-404", "forbidden"):
        assert part in page
