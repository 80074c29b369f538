"""Web Bot Auth: requests that prove who sent them (RFC 9421 signatures, draft-meunier-web-bot-auth-architecture).

A private key signs the host that is asked and the address of its directory, where the public key stands for everybody.
What others send is verified by the same rules, so that a signature of ours can be checked before a site sees it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from lycosa.errors import UsageError
from lycosa.extras import need

TAG = "web-bot-auth"
DIRECTORY = "http-message-signatures-directory"  # below /.well-known/
KEY_FILE, CARD_FILE = "key.json", "card.json"
LASTS_S = 300
_LABEL = "lycosa"
_INPUT = re.compile(r'\s*([a-z*][\w.*-]*)=(\(([^()]*)\)((?:;[a-z*][\w.*-]*(?:=(?:"[^"]*"|[^;,\s]+))?)*))')
_COMPONENT = re.compile(r'("[^"]*")((?:;[\w-]+(?:=(?:"[^"]*"|[^;\s]+))?)*)')
_PARAMETER = re.compile(r';([\w*.-]+)(?:=(?:"([^"]*)"|([^;,\s]+)))?')
_MEMBER = re.compile(r'(?:^|,)\s*(?:([a-z*][\w.*-]*)=)?"([^"]*)"((?:;[\w-]+(?:=(?:"[^"]*"|[^;,\s]+))?)*)')


class AgentEntry(Struct, frozen=True):
    """One member of a Signature-Agent header: where the key of a signature is found."""

    label: str
    uri: str
    type: str = "directory"


class Signer:
    """Signs requests with the key of one identity."""

    def __init__(self, path: str) -> None:
        """`path`: the folder that `make_identity` made."""
        need("cryptography", extra="identity", what="Signing requests")
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        file = Path(path) / KEY_FILE
        try:
            jwk = json.loads(file.read_text())
            self._key = Ed25519PrivateKey.from_private_bytes(_unbase64(jwk["d"]))
            self.agent = str(jwk["agent"])
            self.key_id = thumbprint(jwk)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{file} is no identity ({error}); lycosa identity DIR makes one.") from None

    def headers(self, url: str, now: float) -> tuple[str, ...]:
        """The header lines of a request for `url` at a Unix time."""
        nonce = base64.b64encode(os.urandom(64)).decode()
        return self.sign(urlsplit(url).netloc, created=int(now), expires=int(now) + LASTS_S, nonce=nonce)

    def sign(self, authority: str, *, created: int, expires: int, nonce: str) -> tuple[str, ...]:
        """The three header lines of a signature."""
        components = f'("@authority" "signature-agent";key="{_LABEL}")'
        times = f'created={created};keyid="{self.key_id}";alg="ed25519";expires={expires};nonce="{nonce}"'
        given = f'{components};{times};tag="{TAG}"'
        fields = {"signature-agent": f'{_LABEL}="{self.agent}"'}
        signature = base64.b64encode(self._key.sign(_signature_base(given, authority, fields))).decode()
        return (
            f"Signature-Agent: {fields['signature-agent']}",
            f"Signature-Input: {_LABEL}={given}",
            f"Signature: {_LABEL}=:{signature}:",
        )


def make_identity(folder: Path, *, agent: str, name: str, contact: str) -> None:
    """Make a key, readable by its owner alone, and beside it what its site publishes: the directory and the card."""
    need("cryptography", extra="identity", what="Making an identity")
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    if (folder / KEY_FILE).exists():
        raise UsageError(f"{folder / KEY_FILE} exists; its key is not overwritten. Remove it to make another one.")
    parts = urlsplit(agent)
    if parts.scheme != "https" or not parts.netloc or parts.path not in ("", "/"):
        raise UsageError(f"--agent is {agent!r}; it must be a site of yours, as https://bot.example.org.")
    key = Ed25519PrivateKey.generate()
    public = {"kty": "OKP", "crv": "Ed25519", "x": _base64(key.public_key().public_bytes_raw())}
    public = {**public, "kid": thumbprint(public), "use": "sig"}
    site = f"https://{parts.netloc}"
    card = {
        "client_id": f"{site}/{CARD_FILE}",
        "client_name": name,
        "contacts": [contact if "://" in contact or contact.startswith("mailto:") else f"mailto:{contact}"],
        "jwks_uri": f"{site}/.well-known/{DIRECTORY}",
        "web_bot_auth": {"rfc9309-product-token": name},
    }
    folder.mkdir(parents=True, exist_ok=True)
    secret = json.dumps({**public, "d": _base64(key.private_bytes_raw()), "agent": site})
    with open(os.open(folder / KEY_FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secret)
    (folder / DIRECTORY).write_text(json.dumps({"keys": [public]}, indent=2) + "\n")
    (folder / CARD_FILE).write_text(json.dumps(card, indent=2) + "\n")


def verify(headers: Mapping[str, str], authority: str, keys: list[dict[str, Any]], now: float) -> str:
    """What is wrong with the signature of a request; empty: it holds. `headers` have lower-case names."""
    need("cryptography", extra="identity", what="Verifying signatures")
    found = _INPUT.match(headers.get("signature-input", ""))
    if found is None:
        return "there is no Signature-Input as RFC 9421 has it"
    label, given = found[1], found[2]
    parameters = {name: quoted or plain for name, quoted, plain in _PARAMETER.findall(found[4])}
    if parameters.get("tag") != TAG:
        return f"its tag is {parameters.get('tag', '')!r}, not {TAG!r}"
    if '"@authority"' not in found[3]:
        return "it does not cover @authority"
    try:
        created, expires = int(parameters["created"]), int(parameters["expires"])
    except (KeyError, ValueError):
        return "it does not say when it was made and when it ends"
    if not created <= now <= expires:
        return f"it holds from {created} to {expires}, and it is {int(now)}"
    key = next((key for key in keys if thumbprint(key) == parameters.get("keyid")), None)
    if key is None:
        return f"no key has the thumbprint {parameters.get('keyid', '')!r}"
    sent = re.search(rf"(?:^|,)\s*{re.escape(label)}=:([A-Za-z0-9+/=]*):", headers.get("signature", ""))
    if sent is None:
        return f"there is no Signature for {label!r}"
    try:
        _verify_bytes(key, base64.b64decode(sent[1]), _signature_base(given, authority, headers))
    except _invalid_signature():
        return "the signature does not fit the request and the key"
    except (ValueError, KeyError, TypeError) as error:
        return f"the key cannot be used: {error}"
    return ""


def _invalid_signature() -> type[Exception]:
    from cryptography.exceptions import InvalidSignature

    return InvalidSignature


def _verify_bytes(key: Mapping[str, Any], signature: bytes, base: bytes) -> None:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ed25519, padding, rsa

    if key["kty"] == "OKP":
        ed25519.Ed25519PublicKey.from_public_bytes(_unbase64(key["x"])).verify(signature, base)
        return
    number, exponent = (int.from_bytes(_unbase64(key[name])) for name in ("n", "e"))
    pss = padding.PSS(padding.MGF1(hashes.SHA512()), salt_length=64)
    rsa.RSAPublicNumbers(exponent, number).public_key().verify(signature, base, pss, hashes.SHA512())


def _signature_base(given: str, authority: str, fields: Mapping[str, str]) -> bytes:
    """What is signed (RFC 9421, 2.5): a line for each component, then the parameters."""
    lines = []
    for name, parameters in _COMPONENT.findall(given[: given.index(")") + 1]):
        value = authority.lower() if name == '"@authority"' else fields.get(name.strip('"'), "").strip()
        chosen = {key: quoted or plain for key, quoted, plain in _PARAMETER.findall(parameters)}.get("key")
        if chosen is not None:  # one member of a dictionary
            value = next((f'"{entry.uri}"' for entry in read_agents(value) if entry.label == chosen), "")
        lines.append(f"{name}{parameters}: {value}")
    return "\n".join([*lines, f'"@signature-params": {given}']).encode()


def read_agents(header: str) -> list[AgentEntry]:
    """The members of a Signature-Agent header; an older one is a string without a label."""
    entries = []
    for label, uri, parameters in _MEMBER.findall(header):
        given = {name: quoted or plain for name, quoted, plain in _PARAMETER.findall(parameters)}
        entries.append(AgentEntry(label, uri, given.get("type", "directory")))
    return entries


def read_registry(text: str) -> list[str]:
    """The addresses of signature agent cards that a registry lists, one a line, comments left out."""
    return [address for line in text.splitlines() if (address := line.partition("#")[0].strip())]


def check_card(card: Mapping[str, Any], url: str) -> str:
    """What is wrong with a signature agent card found at `url`; empty: nothing."""
    if card.get("client_id") != url:
        return f"client_id is {card.get('client_id')!r}, which is not the address of the card, {url}"
    if "jwks" in card and "jwks_uri" in card:
        return "it has both jwks and jwks_uri, of which there may be one"
    return "" if "jwks" in card or "jwks_uri" in card else "it has neither jwks nor jwks_uri"


def thumbprint(key: Mapping[str, Any]) -> str:
    """The name of a key by its content (RFC 7638)."""
    members = ("crv", "kty", "x") if key.get("kty") == "OKP" else ("e", "kty", "n")
    canonical = msgspec.json.encode({name: str(key.get(name, "")) for name in members})
    return _base64(hashlib.sha256(canonical).digest())


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _unbase64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
