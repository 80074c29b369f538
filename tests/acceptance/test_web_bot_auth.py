"""The published vectors of Web Bot Auth: signatures, agents, registries and cards."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from lycosa.fetch.web_bot_auth import Signer, check_card, read_agents, read_registry, verify

pytestmark = pytest.mark.acceptance


def vectors(shared: Path, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((shared / f"data/web-bot-auth/web_bot_auth_{name}.json").read_text())
    return found


@pytest.mark.parametrize("name", ["architecture_v1", "architecture_v2"])
def test_every_signed_request_is_verified_and_no_forged_one(shared: Path, name: str) -> None:
    for vector in vectors(shared, name):
        headers = {
            key.replace("_", "-"): vector[key]
            for key in ("signature_input", "signature", "signature_agent")
            if key in vector
        }
        at = vector["created_ms"] / 1000 + 1
        assert verify(headers, "example.com", [vector["key"]], at) == ""
        assert "does not fit" in verify(headers, "example.org", [vector["key"]], at)
        assert "holds from" in verify(headers, "example.com", [vector["key"]], vector["expires_ms"] / 1000 + 1)


def test_our_own_signature_is_that_of_the_vector(shared: Path, tmp_path: Path) -> None:
    """Ed25519 signs the same bytes alike: what is signed is what the vector signed, but for its label."""
    vector = vectors(shared, "architecture_v2")[3]
    (tmp_path / "key.json").write_text(json.dumps({**vector["key"], "agent": "https://signature-agent.test"}))
    signer = Signer(str(tmp_path))
    lines = signer.sign("example.com", created=1735689600, expires=4889289600, nonce=vector["nonce"])
    fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    assert verify(fields, "example.com", [vector["key"]], 1735689601) == ""
    parameters = vector["signature_input"].partition(")")[2]
    assert fields["signature-input"].partition(")")[2] == parameters
    assert len(base64.b64decode(fields["signature"].split(":")[1])) == 64


def test_agents_registries_and_cards_are_read(shared: Path) -> None:
    for vector in vectors(shared, "signature_agent_v1"):
        assert [{"label": e.label, "uri": e.uri, "type": e.type} for e in read_agents(vector["header"])] == vector[
            "entries"
        ]
    for vector in vectors(shared, "registry_v1"):
        assert read_registry(vector["registry_txt"]) == vector["signature_agent_cards"]
    for vector in vectors(shared, "signature_agent_card_v1"):
        assert (check_card(vector["card"], vector["url"]) == "") is vector["valid"]
