"""Noise in texts: what differs between two copies of a page although it says the same.

Each class of noise is one step: a line goes in, and comes out with the noise replaced by a mark, so that two lines are
equal if only noise tells them apart. What counts as a date of the day depends on the moment at which the copy was made:
a date that moves with the clock is noise, the date of a concert is not.
"""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from lycosa import urls
from lycosa.config.settings import UrlSettings
from lycosa.missions.records.calendar_words import fold_text, list_days

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
_TOKEN = re.compile(
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
        text = _TOKEN.sub(_ID, text)
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
