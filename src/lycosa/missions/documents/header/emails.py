"""E-mail addresses in a text, however they are written: grouped, disguised, broken at a line's end."""

from __future__ import annotations

import re

from msgspec import Struct

_LOCAL = r"[A-Za-z0-9][A-Za-z0-9._%+\-']{0,63}"
_DOMAIN = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?){1,5}"
_PLAIN = re.compile(rf"(?<![A-Za-z0-9._%+@-])({_LOCAL})\s?@\s?({_DOMAIN})")
_GROUP = re.compile(rf"[{{\[(<]\s*([A-Za-z0-9._%+\-\s,;|/]{{3,300}}?)\s*[}}\])>]\s?@\s?({_DOMAIN})")
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
_DOT_WORD = re.compile(
    r"\s*[\[({<]\s*(?:dot|punto|ponto|\.)\s*[\])}>]\s*|\s+(?:dot|punto|ponto)\s+|_(?:dot|punto)_|\s?\.\s?", re.I
)
_TOP = re.compile(
    r"\.(?:[a-z]{2}|com|edu|org|net|gov|mil|int|info|cat|gal|eus|name|biz|pro|tech|ai|io|dev|science|museum|online|email|cloud)$"
)
_ANY_TOP = re.compile(r"\.[a-z]{2,12}$")
#: Mail boxes that belong to a publisher, a journal or an office, not to an author.
_OFFICE = re.compile(
    r"^(?:permissions?|reprints?|rights|copyright|editor(?:ial|es|s)?|revista|journal|subscri\w+|suscri\w+|info(?:rmation)?|contacto?|contato|admin|"
    r"webmaster|secretaria|secretar\w*|support|soporte|help|helpdesk|sales|ventas|orders|publications?|publicaciones|noreply|no-reply|example|"
    r"postmaster|library|biblioteca|press|prensa|marketing|customer\w*|service|office|oficina|customerservice|"
    r"decanato|rectorado|registro)(?:[._-].*)?$"
)
_OFFICE_DOMAIN = re.compile(
    r"(?:^|\.)(?:acm\.org|ieee\.org|elsevier\.com|springer\.com|wiley\.com|example\.(?:com|org|net))$"
)
_STRANGERS = re.compile(r"(?:permission|reprint|suscrip|subscription|editorial office|customer service)", re.I)


class FoundAddress(Struct):
    """An address with the words in which it was found."""

    email: str
    start: int
    quote: str
    how: str  # "printed", "grouped", "disguised"


def find_emails(text: str) -> list[FoundAddress]:
    """The addresses in a text in their order, each once; mail boxes of publishers and offices are left out."""
    text = mend_breaks(text)
    found: list[FoundAddress] = []
    taken: list[tuple[int, int]] = []

    def free(start: int, end: int) -> bool:
        return all(end <= low or start >= high for low, high in taken)

    for pattern, how in ((_GROUP, "grouped"), (_BARE_GROUP, "grouped"), (_PLAIN, "printed"), (_DISGUISED, "disguised")):
        for match in pattern.finditer(text):
            if not free(*match.span()):
                continue
            domain = match[2].lower() if how != "disguised" else _DOT_WORD.sub(".", match[2]).lower()
            domain = domain.strip(".-")
            if not (_TOP if how == "disguised" and " " in match[0] else _ANY_TOP).search(domain):
                shorter = re.match(r"(.*\.(?:com|edu|org|net|es|ar|br|pt|mx|cl|co|uk|de|fr|it))[A-Z0-9.].*$", match[2])
                if how != "printed" or shorter is None:
                    continue
                domain = shorter[1].lower()
            locals_ = re.split(r"\s*[,;|/]\s*|\s+", match[1].strip()) if how == "grouped" else [match[1]]
            if how == "disguised":
                locals_ = [_DOT_WORD.sub(".", match[1])]
                if not re.search(r"[\[({<_*]|arroba|\b(?:AT|dot|punto|DOT)\b|\.\w", match[0]) or " " in match[1]:
                    continue
            taken.append(match.span())
            for local in locals_:
                local = local.strip(".-'_ ").lower() if "'" in local else local.strip(".- ").lower()
                if not local or _OFFICE.match(local) or (_OFFICE_DOMAIN.search(domain) and len(local) > 30):
                    continue
                if _STRANGERS.search(text[max(0, match.start() - 90) : match.start()]):
                    continue
                found.append(FoundAddress(f"{local}@{domain}", match.start(), match[0], how))
    found.sort(key=lambda address: address.start)
    unique: dict[str, FoundAddress] = {}
    for address in found:
        unique.setdefault(address.email, address)
    return list(unique.values())


def mend_breaks(text: str) -> str:
    """Text in which an address broken at a line's end is whole: "jan-", "niklas@x.de"; "ana@cs.", "uni.es"."""
    text = re.sub(r"(?<=[\w.])-\n\s*(?=[\w.-]+\s?@)", "-", text)
    text = re.sub(r"(?<=@)\s*\n\s*(?=[\w-]+\.)|(?<=\w)\s*\n\s*(?=@[\w-]+\.)", "", text)
    text = re.sub(r"(@[\w-]+(?:\.[\w-]+)*)(?:(-)\n\s*|(\.)\n\s*)(?=[a-z][\w-]*\.?[a-z])", r"\1\2\3", text)
    text = re.sub(r"([{(][\w.\s,;|-]+,)\s*\n\s*(?=[\w.\s,;|-]+[})]\s?@)", r"\1 ", text)
    return re.sub(r"(@[\w-]+(?:\.[\w-]+)*)\s*\n\s*(?=\.[a-z]{2,})", r"\1", text)
