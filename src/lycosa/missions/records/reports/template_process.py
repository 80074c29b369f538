"""Template process: a user's template in a process of its own, which the kernel ends when it takes too much.

A template may loop for ever or build a text of any size; here it costs a few seconds and one sentence.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from lycosa.errors import UsageError
from lycosa.extract.limits import MEMORY_CODE, arm, confine, explain
from lycosa.extract.messages import Setup
from lycosa.missions.records.reports.template_engine import TemplateFormat, render
from lycosa.process import die_with_parent

_MEMORY_BYTES = 1 << 30
_CPU_S = 10.0
_START_S = 30.0


class TemplateJob(msgspec.Struct, frozen=True):
    """A template with its data, on its way to the process."""

    source: str
    data: dict[str, Any]
    form: TemplateFormat


def _limits(cpu_s: float) -> Setup:
    return Setup(quarry="", timeout_s=3 * cpu_s, cpu_s=cpu_s, memory_bytes=_MEMORY_BYTES, nice=0)


def render_apart(source: str, data: Mapping[str, Any], form: TemplateFormat, *, cpu_s: float = _CPU_S) -> str:
    """What a template writes; what is wrong with it, or what it takes too much of, is a UsageError."""
    job = msgspec.json.encode(TemplateJob(source, dict(data), form))
    limits = _limits(cpu_s)
    command = [sys.executable, "-P", "-m", __name__, str(os.getpid()), str(cpu_s)]
    try:
        done = subprocess.run(command, input=job, capture_output=True, timeout=limits.timeout_s + _START_S, check=False)
    except subprocess.TimeoutExpired:
        raise UsageError(f"not done after {limits.timeout_s:g} s") from None
    if done.returncode:
        raise UsageError(explain(done.returncode, limits)[1])
    good, text = msgspec.json.decode(done.stdout, type=tuple[bool, str])
    if not good:
        raise UsageError(text)
    return text


def main() -> None:
    """The process: one template."""
    die_with_parent(int(sys.argv[1]))
    limits = _limits(float(sys.argv[2]))
    confine(limits)
    arm(limits)
    try:
        job = msgspec.json.decode(sys.stdin.buffer.read(), type=TemplateJob)
        try:
            answer = (True, render(job.source, job.data, job.form))
        except UsageError as error:
            answer = (False, str(error))
        sys.stdout.buffer.write(msgspec.json.encode(answer))
    except MemoryError:
        os._exit(MEMORY_CODE)


if __name__ == "__main__":
    main()
