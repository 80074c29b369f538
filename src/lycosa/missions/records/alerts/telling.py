"""How alerts are told: items in, the text, HTML, Markdown and JSON of messages out."""

from __future__ import annotations

import hashlib
import html
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from lycosa.missions.records.alerts.alert_log import AlertItem, ShownDifference
from lycosa.missions.records.alerts.difference import Part, as_html, as_markdown, as_text
from lycosa.missions.records.alerts.settings import Alert
from lycosa.missions.records.delivery import Message
from lycosa.missions.records.readers import Reader
from lycosa.output.wording import counted

#: Items that one mail shows, and one call of a webhook carries.
_MAX_SHOWN = 50
_MAX_CARRIED = 100
_STYLE = "del{background:#fdd;color:#700}ins{background:#dfd;color:#050;text-decoration:none}li{margin:.3em 0}"


def make_messages(items: Sequence[AlertItem], alerts: Iterable[Alert], readers: Iterable[Reader]) -> list[Message]:
    """One mail for each reader and one call for each webhook, with all that is theirs."""
    wanted = {alert.name: alert for alert in alerts}
    messages: list[Message] = []
    for reader in readers:
        mine = [item for item in items if reader.name in wanted[item.alert].readers]
        if mine:
            messages.append(_make_mail(mine, reader.mail))
    for address in dict.fromkeys(alert.webhook for alert in wanted.values() if alert.webhook):
        mine = [item for item in items if wanted[item.alert].webhook == address]
        for start in range(0, len(mine), _MAX_CARRIED):
            messages.append(_make_call(mine[start : start + _MAX_CARRIED], address))
    return messages


def _make_mail(items: list[AlertItem], mailbox: str) -> Message:
    return Message(
        key=_make_key(items, mailbox),
        channel="mail",
        to=mailbox,
        subject=make_subject(items),
        text=write_text(items),
        html=write_html(items),
    )


def _make_call(items: list[AlertItem], address: str) -> Message:
    return Message(
        key=_make_key(items, address),
        channel="webhook",
        to=address,
        subject=make_subject(items),
        text="",
        payload={"subject": make_subject(items), "alerts": [make_object(item) for item in items]},
    )


def _make_key(items: list[AlertItem], receiver: str) -> str:
    """The same for the same items and receiver, so that they are told once."""
    digest = hashlib.sha256("\n".join(item.key for item in items).encode("utf-8", "surrogatepass"))
    return f"alerts {receiver} {digest.hexdigest()[:32]}"


def make_subject(items: Sequence[AlertItem]) -> str:
    """What a mail is about, in a line."""
    first = items[0]
    if len(items) == 1:
        return f"{first.alert}: {describe(first)}"
    names = list(dict.fromkeys(item.alert for item in items))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{counted(len(items), 'alert')}: {', '.join(names[:3])}{more}"


def describe(item: AlertItem) -> str:
    """What happened, in a line."""
    said = {"new": "is new", "gone": "is gone", "back": "is back"}.get(item.what)
    if said is None:
        fields = [f"{difference.field} {_said(difference)}" for difference in item.differences if difference.field]
        said = ", ".join(fields[:3]) + ("…" if len(fields) > 3 else "") if fields else "changed"
    return f"{item.title} {said}" if said == "changed" or said.startswith("is ") else f"{item.title}: {said}"


def _said(difference: ShownDifference) -> str:
    return {"appears": "appeared", "disappears": "disappeared"}.get(difference.what, difference.what)


def write_text(items: Sequence[AlertItem]) -> str:
    """The items in plain text; what went stands in [-…-], what came in {+…+}."""
    return _write(items, heading="{}\n{}", field="  {}: {}", line="  {}", show=as_text)


def write_markdown(items: Sequence[AlertItem]) -> str:
    """The items in Markdown; what went is struck out, what came is bold."""
    return _write(items, heading="### {}\n<{}>\n", field="- {}: {}", line="- {}", show=as_markdown)


def _write(
    items: Sequence[AlertItem], *, heading: str, field: str, line: str, show: Callable[[Sequence[Part]], str]
) -> str:
    blocks = []
    for item in items[:_MAX_SHOWN]:
        lines = [heading.format(describe(item), item.url)]
        for difference in item.differences:
            for parts in difference.lines:
                shown = show(parts)
                lines.append(field.format(difference.field, shown) if difference.field else line.format(shown))
            if difference.left_out:
                lines.append(line.format(f"… and {counted(difference.left_out, 'more line')}"))
        blocks.append("\n".join(lines))
    if len(items) > _MAX_SHOWN:
        blocks.append(f"… and {counted(len(items) - _MAX_SHOWN, 'more alert')} (lycosa alerts --list)")
    return "\n\n".join(blocks) + "\n"


def write_html(items: Sequence[AlertItem]) -> str:
    """The items as a page of HTML."""
    blocks = [f"<h2>{_link(item)}</h2>\n{write_differences(item)}" for item in items[:_MAX_SHOWN]]
    if len(items) > _MAX_SHOWN:
        blocks.append(f"<p>… and {counted(len(items) - _MAX_SHOWN, 'more alert')} (lycosa alerts --list)</p>")
    title = html.escape(make_subject(items))
    head = f'<meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
    body = "\n".join(blocks)
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>\n{body}\n</body></html>\n'


def _link(item: AlertItem) -> str:
    said = html.escape(describe(item))
    return f'<a href="{html.escape(item.url)}">{said}</a>' if item.url.startswith(("http://", "https://")) else said


def write_differences(item: AlertItem) -> str:
    """The differences of one item as a list in HTML; empty where there are none to be shown."""
    rows = []
    for difference in item.differences:
        name = f"<b>{html.escape(difference.field)}</b>: " if difference.field else ""
        rows += [f"<li>{name}{as_html(parts)}</li>" for parts in difference.lines]
        if difference.left_out:
            rows.append(f"<li>… and {counted(difference.left_out, 'more line')}</li>")
    return f"<ul>{''.join(rows)}</ul>" if rows else ""


def make_object(item: AlertItem) -> dict[str, Any]:
    """An item as webhooks get it."""
    return {
        "id": item.id,
        "alert": item.alert,
        "what": item.what,
        "at": datetime.fromtimestamp(item.at, UTC).isoformat(timespec="seconds"),
        "url": item.url,
        "title": item.title,
        "kind": item.kind,
        "record": item.record,
        "round": item.round,
        "text": describe(item),
        "differences": [
            {
                "field": difference.field,
                "what": difference.what,
                "lines": [[{"kind": part.kind, "text": part.text} for part in parts] for parts in difference.lines],
            }
            for difference in item.differences
        ],
    }
