"""Differences between two copies of a text or a value: what changed in meaning, and how it is shown.

Lines are compared as a set, so that their order makes no difference; what noise alone tells apart is no difference.
Each class of noise is one step: a line goes in, and comes out with the noise replaced by a mark. What counts as a date
of the day depends on the moment at which the copy was made: a date that moves with the clock is noise, the date of a
concert is not.
"""

from __future__ import annotations

import datetime
import difflib
import html
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import msgspec

from lycosa import urls
from lycosa.config.settings import UrlSettings
from lycosa.content.converters import fold_text, list_days
from lycosa.missions.records.field_roles import show_value

_MAX_LINE = 4000
_MAX_LINES = 5_000
#: A date so many days from the moment of a copy is the date of the day: time zones and caches differ by one or two.
_NEAR_DAYS = 2

_INVISIBLE = re.compile(
    r"[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff]"
)
_SAME = str.maketrans(
    {**dict.fromkeys("‘’‚‛′`´", "'"), **dict.fromkeys("“”„‟«»″", '"'), **dict.fromkeys("‐‑‒–—―−", "-"), "…": "..."}
)
_URL = re.compile(r"https?://[^\s<>\"]+")
#: Names that machines give: session ids, hashes, tokens of forms. Words and ISBNs are shorter or of one kind.
_MACHINE_NAME = re.compile(
    r"(?<!\w)(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{16,200}|(?=\w*\d)(?=\w*[a-z])(?=(?:\D*\d){3})[\w+/-]{20,400}={0,2})(?!\w)"
)
_A = (
    r"(?:\d{1,4}|an?|one|a few|few|some|un|una|uno|unos|unas|une|quelques|ein|eine|einem|einer|wenigen|um|uma|een|en"
    r"|ett|et)"
)
_UNITS = (
    r"(?:s|secs?|seconds?|segundos?|secondes?|sekunden?|secondi|seconden|sekunder"
    r"|m|mins?|minutes?|minutos?|minuten?|minut[oi]|minuts?|minuter|minuty?"
    r"|h|hrs?|hours?|horas?|heures?|stunden?|or[ae]|uur|uren|hor[ae]s|timmar|timer|std"
    r"|d|days?|dias?|jours?|tag(?:en?)?|giorn[oi]|dag(?:en|ar|er)?|dies"
    r"|weeks?|semanas?|semaines?|wochen?|settiman[ae]|weken|week|setman[ae]s?"
    r"|mo|months?|mes(?:es|os)?|mois|monat(?:en?)?|mes[ei]|maanden|years?|anos?|anys?|ans?|jahr(?:en?)?|ann[oi]|jaar)"
)
_SPAN = rf"{_A}\s?{_UNITS}(?:(?:,| and| y| et| und| e)?\s{_A}\s?{_UNITS})?"
#: Times that are told from now.
_RELATIVE = re.compile(
    rf"\b(?:{_SPAN}\s(?:ago|fa|geleden|atras|sedan|siden|old)|(?:hace|il y a|vor|ha|fa|for)\s{_SPAN}"
    r"|just now|moments? ago|right now|ahora mismo|hace un momento|a l'instant|gerade eben|proprio ora|agora mesmo)\b"
    r"|(?<!\d)\d{1,4}\s\w{1,12}\s(?:назад|тому|temu|prije|önce|πριν)|(?<!\d)\d{1,4}\s?(?:秒|分|分钟|分鐘|時間|小时|小時|日|天|시간|분|일)\s?(?:前|전)"
)
_CLOCK = re.compile(
    r"(?<![\d:.])(?:[01]?\d|2[0-3])[:.h][0-5]\d(?:[:.][0-5]\d(?:[.,]\d+)?)?\s?(?:[ap]\.?m\.?\b|uhr\b|h\b|hs\b|hrs\b)?(?![\d:])"
)
_TO_THE_SECOND = re.compile(r"(?<![\d:])(?:[01]?\d|2[0-3]):[0-5]\d:[0-5]\d(?:[.,]\d+)?(?![\d:])")
_ZONE = re.compile(
    r"\b(?:utc|gmt|cet|cest|mez|mesz|est|edt|cst|cdt|pst|pdt|bst|msk|z)(?:\s?[+-]\d{1,2}(?::?\d\d)?)?\b|[+-]\d\d:?\d\d\b"
)
_WEEKDAYS = re.compile(
    r"\b(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b"
    r"|\b(?:lunes|martes|miercoles|jueves|viernes|sabado|domingo|dilluns|dimarts|dimecres|dijous|divendres|dissabte|diumenge"
    r"|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonnabend"
    r"|sonntag|lunedi|martedi|mercoledi|giovedi|venerdi|domenica|segunda|terca|quarta|quinta|sexta|maandag|dinsdag"
    r"|woensdag|donderdag|vrijdag|zaterdag|zondag|mandag|tirsdag|onsdag|torsdag|fredag|lordag|sondag|mandag|tisdag"
    r"|poniedzialek|wtorek|sroda|czwartek|piatek|sobota|niedziela)(?:-feira)?\b"
    r"|\b(?:понедельник|вторник|среда|четверг|пятница|суббота|воскресенье)\b|[月火水木金土日一二三四五六]曜?日"
)
#: What machines count as people come and go, wherever a short line says so …
_COUNTED = (
    r"(?:page\s?)?(?:views?|viewers|visits?|hits|likes?|dislikes?|reposts?|retweets?|tweets?|comments?|replies|reply"
    r"|reactions?|upvotes?|downloads?|followers?|subscribers?|bookmarks?|favou?rites?|claps?|impressions|clicks?"
    r"|visitas?|visualizaciones|lecturas|comentarios?|me gusta|compartidos?|descargas|seguidores|aufrufe|kommentare?"
    r"|mal gelesen|mal angesehen|vues?|commentaires?|partages?|abonnes|visualizzazioni|commenti|commento|condivisioni"
    r"|visualizacoes|comentario|compartilhamentos|weergaven|reacties|visites|comentaris?|просмотр\w*|комментари\w*)"
)
#: … and what is news in a sentence ("won by 12 votes"), but a counter where a line has hardly another word.
_COUNTED_ALONE = (
    r"(?:votes?|votos?|stimmen|shares?|reads?|readers?|visitors?|visiteurs?|visitantes?|besucher|leser|lectores|bezoekers"
    r"|plays|streams|reviews?|ratings?|resenas?|opiniones|bewertungen|avis|recensioni|users?|members?|guests?|online"
    r"|people|personas|personen|personnes|persone|pessoas|respuestas|responses|times)"
)
_WATCHING = (
    r"(?:people|persons?|users?|customers?|others|shoppers|visitors?|guests?|readers?|personas|usuarios|personen|nutzer"
    r"|kunden|personnes|persone|utenti|pessoas|persones)"
    r"\s(?:are |is |have |has |also |like |currently |now |estan |esta |sehen |haben |regardent |ont |stanno |estao )*"
    r"(?:watch\w*|view\w*|look\w*|like\w*|read\w*|shar\w+|sav\w+|follow\w*|bought|buy\w*|online|interested|in their"
    r"|this in|mirando|viendo|leyendo|interesad\w+|ansehen|gekauft|sich|regardent|cette|guardando|vendo)"
)
_NUMBER = r"\d(?:[\d.,\s']{0,16}\d)?\s?(?:k|m|mio|mil|mill?\.?|тыс\.?|万|萬)?"
_MORE = r"(?:unique |total |other |new |more |otras |weitere |autres )?"
_COUNTER = re.compile(
    rf"(?<![\w.,€$£])\(?{_NUMBER}\)?\+?\s(?P<noun>{_MORE}(?:{_COUNTED}|{_WATCHING}))(?!\w)"
    rf"|(?<!\w)(?P<label>{_COUNTED}|{_COUNTED_ALONE})\s?[:(\[]\s?{_NUMBER}\s?[)\]]?(?![\w€$£%])"
)
_LONE_COUNTER = re.compile(rf"(?<![\w.,€$£])\(?{_NUMBER}\)?\+?\s(?P<noun>{_COUNTED_ALONE})(?!\w)")
#: Words of a line that may be a counter, and of one that is hardly anything else.
_SHORT_LINE, _LONE_LINE = 12, 3
_COPYRIGHT = re.compile(r"(?:©|\(c\)|\bcopyright\b)[^\d]{0,40}(?:19|20)\d\d(?:\s?-\s?(?:19|20)?\d\d)?")
#: The words of a line that says nothing but when it was made.
_STAMPED = """
today is it's its the date time now day on at of to last update updated updates modified changed change revised
generated rendered created printed retrieved accessed checked refreshed page this document site as current currently
local server was by hoy es el la las los a al del de en fecha hora ultima ultimo actualizacion actualizado actualizada
actualizados modificacion pagina generada generado consultado dia data heute ist stand der die das am um vom den zuletzt
letzte aktualisierung aktualisiert geandert seite erstellt abgerufen datum uhrzeit aujourd'hui nous sommes le mis mise
jour derniere maj genere generee consulte heure oggi e il aggiornamento aggiornato aggiornata alle ore hoje atualizado
atualizada em atualizacao vandaag bijgewerkt laatst op om laatste wijziging avui darrera actualitzacio actualitzat idag
senast uppdaterad i dag sidst opdateret
"""
_STAMP_WORDS = frozenset(_STAMPED.split())
_WORD = re.compile(r"[^\W\d_][\w']*")
_FIGURE = re.compile(r"\d")
_SPACES = re.compile(r"\s+")
_TODAY, _TIME, _WHEN, _COUNT, _ID = "⟨today⟩", "⟨time⟩", "⟨when⟩", "⟨count⟩", "⟨id⟩"
_MARKS = re.compile(r"⟨\w+⟩")
_MEANS_THE_SAME = urls.Cleaner(UrlSettings(drop_session=True, drop_tracking=True, sort_query=True))


