"""TiTiler over one picture of the ground, whose API describes itself in templates of addresses."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from acceptance.real.points import write_portal
from acceptance.real.site import Site, Truth, environment_of, free_port, running

NAME = "titiler"
#: Runs in TiTiler's own environment.
MAKE_PICTURE = """
import sys
import numpy, rasterio
from rasterio.transform import from_bounds
shape = dict(width=512, height=512, count=1, dtype="uint8", crs="EPSG:4326")
shape["transform"] = from_bounds(9, 47, 10, 48, 512, 512)
with rasterio.open(sys.argv[1], "w", driver="GTiff", tiled=True, **shape) as picture:
    picture.write(numpy.arange(512 * 512, dtype="uint32").reshape(1, 512, 512).astype("uint8"))
"""
#: A portal beside the program, on one port, as a web server in front of both would have it.
SERVE = """
import sys
import uvicorn
from fastapi import FastAPI
from fastapi.responses import FileResponse
from titiler.application.main import app as titiler
app = FastAPI(openapi_url=None)
app.get("/portal.html")(lambda: FileResponse("portal.html", media_type="text/html"))
app.mount("/", titiler)
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
"""


@contextmanager
def serve(folder: Path) -> Iterator[Site]:
    """The services that exist: the OGC API, and the WMTS of the picture that a portal links to."""
    programs = environment_of(NAME, "titiler.application", "uvicorn")
    base = f"http://127.0.0.1:{(port := free_port())}"
    picture = folder / "ground.tif"
    subprocess.run([programs / "python", "-c", MAKE_PICTURE, picture], check=True, capture_output=True)
    tiles = f"{base}/cog/WMTSCapabilities.xml?url={quote(str(picture), safe='')}"
    write_portal(folder / "portal.html", f"{base}/", tiles)
    command = [programs / "python", "-c", SERVE, str(port)]
    with running(command, url=f"{base}/", folder=folder):
        yield Site(url=f"{base}/portal.html", truth=Truth(services=frozenset({("OGCAPI", base), ("WMTS", tiles)})))
