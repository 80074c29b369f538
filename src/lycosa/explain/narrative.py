"""Narrative of an explanation, for people: first the answer in a sentence, then its grounds."""

from __future__ import annotations

import time
from collections.abc import Iterator

from lycosa.explain.why import FIRST_STEPS, Host, PathStep, UrlFate, Why
from lycosa.output.plain import counted, printable
from lycosa.reasons import WALLS, explain
from lycosa.wishes.signals import settle

_LABEL = 9  # width of the names in front of each section
_SHOWN_LINKS = 20

_VIA = {
    "a": "link",
    "area": "link of an image map",
    "listed": "entry of a sitemap",
    "refresh": "refresh of the page",
    "link": "<link>",
    "requisite": "needed to show a page",
    "xml": "reference in XML",
    "script": "address in a script",
}


def format_why(why: Why) -> str:
    """The whole explanation as text."""
    return "\n".join(printable(line) for line in _lines(why))


def conclude(why: Why) -> str:
    """What became of the URL, or would, in one or two sentences."""
    if why.fate is None:
        return f"It was never seen. {_would(why)}"
    fate = why.fate
    but = _but(fate)
    if fate.state == "unfetched":
        return _pending(why)
    if fate.state == "duplicate":
        return f"It was fetched; its content is that of {fate.duplicate_of or 'another page'}, stored once{but}."
    if fate.reason == "noarchive" or (fate.reason == "wishes" and fate.http):
        return f"It was read for its links and not kept{but}."
    if fate.state == "rejected" and fate.reason in WALLS:
        return f"It was fetched, and is no page{but}. The next round asks again."
    if fate.state == "rejected":
        longer = " any more, and what is held of it stays" if fate.copies else ""
        return f"It is not visited{longer}{but}.{_changed(why)}"
    sentences = {
        "fetched": f"It was fetched and kept{but}.",
        "not modified": f"It was fetched and kept; asked again, the host said that it has not changed{but}.",
        "redirected for now": f"It redirects, for now, to {_onward(fate)}{but}.",
        "redirected for good": f"It moved for good to {_onward(fate)}{but}.",
        "gone": f"It is gone{but}.",
        "failed": f"It could not be fetched{but}.",
        "waiting for a retry": f"It is tried again, not before {_time(fate.due)}{but}.",
    }
    return sentences.get(fate.state, f"Its state is {fate.state}{but}.")


def _but(fate: UrlFate) -> str:
    """What the reason means, and what to do; the sentence ends outside."""
    return f" ({fate.reason}): {_advise(fate.meaning, fate.remedy)}" if fate.reason else ""


def _advise(meaning: str, remedy: str) -> str:
    return f"{meaning}. {remedy[0].upper()}{remedy[1:]}" if remedy else meaning


def _would(why: Why) -> str:
    refused = [ruling for ruling in why.rules if ruling.ok is False]
    if why.left_out_by and why.links and not refused:
        pages = counted(why.links.count, "page")
        return f"Links to it stand on {pages}, as {why.links.first[0].source}, and are not followed: {why.left_out_by}."
    if not refused:
        return "If a link to it is found, it is visited" + (
            ", if its robots.txt allows." if why.visited is None else "."
        )
    advice = _advise(refused[0].detail, explain(refused[0].rule).remedy)
    return f"If a link to it is found, it is not visited ({refused[0].rule}): {advice}."


def _pending(why: Why) -> str:
    assert why.queue is not None
    more = "at least " if why.queue.bounded else ""
    place = (
        f"{more}{why.queue.ahead:,} of its host stand before it" if why.queue.ahead else "it is the next of its host"
    )
    refused = next((ruling for ruling in why.rules if ruling.ok is False), None)
    if refused is not None:
        advice = _advise(refused.detail, explain(refused.rule).remedy)
        return f"It is still to be fetched, but not as things are ({refused.rule}): {advice}."
    again = " again" if why.fate and why.fate.copies else ""
    if why.running:
        return f"It is still to be fetched{again}: {place}."
    return f"It is still to be fetched{again} ({place}), but no crawl is running: lycosa crawl continues it."