def fold_line(line: str, moment: float) -> str:
    """A line in the form that is compared; empty where it says nothing but when it was made.

    `moment` is when the copy was made, as seconds since 1970.
    """
    text = _INVISIBLE.sub("", line[:_MAX_LINE])
    text = _URL.sub(_clean_url, text)
    text = fold_text(unicodedata.normalize("NFKC", text).translate(_SAME))
    text = _SPACES.sub(" ", text).strip()
    if not text:
        return ""
    if _FIGURE.search(text):
        text = _COPYRIGHT.sub("©", text)
        text = _MACHINE_NAME.sub(_ID, text)
        text = _RELATIVE.sub(_WHEN, text)
        text = _mark_days(text, moment)
        text = _TO_THE_SECOND.sub(_TIME, text)
        text = _mark_counters(text)
    else:
        text = _RELATIVE.sub(_WHEN, text)
    return "" if _is_stamp(text, moment) else text.strip(" .,;:-|·•")


def fold_lines(text: str, moment: float) -> Iterator[tuple[str, str]]:
    """The lines of a text, each in the form that is compared and as it stands there; stamps are left out."""
    for number, line in enumerate(text.splitlines()):
        if number >= _MAX_LINES:
            return
        if folded := fold_line(line, moment):
            yield folded, line


