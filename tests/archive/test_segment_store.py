"""Archive files in a store: a folder, or a bucket of an S3 endpoint."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.object_store import BUCKET, running_store

from lycosa.archive.segment_store import (
    FolderStore,
    SegmentPlace,
    StoreFault,
    check_store,
    find_aws_settings,
    open_place,
    open_segment,
    open_store,
    read_places,
    segment_size,
    write_places,
)
from lycosa.errors import UsageError


@pytest.mark.parametrize(
    "address",
    [
        "s3://key:secret@bucket/x",
        "s3://bucket/x?AWSAccessKeyId=1",
        "ftp://bucket/x",
        "s3://",
        "https://bucket/x",
        "az://x",
    ],
)
def test_an_address_that_is_no_store_or_has_credentials_is_refused(address: str) -> None:
    """The sentence says what is allowed and does not repeat a secret."""
    with pytest.raises(UsageError, match="allowed: s3://BUCKET/PREFIX") as refused:
        check_store(address)
    assert "secret" not in str(refused.value)


def test_addresses_of_stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slashes at the end do not matter; a folder is meant from where the command was given."""
    monkeypatch.chdir(tmp_path)
    assert check_store("s3://bucket/a/b/") == "s3://bucket/a/b"
    assert check_store("gs://bucket") == "gs://bucket"
    assert check_store("az://account/container/x") == "az://account/container/x"
    assert check_store("shared") == str(tmp_path / "shared")


