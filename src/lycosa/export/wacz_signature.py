"""Signatures of WACZ files, as https://specs.webrecorder.net/wacz-auth/0.1.0/ has them, and the check of a WACZ file.

The signature is the anonymous one: of the manifest's hash, by a key (ECDSA P-384, SHA-256) that stands beside it. It
proves that nothing was changed since; whose key it is, its fingerprint tells who knows it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from lycosa.archive.packages import BAD_ZIP
from lycosa.clock import iso_time
from lycosa.errors import UsageError
from lycosa.extras import need
from lycosa.output.plain import counted

KEY_FILE = "wacz-key.pem"
_VERSION = "0.1.0"
_HALF = 48  # bytes of each number of a signature, as browsers write it
_MANIFEST, _DIGEST = "datapackage.json", "datapackage-digest.json"
_MANIFEST_BYTES = 256 << 20


class SignedData(Struct):
    """The signature as it stands in the WACZ."""

    hash: str
    created: str
    software: str
    signature: str
    publicKey: str = ""  # noqa: N815  so the specification names it
    version: str = _VERSION
    domain: str = ""


class WaczHealth(Struct):
    """How a WACZ file was found."""

    file: str
    members: int = 0
    signed: str = ""  # when, by its own account; empty: it is not signed
    key: str = ""  # the fingerprint of the key that it was signed with
    problems: list[str] = []

    @property
    def text(self) -> str:
        """The report as people read it."""
        by = f"signed {self.signed} with the key {self.key}" if self.key else "not signed"
        found = counted(len(self.problems), "problem") if self.problems else "all in order"
        return "\n".join(
            [f"{self.file}: {counted(self.members, 'member')}, {by}: {found}", *map("  {}".format, self.problems)]
        )


class _Resource(Struct):
    path: str
    hash: str


class _Manifest(Struct):
    resources: list[_Resource]


class _Digest(Struct):
    hash: str
    signedData: SignedData | None = None  # noqa: N815


def sign(digest: str, folder: Path, *, software: str) -> SignedData:
    """Sign the hash of a manifest with the key of a folder, which is made there if there is none."""
    need("cryptography", extra="identity", what="Signing a WACZ file")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec, utils

    path = folder / KEY_FILE
    try:
        if path.exists():
            key = serialization.load_pem_private_key(path.read_bytes(), password=None)
        else:
            key = ec.generate_private_key(ec.SECP384R1())
            folder.mkdir(parents=True, exist_ok=True)
            form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(key.private_bytes(*form))
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(f"{path} cannot be used as a key ({error}); name a folder of yours.") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.curve.name != "secp384r1":
        raise UsageError(f"{path} is no key on the curve P-384; name another folder, and one is made there.")
    numbers = utils.decode_dss_signature(key.sign(digest.encode(), ec.ECDSA(hashes.SHA256())))
    public = key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return SignedData(
        hash=digest,
        created=iso_time(time.time()),
        software=software,
        signature=base64.b64encode(b"".join(number.to_bytes(_HALF, "big") for number in numbers)).decode(),
        publicKey=base64.b64encode(public).decode(),
    )


def check_wacz(path: Path) -> WaczHealth:
    """Compare every member of a WACZ file with the manifest, that with its hash, and this with its signature."""
    health = WaczHealth(str(path))
    try:
        with zipfile.ZipFile(path) as archive:
            health.problems += _check(archive, health)
    except BAD_ZIP as error:
        health.problems.append(f"It cannot be read: {error}.")
    return health


def _check(archive: zipfile.ZipFile, health: WaczHealth) -> Iterator[str]:
    names = {info.filename: info for info in archive.infolist() if not info.is_dir()}
    health.members = len(names)
    if len(names) < sum(not info.is_dir() for info in archive.infolist()):
        yield "Two members have the same name."
    if _MANIFEST not in names or names[_MANIFEST].file_size > _MANIFEST_BYTES:
        yield f"It has no {_MANIFEST}."
        return
    text = archive.read(_MANIFEST)
    try:
        resources = msgspec.json.decode(text, type=_Manifest).resources
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        yield f"{_MANIFEST} is no manifest: {error}."
        return
    for resource in resources:
        if resource.path not in names:
            yield f"{resource.path} is missing."
        elif _hash_member(archive, resource.path, resource.hash.partition(":")[0]) != resource.hash:
            yield f"{resource.path} is not what it was."
    for name in sorted(names.keys() - {resource.path for resource in resources} - {_MANIFEST, _DIGEST}):
        yield f"{name} does not stand in the manifest."
    if _DIGEST in names and names[_DIGEST].file_size <= _MANIFEST_BYTES:
        try:
            digest = msgspec.json.decode(archive.read(_DIGEST), type=_Digest)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            yield f"{_DIGEST} cannot be read: {error}."
            return
        if digest.hash != f"sha256:{hashlib.sha256(text).hexdigest()}":
            yield f"{_MANIFEST} is not what it was."
        if digest.signedData is not None:
            yield from _check_signature(digest.signedData, digest.hash, health)


def _hash_member(archive: zipfile.ZipFile, name: str, kind: str) -> str:
    digest = hashlib.md5(usedforsecurity=False) if kind == "md5" else hashlib.sha256()
    try:
        with archive.open(name) as member:
            while chunk := member.read(1 << 20):
                digest.update(chunk)
    except BAD_ZIP:
        return ""
    return f"{digest.name}:{digest.hexdigest()}"


def _check_signature(signed: SignedData, digest: str, health: WaczHealth) -> Iterator[str]:
    need("cryptography", extra="identity", what="Checking a signature")
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec, utils

    health.signed = signed.created
    if not signed.publicKey:
        yield f"It is signed for the domain {signed.domain}, which is not checked here."
        return
    if signed.hash != digest:
        yield "The signature is that of another manifest."
    try:
        public = base64.b64decode(signed.publicKey, validate=True)
        pair = base64.b64decode(signed.signature, validate=True)
        key = serialization.load_der_public_key(public)
        assert isinstance(key, ec.EllipticCurvePublicKey)
        half = len(pair) // 2
        numbers = int.from_bytes(pair[:half], "big"), int.from_bytes(pair[half:], "big")
        key.verify(utils.encode_dss_signature(*numbers), signed.hash.encode(), ec.ECDSA(hashes.SHA256()))
        health.key = f"sha256:{hashlib.sha256(public).hexdigest()}"
    except InvalidSignature:
        yield "The signature does not hold."
    except (ValueError, TypeError, AssertionError, binascii.Error, UnsupportedAlgorithm) as error:
        yield f"The signature cannot be read: {error}."