def fold_url(url: str) -> str:
    """An address without what says nothing: tracking parameters, session ids, the order of the query, the fragment."""
    clean = urls.normalise(url.strip())
    return url.strip() if clean is None else _MEANS_THE_SAME.clean(clean)


def _clean_url(match: re.Match[str]) -> str:
    return fold_url(match[0])


def _mark_counters(text: str) -> str:
    words = len(_WORD.findall(text))
    if words > _SHORT_LINE:
        return text
    text = _COUNTER.sub(lambda match: f"{_COUNT} {match['noun'] or match['label']}", text)
    return _LONE_COUNTER.sub(lambda match: f"{_COUNT} {match['noun']}", text) if words <= _LONE_LINE else text


def _mark_days(text: str, moment: float) -> str:
    """Mark the dates of the day, each with the weekday before it and the time of day and zone behind it."""
    today = _day_of(moment)
    for start, end, days in reversed(list_days(text, today.year)):
        if any(abs((day - today).days) <= _NEAR_DAYS for day in days):
            before = text[:start]
            weekdays = list(_WEEKDAYS.finditer(before, max(0, start - 20)))
            if weekdays and len(before) - weekdays[-1].end() <= 5:
                before = before[: weekdays[-1].start()]
            after = text[end:]
            clock = _CLOCK.search(after[:25])
            if clock is not None and not _WORD.search(after[: clock.start()].replace(" at ", " ").replace("t", "", 1)):
                after = after[clock.end() :]
                zone = _ZONE.match(after.lstrip())
                after = after.lstrip()[zone.end() :] if zone is not None else after
            text = f"{before}{_TODAY}{after}"
    return text


