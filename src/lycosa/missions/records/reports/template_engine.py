"""Template engine: Jinja2 in its sandbox, with what reports need; data comes from anybody, templates from users.

Values are escaped for the format that is written: HTML, Markdown or plain text. A template may extend and include the
ones that are built in, and no other file. It may loop for ever or build a text of any size: that of a user runs in a
process of its own, where this costs a few seconds and one sentence.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import jinja2
import msgspec
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

from lycosa.errors import UsageError
from lycosa.missions.records.field_roles import clean_text
from lycosa.output.charts import Bar, draw_bars, draw_histogram
from lycosa.output.plain import counted
from lycosa.process import apart
from lycosa.process.limits import Limits

TemplateFormat = Literal["html", "markdown", "text"]
FORMATS: tuple[TemplateFormat, ...] = ("html", "markdown", "text")
TEMPLATES = Path(__file__).parent / "templates"
#: Characters that a template may write.
MAX_OUTPUT = 64 << 20
_MAX_BARS = 500
_NAME = "<template>"  # as Jinja calls a template that is no file
_MARKDOWN = re.compile(r"([\\`*_\[\]<>#|~!&])|^(\s*)([-+=]|\d+[.)])(?=\s|$)", re.MULTILINE)


def escape_markdown(value: Any) -> Any:
    """A value as Markdown that shows it as it is; what a template marks as safe stays."""
    if value is None or isinstance(value, Markup | jinja2.Undefined):
        return value if value is not None else ""
    if not isinstance(value, str):
        return value
    return _MARKDOWN.sub(lambda found: f"{found[2] or ''}\\{found[1] or found[3]}", clean_text(value))


def _escape_plain(value: Any) -> Any:
    return "" if value is None else clean_text(value) if isinstance(value, str) else value


def _escape_html(value: Any) -> Any:
    """Only what HTML cannot hold; autoescape does the rest."""
    if value is None:
        return ""
    return clean_text(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def make_environment(form: TemplateFormat) -> jinja2.Environment:
    """An environment whose values are escaped for a format."""
    finalize = {"html": _escape_html, "markdown": escape_markdown, "text": _escape_plain}[form]
    environment = ImmutableSandboxedEnvironment(
        autoescape=form == "html",
        undefined=jinja2.ChainableUndefined,
        finalize=finalize,
        loader=jinja2.FileSystemLoader(TEMPLATES),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(day=_show_day, web=_web_address, markdown_link=_markdown_link, quoted=_quote_mail)
    environment.globals.update(bars=_draw_bars, histogram=_draw_histogram, counted=counted)
    return environment


def render(source: str, data: Mapping[str, Any], form: TemplateFormat) -> str:
    """What a template writes; what is wrong with it is a UsageError with its line."""
    pieces: list[str] = []
    size = 0
    try:
        for piece in _compile(source, form).generate(**data):
            size += len(piece)
            if size > MAX_OUTPUT:
                raise UsageError(f"it writes more than {MAX_OUTPUT:,} characters")
            pieces.append(piece)
    except jinja2.TemplateSyntaxError as error:
        raise UsageError(f"line {error.lineno}: {error.message}") from None
    except (UsageError, MemoryError):
        raise
    except Exception as error:  # whatever an expression of a user comes to
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == _NAME]
        where = f"line {lines[-1]}: " if lines else ""
        raise UsageError(f"{where}{str(error)[:300] or type(error).__name__}") from None
    return "".join(pieces)


@lru_cache(maxsize=32)
def _compile(source: str, form: TemplateFormat) -> jinja2.Template:
    return make_environment(form).from_string(source)


@lru_cache
def built_in(name: str) -> str:
    """The text of a template that is built in."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


def web_address(url: str) -> str:
    """The address if it is one of the web, else nothing: others could run something."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return url if parts.scheme in ("http", "https") and parts.netloc and url.isprintable() else ""


def _web_address(url: Any) -> str:
    return web_address(str(url or ""))


def _markdown_link(title: Any, url: Any) -> Markup:
    """A link whose address cannot end it."""
    shown = escape_markdown(" ".join(str(title or url).split()))
    address = re.sub(
        r"[\s<>()\\]", lambda mark: "".join(f"%{byte:02X}" for byte in mark[0].encode()), _web_address(url)
    )
    return Markup(f"[{shown}]({address})" if address else shown)  # noqa: S704  both are escaped


def _quote_mail(text: Any) -> str:
    """A text for plain mail: one line."""
    return " ".join(clean_text(str(text or "")).split())


def _show_day(value: Any, form: str = "%-d %B %Y") -> str:
    """A date in ISO form as people write it; what is none stays as it is."""
    text = str(value or "")
    try:
        return datetime.fromisoformat(text).strftime(form[:60])
    except ValueError:
        return text


def _draw_bars(rows: Sequence[Mapping[str, Any]], label: str, value: str | Sequence[str], title: str = "") -> Markup:
    """Bars of rows: a column that names each, and one or several columns of numbers."""
    columns = [value] if isinstance(value, str) else list(value)
    bars = [
        Bar(clean_text(str(row[label] if row[label] is not None else "–")), [_as_float(row[name]) for name in columns])
        for row in rows[:_MAX_BARS]
    ]
    drawn = draw_bars(bars, title=title, series=columns if len(columns) > 1 else ("",))
    return Markup(drawn)  # noqa: S704  it escapes what it is given


def _draw_histogram(
    rows: Sequence[Mapping[str, Any]], label: str, value: str, title: str = "", axis: str = ""
) -> Markup:
    """Columns of rows beside each other."""
    bins = [(clean_text(str(row[label])), _as_float(row[value])) for row in rows[:_MAX_BARS]]
    return Markup(draw_histogram(bins, title=title, axis=axis))  # noqa: S704  it escapes what it is given


def _as_float(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


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
