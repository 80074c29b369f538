"""Signed WACZ files: whoever changes one is found out."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from support.make_collection import make_collection

from lycosa.cli.main import main
from lycosa.export.wacz_signature import check_wacz


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A WACZ file, signed with a key that was made for it."""
    folder = tmp_path_factory.mktemp("signed")
    make_collection(folder / "c", [("http://a.test/", "text/html", b"<title>a</title>")])
    words = ["export", "wacz", "-c", str(folder / "c"), "-o", str(folder / "c.wacz"), "--sign", str(folder / "me")]
    assert main(words) == 0
    assert (folder / "me/wacz-key.pem").stat().st_mode & 0o077 == 0
    return folder / "c.wacz"


def test_a_signature_holds(signed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It has what the specification names, and nothing else."""
    assert main(["verify", str(signed), "--format", "text"]) == 0
    assert "with the key sha256:" in capsys.readouterr().out
    with zipfile.ZipFile(signed) as archive:
        found = json.loads(archive.read("datapackage-digest.json"))["signedData"]
    assert found.keys() == {"hash", "created", "software", "version", "signature", "publicKey"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pages/pages.jsonl", "pages/pages.jsonl is not what it was"),
        ("datapackage.json", "datapackage.json is not what it was"),
        ("datapackage-digest.json", "The signature does not hold"),
        ("", "does not stand in the manifest"),
    ],
)
def test_what_was_changed_is_told(
    signed: Path, tmp_path: Path, name: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A page, the manifest, its hash, a file more."""
    with zipfile.ZipFile(signed) as archive, zipfile.ZipFile(tmp_path / "x.wacz", "w") as out:
        for each in archive.namelist():
            data = archive.read(each)
            if each == "datapackage-digest.json" == name:
                found = json.loads(data)
                found["signedData"]["signature"] = "A" * 128
                data = json.dumps(found).encode()
            elif each == name:
                data = data.replace(b"http://a.test/", b"http://b.test/").replace(b'"title": "c"', b'"title": "d"')
            out.writestr(each, data)
        if not name:
            out.writestr("archive/more.warc.gz", b"more")
    assert main(["verify", str(tmp_path / "x.wacz"), "--format", "text"]) == 1
    assert said in capsys.readouterr().out


def test_hostile_files_raise_nothing(tmp_path: Path) -> None:
    """No ZIP file, no manifest, a signature that is none."""
    path = tmp_path / "x.wacz"
    path.write_bytes(b"PK nothing")
    assert check_wacz(path).problems
    for manifest, digest in ((b"[]", b"{}"), (b'{"resources": []}', b'{"hash": 1}'), (b'{"resources": []}', _SIGNED)):
        with zipfile.ZipFile(path, "w") as out:
            out.writestr("datapackage.json", manifest)
            out.writestr("datapackage-digest.json", digest)
        assert check_wacz(path).problems


_SIGNED = json.dumps({
    "hash": "sha256:0",
    "signedData": {"hash": "x", "created": "", "software": "", "signature": "!", "publicKey": "AAAA"},
}).encode()  # fmt: skip