@lru_cache(maxsize=64)
def _day_of(moment: float) -> datetime.date:
    try:
        return datetime.datetime.fromtimestamp(moment, datetime.UTC).date()
    except (OverflowError, ValueError, OSError):
        return datetime.date(1970, 1, 1)


def _is_stamp(text: str, moment: float) -> bool:
    """Whether a line says nothing but a date or time: any, with no more words beside it than such lines have."""
    if len(text) > 200:
        return False
    rest = _ZONE.sub(" ", _CLOCK.sub(" ", _WEEKDAYS.sub(" ", _MARKS.sub(" ", text))))
    found = rest != text
    days = list_days(rest, _day_of(moment).year)
    if not found and not days:
        return False
    for start, end, _ in reversed(days):
        rest = f"{rest[:start]} {rest[end:]}"
    if _FIGURE.search(rest):
        return False
    words = _WORD.findall(rest)
    if not words:
        # A bare date or time: of the day it is a stamp, else it is something the page says.
        return _TODAY in text or _WHEN in text or _TIME in text or _COUNT in text
    return len(words) <= 10 and _STAMP_WORDS.issuperset(words)


#: Pairs of lines that are looked at to find which became which, and words of a line that are compared one by one.
_MAX_PAIRS = 20_000
_MAX_WORDS = 600
#: What is shown of one difference.
_MAX_HUNKS = 12
_CONTEXT_WORDS = 8
_MAX_PART = 500
_LONG = 200
#: Lines that share so many of their words are versions of each other.
_ALIKE = 0.5
#: A word of so many letters or more with one wrong was misspelt.
_SPELT = 5

_TOKEN = re.compile(r"[-+<>=]?\d[\d.,:]*(?<![.,:])%?|⟨\w+⟩|[^\W\d_]+(?:'[^\W\d_]+)?|[€$£¥%]")
_ITEMS = re.compile(r"\s*[,;|·•/]\s*")

PartKind = Literal["same", "gone", "new", "cut"]


class Part(NamedTuple):
    """Words that stayed, went or came; or a cut, where the rest is left out."""

    kind: PartKind
    text: str


class TextDifference(NamedTuple):
    """What changed in a text, line by line: each with the parts that are shown."""

    lines: tuple[tuple[Part, ...], ...]
    words: int  # that went or came
    marks: frozenset[str]  # the lines that went or came, in the form that is compared
    came: frozenset[str]  # those of them that came
    left_out: int = 0  # lines that are not shown


def compare_texts(
    before: str, after: str, *, moments: tuple[float, float], around: tuple[str, str] = ("", "")
) -> TextDifference | None:
    """What changed between two copies of a text that were made at these moments; None where it says the same.

    `around` are the whole pages that the texts are parts of: a line that the other page has, too, only moved between
    its text and its frame.
    """
    gone_lines, new_lines = _subtract(before.splitlines(), after.splitlines())
    gone = list(fold_lines("\n".join(gone_lines), moments[0]))
    new = list(fold_lines("\n".join(new_lines), moments[1]))
    both = Counter(folded for folded, _ in gone) & Counter(folded for folded, _ in new)
    gone, new = _without(gone, both), _without(new, both)
    if not gone and not new:
        return None
    if _tokens(" ".join(folded for folded, _ in gone)) == _tokens(" ".join(folded for folded, _ in new)):
        return None  # the lines were only cut otherwise
    hunks = [hunk for hunk in _pair(gone, new) if not _says_the_same(hunk)]
    hunks = [hunk for hunk in hunks if not _has_moved(hunk, around, moments)]
    return _as_difference(hunks) if hunks else None


_Line = tuple[str, str]  # in the form that is compared, and as it stands there
_Hunk = tuple[_Line | None, _Line | None]
_NO_LINE: _Line = ("", "")


def _as_difference(hunks: list[_Hunk]) -> TextDifference:
    pairs = [(old or _NO_LINE, fresh or _NO_LINE) for old, fresh in hunks]
    came = frozenset(fresh[0] for _, fresh in hunks if fresh)
    return TextDifference(
        lines=tuple(_diff_words(old[1], fresh[1]) for old, fresh in pairs[:_MAX_HUNKS]),
        words=sum(_count_words(old[0], fresh[0]) for old, fresh in pairs),
        marks=came | {old[0] for old, _ in hunks if old},
        came=came,
        left_out=max(0, len(hunks) - _MAX_HUNKS),
    )