def test_an_address_in_azure_names_account_and_container(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library's own addresses have the container alone."""
    opened: dict[str, object] = {}
    obstore = pytest.importorskip("obstore")
    monkeypatch.setattr(obstore.store, "from_url", lambda address, **more: opened.update(more, address=address))
    monkeypatch.setattr("lycosa.archive.segment_store._users", set())
    open_store("az://account/container/a/b")
    assert (opened["address"], opened["config"]) == ("az://container/a/b", {"account_name": "account"})


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("Error performing PUT http://169.254.169.254/latest/api/token", "put them into the environment, as AWS_"),
        ("Server returned non-2xx status code: 403 Forbidden: <?xml <Code>InvalidAccessKeyId</Code>", "keys are right"),
        ("GET http://127.0.0.1:9/x - HTTP error: error sending request", "see that it runs"),
    ],
)
def test_a_store_that_refuses_says_what_to_do(said: str, advice: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that lack or are wrong, and an address where nobody is."""
    obstore = pytest.importorskip("obstore")

    def refuse(*_: object, **__: object) -> None:
        raise obstore.exceptions.GenericError(said)

    monkeypatch.setattr(obstore.store, "from_url", refuse)
    monkeypatch.setattr("lycosa.archive.segment_store._users", set())
    with pytest.raises(StoreFault, match=advice):
        open_store("s3://bucket/x")


def test_a_folder_keeps_segments(tmp_path: Path) -> None:
    """A file is there whole, can be read in part, and comes back as it was."""
    path = tmp_path / "a.warc.gz"
    path.write_bytes(bytes(range(256)) * 5000)
    store = open_store(str(tmp_path / "store"))
    store.probe()
    assert store.size("a.warc.gz") == -1
    store.put(path)
    assert store.size("a.warc.gz") == path.stat().st_size
    again, name = open_place(store.place_of("a.warc.gz"))
    assert again.read(name, 3, 4) == b"\3\4\5\6"
    again.fetch(name, tmp_path / "b", path.stat().st_size)
    assert (tmp_path / "b").read_bytes() == path.read_bytes()
    assert sorted(one.name for one in (tmp_path / "store").iterdir()) == ["a.warc.gz"]


def test_a_short_segment_does_not_appear(tmp_path: Path) -> None:
    """A file in the store that lacks bytes is told, and nothing is left here."""
    store = FolderStore(tmp_path / "store")
    store.probe()
    (tmp_path / "store" / "a").write_bytes(b"123")
    with pytest.raises(StoreFault, match="3 of its 9 bytes"):
        store.fetch("a", tmp_path / "a", 9)
    assert not list(tmp_path.glob("a*"))


def test_a_folder_that_cannot_be_made_is_told_in_one_sentence(tmp_path: Path) -> None:
    """A file in its way."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreFault, match="cannot be made: Not a directory"):
        open_store(str(tmp_path / "file" / "store")).probe()


def test_a_segment_is_read_where_it_is(tmp_path: Path) -> None:
    """Opening a file of the archive that is not there reads it from its place; its size is known without asking."""
    archive = tmp_path / "archive"
    archive.mkdir()
    (tmp_path / "far").mkdir()
    content = bytes(range(256)) * 4096
    (tmp_path / "far" / "a.warc.gz").write_bytes(content)
    write_places(archive, [SegmentPlace("a.warc.gz", len(content), str(tmp_path / "far" / "a.warc.gz"))])
    assert segment_size(archive / "a.warc.gz") == len(content)
    assert segment_size(archive / "b.warc.gz") == -1
    with open_segment(archive / "a.warc.gz") as file:
        file.seek(300_000)
        assert file.read(5) == content[300_000:300_005]
        assert file.seek(0, 2) == len(content)
        file.seek(0)
        assert b"".join(iter(lambda: file.read(70_000) or b"", b"")) == content
    with pytest.raises(FileNotFoundError):
        open_segment(archive / "b.warc.gz")
    (tmp_path / "far" / "a.warc.gz").unlink()
    with open_segment(archive / "a.warc.gz") as file, pytest.raises(OSError, match="No such file"):
        file.read(1)
    write_places(archive, ())
    assert read_places(archive) == {}


def test_amazons_files_are_read_and_the_environment_goes_first(tmp_path: Path) -> None:
    """Key, region and endpoint of a profile, where no variable says otherwise."""
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text("[work]\naws_access_key_id = k\naws_secret_access_key = s%s\n")
    (tmp_path / ".aws" / "config").write_text("[profile work]\nregion = eu-west-1\nendpoint_url = http://e\n")
    found = find_aws_settings({"HOME": str(tmp_path), "AWS_PROFILE": "work", "AWS_REGION": "x"})
    assert found["aws_access_key_id"] == "k" and found["aws_secret_access_key"] == "s%s"
    assert found["endpoint_url"] == "http://e" and "region" not in found
    assert "aws_access_key_id" not in find_aws_settings({"HOME": str(tmp_path), "AWS_ACCESS_KEY_ID": "mine"})


BUCKET_STORY = """
import sys
from pathlib import Path
from lycosa.archive.segment_store import StoreFault, open_store
folder = Path(sys.argv[1])
path = folder / "a.warc.gz"
path.write_bytes(bytes(range(256)) * 80_000)
store = open_store("s3://crawls/some/prefix")
store.probe()
assert store.size(path.name) == -1
store.put(path)
assert store.size(path.name) == path.stat().st_size
assert store.read(path.name, 300, 3) == b",-."
store.fetch(path.name, folder / "b", path.stat().st_size)
assert (folder / "b").read_bytes() == path.read_bytes()
for action in (open_store("s3://nobody/x").probe, lambda: open_store("s3://nobody/x").put(path)):
    try:
        action()
    except StoreFault as fault:
        print(fault)
"""


def test_a_bucket_keeps_segments(tmp_path: Path) -> None:
    """In parts where they are large; a bucket that does not exist is told in one sentence, without any secret."""
    pytest.importorskip("moto")
    pytest.importorskip("obstore")
    with running_store() as endpoint:
        command = [sys.executable, "-c", BUCKET_STORY, str(tmp_path)]
        finished = subprocess.run(command, capture_output=True, text=True, env=endpoint.environment, timeout=60)
        assert finished.stderr == ""
        sentence = "The archive store s3://nobody/x: there is no such bucket."
        assert finished.stdout.splitlines() == [sentence, sentence]
        assert f"<Name>{BUCKET}</Name>" in endpoint.objects() and "some/prefix/a.warc.gz" in endpoint.objects()
