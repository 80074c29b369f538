"""E-mail addresses in text, in every disguise: "ana [at] x.edu", "ana (arroba) x punto edu", "{ana,eva}@x.edu"."""

from __future__ import annotations

import re
from typing import NamedTuple

_LOCAL = r"[A-Za-z0-9](?:[A-Za-z0-9._%+-]{0,62}[A-Za-z0-9_+-])?"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}[A-Za-z0-9])?"
#: What stands for "@" and for "." where people hide an address from programs.
_AT = (
    r"\s*(?:@|＠|[\[({<«]\s*(?:at|AT|@|arroba|ARROBA|en|a|chez|ät)\s*[\])}>»]|\s(?:at|AT|arroba|ARROBA)\s|_(?:at|AT|arroba)_"
    r"|-(?:at|AT)-|\s*(?:&#64;|%40)\s*)\s*"
)
_HIDDEN_DOT = (
    r"\s*[\[({]\s*(?:dot|DOT|punto|PUNTO|ponto|\.)\s*[\])}]\s*|\s+(?:dot|DOT|punto|PUNTO|ponto)\s+|_(?:dot|punto)_"
)
_DOT = rf"(?:\.|{_HIDDEN_DOT})"
_DOMAIN = rf"{_LABEL}(?:{_DOT}{_LABEL}){{1,6}}"
_PLAIN = re.compile(rf"(?<![A-Za-z0-9._%+{{,-])({_LOCAL}(?:{_DOT}{_LOCAL})?){_AT}({_DOMAIN})(?![A-Za-z0-9@])")
_GROUP = re.compile(rf"[{{\[(]\s*({_LOCAL}(?:\s*[,;|/]\s*{_LOCAL}){{0,12}})\s*[}}\])]\s*(?:@|＠|{_AT})\s*({_DOMAIN})")
_ENDINGS = re.compile(r"\.(?:png|jpe?g|gif|svg|webp|css|js|html?|php|pdf)$", re.IGNORECASE)
_TOP = re.compile(r"^[a-z]{2,18}$", re.IGNORECASE)
#: Words before which "at" is only a word: "look at example.org".
_PROSE = frozenset(
    {
        "look", "looking", "available", "hosted", "held", "located", "found", "presented", "arrive", "arrives",
        "data", "students", "workshop",
    }
)  # fmt: skip
#: Addresses of nobody in particular.
_IMPERSONAL = re.compile(
    r"^(?:info|contact|contacto|webmaster|admin|administrador|administracion|secretaria|secretary|office|support|soporte|help|ayuda"
    r"|permissions?|rights|copyright|editor|editors|editorial|journals?|revista|subscriptions?|reprints?|no-?reply|noreply|postmaster"
    r"|biblioteca|library|prensa|press|news|decanato|rectorado|rector|alumnos|matricula|admisiones|admissions|registro|sales|office)$",
    re.IGNORECASE,
)


class FoundEmail(NamedTuple):
    """An address in a text: as it is used, where it stands, and whether it was disguised."""

    email: str
    start: int
    end: int
    disguised: bool


def find_emails(text: str) -> list[FoundEmail]:
    """The addresses in a text, in their order; groups are taken apart."""
    found: list[FoundEmail] = []
    taken: list[tuple[int, int]] = []
    for match in _GROUP.finditer(text):
        domain = _undisguise(match[2])
        emails = [f"{local.strip()}@{domain}" for local in re.split(r"[,;|/]", match[1])]
        if all(map(is_address, emails)):
            taken.append(match.span())
            found += [FoundEmail(email.lower(), *match.span(), True) for email in emails]
    for match in _PLAIN.finditer(text):
        if any(start < match.end() and match.start() < end for start, end in taken):
            continue
        local, domain = _undisguise(match[1]), _undisguise(match[2])
        email = f"{local}@{domain}"
        disguised = "@" not in match[0] or " " in match[0]
        if disguised and (local.lower() in _PROSE or not _has_mark(match[0], domain)):
            continue
        if is_address(email):
            found.append(FoundEmail(email.lower(), *match.span(), disguised))
    found.sort(key=lambda each: each.start)
    return list({each.email: each for each in reversed(found)}.values())[::-1]


def is_address(text: str) -> bool:
    """Whether a text is written as an address on the open internet."""
    local, _, domain = text.rpartition("@")
    labels = domain.split(".")
    return (
        bool(re.fullmatch(_LOCAL, local))
        and ".." not in local
        and len(labels) >= 2
        and all(re.fullmatch(_LABEL, label) for label in labels)
        and bool(_TOP.match(labels[-1]))
        and not _ENDINGS.search(domain)
        and not (len(labels) == 2 and labels[0].lower() in ("example", "domain", "dominio"))
    )


def is_impersonal(email: str) -> bool:
    """Whether an address belongs to an office rather than to a person."""
    return _IMPERSONAL.match(email.partition("@")[0].split("+")[0]) is not None


def _has_mark(written: str, domain: str) -> bool:
    """Whether a disguise is one: brackets around its words, or a domain that looks like one behind bare words."""
    return (
        bool(re.search(r"[\[({<«_@＠]|arroba|ARROBA", written))
        or domain.count(".") >= 1
        and " dot " in written.lower()
        or bool(
            re.search(
                r"\s(?:at|AT)\s+[\w-]+\.(?:[\w-]+\.)*(?:edu|es|ar|mx|cl|br|pt|org|uk|de|fr|it|co|pe|uy)\b", written
            )
        )
    )


def _undisguise(text: str) -> str:
    return re.sub(r"\s+", "", re.sub(_HIDDEN_DOT, ".", text))


def decode_cloudflare(code: str) -> str:
    """The address in an attribute `data-cfemail`, by which a network hides addresses from programs; empty: none."""
    try:
        data = bytes.fromhex(code[:400])
    except ValueError:
        return ""
    email = bytes(byte ^ data[0] for byte in data[1:]).decode("utf-8", "replace") if data else ""
    return email.lower() if is_address(email) else ""