def _subtract(before: Sequence[str], after: Sequence[str]) -> tuple[list[str], list[str]]:
    """The lines that only one of two texts has, in their order."""
    both = Counter(before) & Counter(after)
    return [line for _, line in _without([(b, b) for b in before], both)], [
        line for _, line in _without([(a, a) for a in after], both)
    ]


def _without(lines: list[_Line], both: Counter[str]) -> list[_Line]:
    rest = Counter(both)
    kept = []
    for line in lines:
        if rest[line[0]] > 0:
            rest[line[0]] -= 1
        else:
            kept.append(line)
    return kept


def _pair(gone: list[_Line], new: list[_Line]) -> Iterator[_Hunk]:
    """Lines that went beside what came in their place; the others alone."""
    left = list(new)
    if len(gone) * len(new) > _MAX_PAIRS:
        yield from ((old, None) for old in gone)
        yield from ((None, fresh) for fresh in new)
        return
    words = [Counter(_tokens(folded)) for folded, _ in left]
    for old in gone:
        mine = Counter(_tokens(old[0]))
        scores = [2 * (mine & theirs).total() / max(1, mine.total() + theirs.total()) for theirs in words]
        best = max(range(len(scores)), key=scores.__getitem__, default=None)
        if best is not None and (scores[best] >= _ALIKE or len(gone) == len(new) == 1):
            yield old, left.pop(best)
            words.pop(best)
        else:
            yield old, None
    yield from ((None, fresh) for fresh in left)


def _says_the_same(hunk: _Hunk) -> bool:
    """Whether a line differs in punctuation, in the order of what it lists, or in the spelling of a word only."""
    old, fresh = hunk
    if old is None or fresh is None:
        return not _tokens((old or fresh or ("", ""))[0])
    before, after = _tokens(old[0]), _tokens(fresh[0])
    if before == after:
        return True
    items = [sorted(_ITEMS.split(line[0])) for line in (old, fresh)]
    if len(items[0]) > 2 and items[0] == items[1]:
        return True
    if len(before) != len(after) or len(before) < 2 * _SPELT:
        return False
    wrong = [(one, other) for one, other in zip(before, after, strict=True) if one != other]
    return len(wrong) <= 2 and all(_is_misspelt(one, other) for one, other in wrong)


def _has_moved(hunk: _Hunk, around: tuple[str, str], moments: tuple[float, float]) -> bool:
    """Whether a line that came or went stands on the other page all the same."""
    old, fresh = hunk
    line, place = (fresh, 0) if old is None else (old, 1)
    if line is None or (old is not None and fresh is not None) or not around[place]:
        return False
    return any(folded == line[0] for folded, _ in fold_lines(around[place], moments[place]))


def _is_misspelt(one: str, other: str) -> bool:
    """Whether two words differ by a letter too many, too few, wrong, or by two that changed places."""
    if not (one.isalpha() and other.isalpha()) or min(len(one), len(other)) < _SPELT or abs(len(one) - len(other)) > 1:
        return False
    start = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    mine, theirs = one[start:], other[start:]
    return (
        mine[1:] == theirs[1:]
        or mine[1:] == theirs
        or mine == theirs[1:]
        or (mine[:2] == theirs[1::-1] and mine[2:] == theirs[2:])
    )


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def _count_words(before: str, after: str) -> int:
    one, other = Counter(_tokens(before)), Counter(_tokens(after))
    return ((one - other) + (other - one)).total()