def _onward(fate: UrlFate) -> str:
    if not fate.redirects:
        return "nowhere"
    last = fate.redirects[-1]
    first = f"{fate.redirects[0].url}, and from there to {last.url}" if len(fate.redirects) > 1 else last.url
    return f"{first}, which is {_hop_state(last.state, last.reason)}"


def _hop_state(state: str, reason: str) -> str:
    return f"{state or 'not known'}{f' ({reason})' if reason else ''}"


def _changed(why: Why) -> str:
    """A refusal that the settings of now would not repeat."""
    assert why.fate is not None
    refused = [ruling.rule for ruling in why.rules if ruling.ok is False and ruling.rule != "page-limit"]
    if why.fate.reason in refused or why.fate.reason in ("noarchive", "wishes", ""):
        return ""
    now = f"it would be refused for {refused[0]}" if refused else "it would be admitted"
    return f" By the settings as they are now {now}: the next crawl judges it again."


def _lines(why: Why) -> Iterator[str]:
    state = f"{why.fate.state}{f' ({why.fate.reason})' if why.fate.reason else ''}" if why.fate else "never seen"
    yield f"{why.url}: {state}"
    yield conclude(why)
    yield ""
    yield from _section("address", [f"given as {why.address.given}", *why.address.changes])
    if why.fate:
        yield from _section("state", _state_lines(why.fate))
    if why.wanted_by:
        yield from _section("wanted", [f"by {name}: {ground}" for name, ground in why.wanted_by.items()])
    yield from _section("rules", _rule_lines(why))
    if why.wishes:
        yield from _section("use", _wish_lines(why))
    if why.score:
        parts = ", ".join(f"{name} {value:g}" for name, value in why.score.parts.items())
        weighed = ", ".join(f"{name} {value:.3g}" for name, value in why.score.relevance.items())
        told = f"{why.score.value:g} ({why.score.order}: {why.score.rule}){'; ' if parts else ''}{parts}"
        yield from _section("score", [told, *([weighed] if weighed else [])])
    if why.terms:
        yield from _section("terms", [", ".join(f"{one.word} {one.count} ({one.score:.3g})" for one in why.terms)])
    if why.path:
        yield from _section("found", _path_lines(why))
    if why.queue:
        more = "more than " if why.queue.bounded else ""
        yield from _section("queue", [f"{why.queue.ahead:,} before it, {more}{why.queue.pending:,} of its host in all"])
    yield from _section("host", _host_lines(why.host, why.at))
    if why.links is not None:
        yield from _section("links", _link_lines(why))
    if why.near:
        yield from _section("known", [f"{hop.url}: {_hop_state(hop.state, hop.reason)}" for hop in why.near])


def _section(name: str, lines: list[str]) -> Iterator[str]:
    for at, line in enumerate(lines):
        yield f"{name if at == 0 else '':{_LABEL}}{line}"


def _state_lines(fate: UrlFate) -> list[str]:
    facts = [f"HTTP {fate.http}"] if fate.http else []
    if fate.fetched_at:
        facts.append(f"at {_time(fate.fetched_at)}")
    if fate.retries:
        facts.append(f"tried again {'once' if fate.retries == 1 else f'{fate.retries} times'}")
    if fate.strikes:
        facts.append(f"{fate.strikes} workers died of it")
    if fate.due:
        facts.append(f"next try not before {_time(fate.due)}")
    lines = [", ".join([fate.state, *facts])]
    lines += [f"→ {hop.url}: {_hop_state(hop.state, hop.reason)}" for hop in fate.redirects]
    if fate.duplicate_of:
        lines.append(f"the same content as {fate.duplicate_of}")
    if fate.page:
        page = fate.page
        kind = f", {page.kind}" if page.kind else ""
        title = f', "{page.title}"' if page.title else ""
        lines.append(f"{page.mime or 'no type'}{kind}, {page.charset or 'no charset'}, {page.size:,} bytes{title}")
        made = ", as its scripts made it in a browser" if page.rendered else ""
        copies = f" ({fate.copies} copies)" if fate.copies > 1 else ""
        if page.warc:
            lines.append(f"{page.warc} at {page.offset:,}, {page.length:,} bytes, round {page.round}{copies}{made}")
    if fate.visits:
        events = ", ".join(f"{visit.event} in round {visit.round}" for visit in fate.visits)
        pace = f"; visited every {fate.interval_s / 3600:,.1f} hours" if fate.interval_s else ""
        lines.append(f"{events}{pace}")
    return lines


