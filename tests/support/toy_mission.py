"""The mission of `examples/toy_mission`, built as a wheel and installed into a folder, without a network."""

from __future__ import annotations

import sys
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lycosa.missions import registry

SOURCE = Path(__file__).resolve().parents[2] / "examples/toy_mission"
#: The same mission as it was written before there were manifests: an object with methods.
FORMER = Path(__file__).with_name("former_toy_mission")


def build_wheel(source: Path, folder: Path) -> Path:
    """Write the wheel that a build backend makes of a package with modules at its top, its entry points included."""
    project = tomllib.loads((source / "pyproject.toml").read_text())["project"]
    name, version = project["name"].replace("-", "_"), project["version"]
    wheel, info = folder / f"{name}-{version}-py3-none-any.whl", f"{name}-{version}.dist-info"
    points = [
        line
        for group, found in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{key} = {value}" for key, value in found.items()))
    ]
    with zipfile.ZipFile(wheel, "w") as archive:
        for module in source.glob("*.py"):
            archive.write(module, module.name)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/entry_points.txt", "\n".join(points) + "\n")
        archive.writestr(f"{info}/RECORD", "")
    return wheel


def install(folder: Path, source: Path = SOURCE) -> Path:
    """Install a package into a folder of its own, as an installer does: a wheel without code to compile is unpacked."""
    site = folder / "site"
    with zipfile.ZipFile(build_wheel(source, folder)) as archive:
        archive.extractall(site)
    return site


@contextmanager
def installed(site: Path) -> Iterator[None]:
    """Let this process see what is installed in a folder."""
    caches = (registry._entry_points, registry.find, registry.installed)
    sys.path.insert(0, str(site))
    for cached in caches:
        cached.cache_clear()
    try:
        yield
    finally:
        sys.path.remove(str(site))
        for cached in caches:
            cached.cache_clear()