def _diff_words(before: str, after: str) -> tuple[Part, ...]:
    """Word by word what became of a line, with a few words around each change."""
    one, other = before.split(), after.split()
    if not one or not other or max(len(one), len(other)) > _MAX_WORDS:
        gone, new = Part("gone", _cut(before)), Part("new", _cut(after))
        return tuple(part for part in (gone, new) if part.text)
    parts: list[Part] = []
    operations = difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    for place, (operation, start, end, start_after, end_after) in enumerate(operations):
        if operation == "equal":
            words = one[start:end]
            head = words[:_CONTEXT_WORDS] if place else []
            tail = words[-_CONTEXT_WORDS:] if place < len(operations) - 1 else []
            if len(head) + len(tail) >= len(words):
                parts.append(Part("same", " ".join(words)))
            else:
                parts += [Part("same", " ".join(head)), Part("cut", "…"), Part("same", " ".join(tail))]
            continue
        if start < end:
            parts.append(Part("gone", _cut(" ".join(one[start:end]))))
        if start_after < end_after:
            parts.append(Part("new", _cut(" ".join(other[start_after:end_after]))))
    return tuple(part for part in parts if part.text)


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_PART else f"{text[:_MAX_PART]}…"


def diff_values(before: object, after: object) -> tuple[Part, ...]:
    """What became of a value, as it is shown."""
    one, other = show_value(before, _MAX_PART), show_value(after, _MAX_PART)
    if max(len(one), len(other)) < 60 or not one or not other:
        return tuple(part for part in (Part("gone", one), Part("new", other)) if part.text)
    return _diff_words(one, other)


def as_text(parts: Sequence[Part]) -> str:
    """The parts in plain text, as wdiff marks them; also Markdown takes it as it is."""
    forms = {"gone": "[-{}-]", "new": "{{+{}+}}", "same": "{}", "cut": "{}"}
    return " ".join(forms[kind].format(text) for kind, text in parts)


def as_markdown(parts: Sequence[Part]) -> str:
    """The parts in Markdown: struck out and bold."""
    forms = {"gone": "~~{}~~", "new": "**{}**", "same": "{}", "cut": "{}"}
    return " ".join(forms[kind].format(_escape_markdown(text)) for kind, text in parts)


def as_html(parts: Sequence[Part]) -> str:
    """The parts in HTML: what went in <del>, what came in <ins>."""
    forms = {"gone": "<del>{}</del>", "new": "<ins>{}</ins>", "same": "{}", "cut": "{}"}
    return " ".join(forms[kind].format(html.escape(text)) for kind, text in parts)


def _escape_markdown(text: str) -> str:
    return re.sub(r"([\\`*_~\[\]<>#|])", r"\\\1", text)


#: Fields that count visitors; they are news only where somebody names them.
_COUNTERS = re.compile(
    r"(?i)(?:^|_)(?:views?|visits?|hits|likes?|shares?|comments?|votes?|downloads?|followers?|reads|rank|position"
    r"|visitas|comentarios|aufrufe|vues)(?:_?(?:count|total|number))?$"
)


def is_counter(field: str) -> bool:
    """Whether a field counts what people do, by its name."""
    return _COUNTERS.search(field) is not None


def is_same(before: object, after: object, *, moments: tuple[float, float]) -> bool:
    """Whether two values of a field say the same: white space, case, order of lists, noise make no difference."""
    if texts := as_long_texts(before, after):
        return compare_texts(*texts, moments=moments) is None
    return bool(fold_value(before, moments[0]) == fold_value(after, moments[1]))


def as_long_texts(before: object, after: object) -> tuple[str, str] | None:
    """Two values that are texts or lists of paragraphs, with a line for each; None where neither is long."""
    one, other = _as_lines(before), _as_lines(after)
    if one is None or other is None or max(len(one), len(other)) <= _LONG:
        return None
    return one, other


def _as_lines(value: object) -> str | None:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    return value if isinstance(value, str) else None


def fold_value(value: object, moment: float) -> Any:
    """A value in the form that is compared, made of plain values; None where it says nothing."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int | float):
        return float(f"{value:.12g}") if math.isfinite(value) else None
    if isinstance(value, str):
        return _fold_string(value, moment) or None
    if isinstance(value, dict):
        folded = {str(key): fold_value(item, moment) for key, item in value.items() if not str(key).startswith("@")}
        return {key: item for key, item in sorted(folded.items()) if item is not None} or None
    if isinstance(value, list | tuple):
        items = [fold_value(item, moment) for item in value]
        return sorted((item for item in items if item is not None), key=msgspec.json.encode) or None
    return _fold_string(str(value), moment) or None


def _fold_string(text: str, moment: float) -> str:
    if re.match(r"https?://\S+$", text.strip()):
        return fold_url(text)
    return "\n".join(folded for line in text.splitlines() if (folded := fold_line(line, moment)))
