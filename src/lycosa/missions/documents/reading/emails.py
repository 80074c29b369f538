"""E-mail addresses in text, in every disguise: "ana [at] x.edu", "ana (arroba) x punto edu", "{ana,eva}@x.edu"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from lycosa.missions.documents.names import fits_address

_LOCAL = r"[A-Za-z0-9][A-Za-z0-9._%+\-']{0,63}"
_DOMAIN = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?){1,5}"
_PLAIN = re.compile(rf"(?<![A-Za-z0-9._%+@-])({_LOCAL})\s?@\s?({_DOMAIN})")
_GROUP = re.compile(rf"[{{\[(<«]\s*([A-Za-z0-9._%+\-\s,;|/]{{3,300}}?)\s*[}}\])>»]\s?@\s?({_DOMAIN})")
#: Braces that an old font prints as other signs: "fana,evag@", "-ana, eva}@".
_ODD_GROUP = re.compile(
    r"(?<![\w.@-])(?:f(?=[^{}@\n]{0,300}g\s?@)|-(?=[^@\n]{0,300}}))"
    rf"((?:[\w.-]{{1,40}}\s?[,;]\s?){{1,12}}[\w.-]{{1,40}}?)\s?[g}}]\s?@\s?({_DOMAIN})"
)
_BARE_GROUP = re.compile(
    rf"(?:(?<=^)|(?<=[\n:]))\s*((?:[a-z0-9][a-z0-9._-]{{1,30}}\s?[,;|/]\s?){{1,8}}[a-z0-9][a-z0-9._-]{{1,30}})\s?@\s?({_DOMAIN})"
)
_AT = (
    r"(?:\s*[\[({<]\s*(?:at|arroba|arrob@|a|@|en|AT|ARROBA)\s*[\])}>]\s*|\s+(?:at|AT|arroba|ARROBA)\s+|"
    r"\s*_(?:at|arroba)_\s*|\s*\*(?:at|arroba)\*\s*)"
)
_DOT = (
    r"(?:\s*[\[({<]\s*(?:dot|punto|ponto|DOT|\.)\s*[\])}>]\s*|\s+(?:dot|punto|ponto|DOT)\s+|\s?\.\s?|"
    r"\s*_(?:dot|punto)_\s*)"
)
_DISGUISED = re.compile(
    rf"(?<![\w@.-])([A-Za-z0-9][\w.+-]{{1,40}}(?:(?:\s*[\[({{]\s*(?:dot|punto|ponto)\s*[\])}}]\s*|\s+(?:dot|punto|ponto)\s+)[\w-]+){{0,3}}){_AT}"
    rf"([A-Za-z0-9-]{{1,40}}(?:{_DOT}[A-Za-z0-9-]{{2,40}}){{1,5}})"
)
_AT_SIGN = re.compile(r"\b(?:at|AT|arroba|ARROBA)\b|_(?:at|arroba)_|[\[({<]\s*(?:a|@|en|arrob@)\s*[\])}>]")
_DOT_WORD = re.compile(
    r"\s*[\[({<]\s*(?:dot|punto|ponto|\.)\s*[\])}>]\s*|\s+(?:dot|punto|ponto)\s+|_(?:dot|punto)_|\s?\.\s?", re.I
)
_TOP = re.compile(
    r"\.(?:[a-z]{2}|com|edu|org|net|gov|mil|int|info|cat|gal|eus|name|biz|pro|tech|ai|io|dev|science|museum|online|email|cloud)$"
)
_BRACKETS = re.compile(r"[\[({<_*]|arroba|ARROBA")
_ANY_TOP = re.compile(r"\.[a-z]{2,12}$")
#: Mail boxes that belong to a publisher, a journal or an office, not to a person.
_OFFICE = re.compile(
    r"^(?:permissions?|reprints?|rights|copyright|editor(?:ial|es|s)?|revista|journals?|subscri\w+|suscri\w+|info(?:rmation)?|"
    r"contact[o]?|contato|admin\w*|webmaster|secretar\w*|support|soporte|help|helpdesk|ayuda|sales|ventas|orders|"
    r"publications?|publicaciones|no-?reply|example|postmaster|library|biblioteca|press|prensa|news|marketing|customer\w*|"
    r"service|office|oficina|decanato|rector(?:ado)?|alumnos|matricula|admisiones|admissions|registro)(?:[._-].*)?$",
    re.I,
)
#: Where an address ends and the next begins, without a blank.
_GLUED = re.compile(
    r"(@[\w.-]{1,200}\.(?:com|edu|org|net|gov|ac\.uk|es|de|fr|it|uk|pt|br|mx|ar|cl|ch|at|be|nl|se|jp|kr|cn|in|au|ca))"
    r"(?=[A-Za-z][\w.-]{0,63}@)"
)
_FILE = re.compile(r"\.(?:png|jpe?g|gif|svg|webp|css|js|html?|php|pdf)$", re.I)
_STRANGERS = re.compile(r"(?:permission|reprint|suscrip|subscription|editorial office|customer service)", re.I)


class FoundAddress(Struct):
    """An address with the words in which it was found."""

    email: str
    start: int
    quote: str
    how: str  # "printed", "grouped", "disguised"


def find_emails(text: str, names: Sequence[str] = (), *, offices: bool = False) -> list[FoundAddress]:
    """The addresses in a text in their order, each once; mail boxes of publishers and offices where they are wanted.

    The names beside them tell whether an f and a g around a group are braces or letters.
    """
    text = mend_breaks(text)
    found: list[FoundAddress] = []
    taken = bytearray(len(text))  # the letters that are of an address
    for start, match, how in _matches(text):
        end = start + len(match[0])
        if match.re is _ODD_GROUP and not _are_braces(match, names):
            continue
        if any(taken[start:end]):
            continue
        before = text[max(0, start - 90) : start]
        domain = _domain(match[2], how=how, sure=_BRACKETS.search(match[0]) is not None)
        if not domain or how == "disguised" and not _is_disguise(match, before, text[end : end + 1]):
            continue
        taken[start:end] = b"\1" * (end - start)
        locals_ = (
            re.split(r"\s*[,;|/]\s*|\s+", match[1].strip()) if how == "grouped" else [_DOT_WORD.sub(".", match[1])]
        )
        for local in locals_:
            local = local.strip(".-' ").lower()
            email = f"{local}@{domain}"
            if is_address(email) and (offices or not is_impersonal(email) and not _STRANGERS.search(before)):
                found.append(FoundAddress(email, start, match[0], how))
    found.sort(key=lambda address: address.start)
    unique: dict[str, FoundAddress] = {}
    for address in found:
        unique.setdefault(address.email, address)
    return list(unique.values())


def is_address(text: str) -> bool:
    """Whether a text is written as an address on the open internet."""
    local, _, domain = text.rpartition("@")
    labels = domain.split(".")
    return (
        bool(re.fullmatch(rf"{_LOCAL}@{_DOMAIN}", text))
        and ".." not in local
        and bool(re.fullmatch(r"[A-Za-z]{2,18}", labels[-1]))
        and not _FILE.search(domain)
        and not (len(labels) == 2 and labels[0].lower() in ("example", "domain", "dominio"))
    )


def is_impersonal(email: str) -> bool:
    """Whether an address belongs to an office rather than to a person."""
    return _OFFICE.match(email.partition("@")[0].split("+")[0]) is not None


def _matches(text: str) -> Iterator[tuple[int, re.Match[str], str]]:
    """Where addresses may stand, the surest ways of writing first."""
    if "@" in text:
        for pattern, how in (
            (_GROUP, "grouped"), (_ODD_GROUP, "grouped"), (_BARE_GROUP, "grouped"), (_PLAIN, "printed")
        ):  # fmt: skip
            for match in pattern.finditer(text):
                yield match.start(), match, how
    for sign in _AT_SIGN.finditer(text):
        start = max(0, sign.start() - 60)
        for window in _DISGUISED.finditer(text[start : sign.end() + 90]):
            yield start + window.start(), window, "disguised"


def _are_braces(match: re.Match[str], names: Sequence[str]) -> bool:
    """Whether the signs around a group are braces: without them, no fewer of the addresses fit a name."""
    whole = match[0].partition("@")[0]
    fits = [
        sum(max((fits_address(name, one) for name in names), default=0.0) for one in re.split(r"[\s,;]+", text))
        for text in (match[1], whole)
    ]
    return whole[0] == "-" or fits[0] > fits[1] or fits[0] == fits[1] and " " not in whole


def _domain(text: str, *, how: str, sure: bool) -> str:
    """The domain as it is used; empty where it is none. Bare words that hide a sign need an ending that is known."""
    domain = _DOT_WORD.sub(".", text).lower().strip(".-") if how == "disguised" else text.lower()
    if (_TOP if how == "disguised" and not sure else _ANY_TOP).search(domain):
        return domain
    glued = re.match(r"(.*\.(?:com|edu|org|net|es|ar|br|pt|mx|cl|co|uk|de|fr|it))[A-Z0-9.].*$", text)
    return glued[1].lower() if glued and how == "printed" else ""


def _is_disguise(match: re.Match[str], before: str, after: str) -> bool:
    """Whether words hide an address: "ana at uni.es" alone on a line or where mail is spoken of, not "held at x.es"."""
    if " " in match[1]:
        return False
    return bool(
        re.search(r"[\[({<_*]|arroba|\b(?:AT|dot|punto|ponto|DOT)\b", match[0])
        or re.search(r"mail|correo|contact", before[-40:], re.I)
        or before[-1:] in ("", "\n")
        and after in ("", "\n")
    )


def mend_breaks(text: str) -> str:
    """Text in which an address broken at a line's end is whole: "jan-", "niklas@x.de"; "ana@cs.", "uni.es"."""
    text = text.replace("\\{", "{").replace("\\}", "}").replace("＠", "@")
    text = re.sub(r"(?<![\w@·∙⋅.-])[\w.·∙⋅-]+@[\w.·∙⋅-]+(?![\w@])", lambda found: re.sub("[·∙⋅]", ".", found[0]), text)
    text = _GLUED.sub(r"\1 ", text)
    text = re.sub(r"(?<=[\w.])-\n\s*(?=[\w.-]+\s?@)", "-", text)
    text = re.sub(r"(?<=@)\s*\n\s*(?=[\w-]+\.)|(?<=\w)\s*\n\s*(?=@[\w-]+\.)", "", text)
    text = re.sub(r"(@[\w-]+(?:\.[\w-]+)*)(?:(-)\n\s*|(\.)\n\s*)(?=[a-z][\w-]*\.?[a-z])", r"\1\2\3", text)
    text = re.sub(r"([{(][\w.\s,;|-]{2,150},)\s*\n\s*(?=[\w.\s,;|-]{2,150}[})]\s?@)", r"\1 ", text)
    return re.sub(r"(@[\w-]+(?:\.[\w-]+)*)\s*\n\s*(?=\.[a-z]{2,})", r"\1", text)


def decode_cloudflare(code: str) -> str:
    """The address in an attribute `data-cfemail`, by which a network hides addresses from programs; empty: none."""
    try:
        data = bytes.fromhex(code[:400])
    except ValueError:
        return ""
    email = bytes(byte ^ data[0] for byte in data[1:]).decode("utf-8", "replace") if data else ""
    return email.lower() if is_address(email) else ""
