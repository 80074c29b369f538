"""Log-in forms of real pages, told from forms that register, search, order and subscribe."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
import turbohtml

from lycosa.parse.login_forms import logs_in

pytestmark = pytest.mark.acceptance


def test_log_in_forms_are_told_from_others(shared: Path) -> None:
    """Forms nobody labelled are left out, and pages whose forms were counted in another way."""
    index = json.loads((shared / "data/forms/index.json").read_text())
    right = wrong = missed = 0
    with tarfile.open(shared / "data/forms/pages.tar.xz") as pages:
        for member in pages:
            about = index.get(member.name.removeprefix("./"))
            file = pages.extractfile(member) if about is not None else None
            if about is None or file is None:
                continue
            forms = turbohtml.parse(file.read().decode("utf-8", "replace"), scripting=False).select("form")
            if len(forms) != len(about["forms"]):
                continue
            for form, label in zip(forms, about["forms"], strict=True):
                if label not in "X-":
                    found = logs_in(form)
                    right += found and label == "l"
                    wrong += found and label != "l"
                    missed += not found and label == "l"
    precision, recall = right / (right + wrong), right / (right + missed)
    print(f"log-in forms: precision {precision:.3f}, recall {recall:.3f} of {right + missed}")
    assert precision >= 0.95
    assert recall >= 0.95