def _rule_lines(why: Why) -> list[str]:
    width = max(len(ruling.rule) for ruling in why.rules)
    words = {True: "yes", False: "no", None: "?"}
    return [f"{ruling.rule:{width}}  {words[ruling.ok]:3}  {ruling.detail}" for ruling in why.rules]


def _wish_lines(why: Why) -> list[str]:
    """What holds for each use, then who says so."""
    held = settle(why.wishes)
    lines = []
    for use, is_allowed in held.items():
        said = [
            f"{signal.place} ({signal.words})"
            for signal in why.wishes
            if (signal.use, signal.allowed) == (use, is_allowed)
        ]
        others = any(signal.allowed != is_allowed for signal in why.wishes if signal.use == use)
        end = "; others allow it, and the strictest holds" if others else ""
        lines.append(f"{use:9}{'allowed' if is_allowed else 'forbidden'} by {', '.join(dict.fromkeys(said))}{end}")
    return lines


def _path_lines(why: Why) -> list[str]:
    lines = [_step(step) for step in why.path]
    if why.path_left_out:
        lines.insert(FIRST_STEPS, f"… {why.path_left_out:,} more …")
    if why.path_cut:
        lines.insert(0, "(a longer way before this)")
    return lines


def _step(step: PathStep) -> str:
    if step.via == "seed":
        return f"{step.url}  seed"
    if step.via == "sitemap":
        return f"{step.url}  sitemap" + (f", named by the robots.txt of {step.anchor}" if step.anchor else "")
    anchor = f' "{step.anchor}"' if step.anchor else ""
    context = f" in “{step.context}”" if step.context else ""
    return f"→ {step.url}  {_VIA.get(step.via, step.via or 'unknown')}{anchor}{context}"


def _host_lines(host: Host, now: float) -> list[str]:
    if not host.known:
        return [f"{host.name} is not known: nothing of it was ever found"]
    facts = [f"{host.name}: {counted(host.pages, 'page')} stored, {host.pending:,} to be fetched"]
    pace = f"{host.delay_s:g} s between requests, {host.per_host} at a time"
    pace += f", {host.back_off_s:g} s more as it was overloaded or failed" if host.back_off_s else ""
    pace += f"; {counted(host.errors, 'failure')} of the host in a row" if host.errors else ""
    pace += f"; not before {_time(host.next_at)}" if host.next_at > now else ""
    facts.append(pace)
    if host.asked_s:
        asked = f"it asked to be left alone for {host.asked_s:,.0f} s (Retry-After), and was for {host.obeyed_s:g} s"
        facts.append(f"{asked}: a higher fetch.retry_after_max_s obeys")
    if host.robots_at:
        facts.append(f"its robots.txt was fetched at {_time(host.robots_at)} (HTTP {host.robots_status or 'none'})")
    return facts


def _link_lines(why: Why) -> list[str]:
    assert why.links is not None
    if not why.links.count:
        return ["no stored page links to it"]
    lines = [f"{counted(why.links.count, 'link')} from stored pages"]
    for link in why.links.first[:_SHOWN_LINKS]:
        text = f' "{link.text}"' if link.text else ""
        text += f" in “{link.context}”" if link.context else ""
        refused = "" if link.accepted else ", not followed from there"
        lines.append(f"{link.source}{text}{', a redirect' if link.kind == 'redirect' else ''}{refused}")
    if why.links.count > _SHOWN_LINKS:
        lines.append(f"… and {why.links.count - _SHOWN_LINKS:,} more: lycosa export inlinks --url …")
    return lines


def _time(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at))
