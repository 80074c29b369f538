"""Template process: a user's template in a process of its own, which the kernel ends when it takes too much.

A template may loop for ever or build a text of any size; here it costs a few seconds and one sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lycosa.errors import UsageError
from lycosa.missions.records.reports.template_engine import TemplateFormat, render
from lycosa.process import apart
from lycosa.process.limits import Limits

_MEMORY_BYTES = 1 << 30
_CPU_S = 10.0


class TemplateJob(msgspec.Struct, frozen=True):
    """A template with its data, on its way to the process."""

    source: str
    data: bytes  # as JSON: a template sees the same values wherever they come from
    form: TemplateFormat


def render_apart(source: str, data: Mapping[str, Any], form: TemplateFormat, *, cpu_s: float = _CPU_S) -> str:
    """What a template writes; what is wrong with it, or what it takes too much of, is a UsageError."""
    limits = Limits(timeout_s=3 * cpu_s, cpu_s=cpu_s, memory_bytes=_MEMORY_BYTES)
    job = TemplateJob(source, msgspec.json.encode(dict(data)), form)
    try:
        return apart.run(render_job, job, limits, quiet=True)
    except apart.Ended as ended:
        raise UsageError(str(ended)) from None


def render_job(job: TemplateJob) -> str:
    """What a template writes; within the process."""
    return render(job.source, msgspec.json.decode(job.data, type=dict[str, Any]), job.form)
