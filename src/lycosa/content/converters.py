"""Values for the text of fields: days, numbers, prices and addresses out of what people wrote.

What cannot be read gives None: a wrong value is worse than none, and nothing here raises on content. Days are read by
the names of the months in the languages of the press.
"""

from __future__ import annotations

import datetime
import math
import re
import unicodedata
from collections.abc import Callable

from lycosa import urls

_MAX_CHARS = 2000
_FIRST_YEAR, _LAST_YEAR = 1000, 2199

#: Twelve months a line, in the order of the year; forms of one month are joined by a slash.
_MONTHS = """
en january february march april may june july august september/sept october november december
de januar/jänner/jaenner februar/feber märz/maerz april mai juni juli august september oktober november dezember
fr janvier février mars avril mai juin juillet août septembre octobre novembre décembre
es enero febrero marzo abril mayo junio julio agosto septiembre/setiembre octubre noviembre diciembre
it gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
pt janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
nl januari februari maart april mei juni juli augustus september oktober november december
sv januari februari mars april maj juni juli augusti september oktober november december
da januar februar marts april maj juni juli august september oktober november december
no januar februar mars april mai juni juli august september oktober november desember
is janúar febrúar mars apríl maí júní júlí ágúst september október nóvember desember
fi tammikuuta/tammikuu helmikuuta/helmikuu maaliskuuta/maaliskuu huhtikuuta/huhtikuu toukokuuta/toukokuu kesäkuuta/kesäkuu heinäkuuta/heinäkuu elokuuta/elokuu syyskuuta/syyskuu lokakuuta/lokakuu marraskuuta/marraskuu joulukuuta/joulukuu
et jaanuar veebruar märts aprill mai juuni juuli august september oktoober november detsember
lv janvāris/janvārī februāris/februārī marts/martā aprīlis/aprīlī maijs/maijā jūnijs/jūnijā jūlijs/jūlijā augusts/augustā septembris/septembrī oktobris/oktobrī novembris/novembrī decembris/decembrī
lt sausio/sausis vasario/vasaris kovo/kovas balandžio/balandis gegužės/gegužė birželio/birželis liepos/liepa rugpjūčio/rugpjūtis rugsėjo/rugsėjis spalio/spalis lapkričio/lapkritis gruodžio/gruodis
pl stycznia/styczeń lutego/luty marca/marzec kwietnia/kwiecień maja/maj czerwca/czerwiec lipca/lipiec sierpnia/sierpień września/wrzesień października/październik listopada/listopad grudnia/grudzień
cs ledna/leden února/únor března/březen dubna/duben května/květen června/červen července/červenec srpna/srpen září října/říjen listopadu/listopad prosince/prosinec
sk januára/január februára/február marca/marec apríla/apríl mája/máj júna/jún júla/júl augusta/august septembra/september októbra/október novembra/november decembra/december
hr siječnja/siječanj veljače/veljača ožujka/ožujak travnja/travanj svibnja/svibanj lipnja/lipanj srpnja/srpanj kolovoza/kolovoz rujna/rujan listopada/listopad studenoga/studenog/studeni prosinca/prosinac
sl januarja/januar februarja/februar marca/marec aprila/april maja/maj junija/junij julija/julij avgusta/avgust septembra/september oktobra/oktober novembra/november decembra/december
sr januar/јануар februar/фебруар mart/март april/април maj/мај jun/јун jul/јул avgust/август septembar/септембар oktobar/октобар novembar/новембар decembar/децембар
hu január február március április május június július augusztus szeptember október november december
ro ianuarie februarie martie aprilie mai iunie iulie august septembrie octombrie noiembrie decembrie
bg януари февруари март април май юни юли август септември октомври ноември декември
mk јануари февруари март април мај јуни јули август септември октомври ноември декември
ru января/январь февраля/февраль марта/март апреля/апрель мая/май июня/июнь июля/июль августа/август сентября/сентябрь октября/октябрь ноября/ноябрь декабря/декабрь
uk січня/січень лютого/лютий березня/березень квітня/квітень травня/травень червня/червень липня/липень серпня/серпень вересня/вересень жовтня/жовтень листопада/листопад грудня/грудень
be студзеня лютага сакавіка красавіка мая/траўня чэрвеня ліпеня жніўня верасня кастрычніка лістапада снежня
el ιανουαρίου/ιανουάριος/γενάρη φεβρουαρίου/φεβρουάριος/φλεβάρη μαρτίου/μάρτιος/μάρτη απριλίου/απρίλιος/απρίλη μαΐου/μάιος/μάη ιουνίου/ιούνιος/ιούνη ιουλίου/ιούλιος/ιούλη αυγούστου/αύγουστος σεπτεμβρίου/σεπτέμβριος/σεπτέμβρη οκτωβρίου/οκτώβριος/οκτώβρη νοεμβρίου/νοέμβριος/νοέμβρη δεκεμβρίου/δεκέμβριος/δεκέμβρη
tr ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık
az yanvar fevral mart aprel may iyun iyul avqust sentyabr oktyabr noyabr dekabr
ca gener febrer març abril maig juny juliol agost setembre octubre novembre desembre
eu urtarrilaren/urtarrila otsailaren/otsaila martxoaren/martxoa apirilaren/apirila maiatzaren/maiatza ekainaren/ekaina uztailaren/uztaila abuztuaren/abuztua irailaren/iraila urriaren/urria azaroaren/azaroa abenduaren/abendua
gl xaneiro febreiro marzo abril maio xuño xullo agosto setembro outubro novembro decembro
id januari februari maret april mei juni juli agustus september oktober november desember
ms januari februari mac april mei jun julai ogos september oktober november disember
sw januari februari machi aprili mei juni julai agosti septemba oktoba novemba desemba
ar يناير/جانفي فبراير/فيفري مارس أبريل/ابريل/أفريل مايو/ماي يونيو/يونية/جوان يوليو/يوليه/جويلية أغسطس/اغسطس/أوت سبتمبر أكتوبر/اكتوبر نوفمبر ديسمبر
ar كانون-الثاني شباط آذار نيسان أيار حزيران تموز آب أيلول تشرين-الأول تشرين-الثاني كانون-الأول
fa ژانویه فوریه مارس آوریل مه ژوئن ژوئیه اوت سپتامبر اکتبر نوامبر دسامبر
he ינואר/בינואר פברואר/בפברואר מרץ/במרץ אפריל/באפריל מאי/במאי יוני/ביוני יולי/ביולי אוגוסט/באוגוסט ספטמבר/בספטמבר אוקטובר/באוקטובר נובמבר/בנובמבר דצמבר/בדצמבר
hi जनवरी फरवरी/फ़रवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर/सितम्बर अक्टूबर/अक्तूबर नवंबर/नवम्बर दिसंबर/दिसम्बर
bn জানুয়ারি/জানুয়ারী ফেব্রুয়ারি/ফেব্রুয়ারী মার্চ এপ্রিল মে জুন জুলাই আগস্ট সেপ্টেম্বর অক্টোবর নভেম্বর ডিসেম্বর
ta ஜனவரி பிப்ரவரி மார்ச் ஏப்ரல் மே ஜூன் ஜூலை ஆகஸ்ட் செப்டம்பர் அக்டோபர் நவம்பர் டிசம்பர்
ur جنوری فروری مارچ اپریل مئی جون جولائی اگست ستمبر اکتوبر نومبر دسمبر
th มกราคม/ม.ค กุมภาพันธ์/ก.พ มีนาคม/มี.ค เมษายน/เม.ย พฤษภาคม/พ.ค มิถุนายน/มิ.ย กรกฎาคม/ก.ค สิงหาคม/ส.ค กันยายน/ก.ย ตุลาคม/ต.ค พฤศจิกายน/พ.ย ธันวาคม/ธ.ค
vi tháng-1 tháng-2 tháng-3 tháng-4 tháng-5 tháng-6 tháng-7 tháng-8 tháng-9 tháng-10 tháng-11 tháng-12
"""  # noqa: E501


def _fold(text: str) -> str:
    """Lower case without accents, digits of any script as ASCII; signs of Indic scripts stay."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(
        str(unicodedata.digit(c)) if c.isdigit() and not c.isascii() and unicodedata.digit(c, -1) >= 0 else c
        for c in plain
        if not 0x300 <= ord(c) <= 0x36F
    )
    return unicodedata.normalize("NFC", bare.replace("ı", "i"))


def _build_months() -> tuple[dict[str, int], dict[str, dict[str, int]]]:
    """Every name and its abbreviations, for all languages together and for each alone."""
    every: dict[str, int] = {}
    each: dict[str, dict[str, int]] = {}
    short: dict[str, set[int]] = {}
    for line in _MONTHS.strip().splitlines():
        language, *months = line.split()
        own = each.setdefault(language, {})
        for number, forms in enumerate(months, 1):
            for form in forms.split("/"):
                name = _join(_fold(form.replace("-", " ")))
                every.setdefault(name, number)
                own.setdefault(name, number)
                for size in (3, 4, 5):
                    if len(name) > size and "_" not in name:
                        short.setdefault(name[:size], set()).add(number)
                        own.setdefault(name[:size], number)
    for name, numbers in short.items():
        if len(numbers) == 1:
            every.setdefault(name, next(iter(numbers)))
    for name, number in (("jan", 1), ("mar", 3), ("mai", 5), ("jun", 6), ("jul", 7), ("nov", 11), ("dic", 12)):
        every.setdefault(name, number)
    return every, each


def _join(name: str) -> str:
    """A name of several words, or with dots, as one word."""
    return name.replace(" ", "_").replace(".", "_")


_EVERY, _EACH = _build_months()
#: Names that are no single word, the longest first.
_JOINED = sorted(
    (
        (_fold(form.replace("-", " ")), _join(_fold(form.replace("-", " "))))
        for form in re.split(r"[\s/]+", _MONTHS)
        if "-" in form or "." in form
    ),
    key=lambda pair: -len(pair[0]),
)
_YEAR = r"(\d{4})(?!\d)"
_DAY = r"(?<!\d)(\d{1,2})"
_ISO = re.compile(r"(?<!\d)(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d)")
_COMPACT = re.compile(r"(?<![\d.,/-])((?:19|20)\d\d)(\d\d)(\d\d)(?!\d)")
_CJK = re.compile(r"(?<!\d)(\d{4})\s*[年년]\s*(\d{1,2})\s*[月월]\s*(\d{1,2})\s*[日일]?")
_NUMERIC = re.compile(r"(?<![\d.])(\d{1,2})\s?([-/.])\s?(\d{1,2})\s?\2\s?(\d{4}|\d{2})(?!\d)")
_NAME = r"([^\s\d.,/;:()|-]{2,20}(?:_\d+)?)"
_GLUE = r"[\s.,/-]{0,4}"
_DAY_FIRST = re.compile(
    rf"{_DAY}(?:st|nd|rd|th|er|o|a|°|η|ης|го|-го)?{_GLUE}(?:(?:de|del|of)\s{{1,2}}|d['’]\s{{0,2}})?{_NAME}"
    rf"{_GLUE}(?:(?:de|del|do|of|nam)\s{{1,2}})?{_YEAR}"
)
_MONTH_FIRST = re.compile(rf"{_NAME}[\s.-]{{1,3}}(\d{{1,2}})(?:st|nd|rd|th)?[\s.,/-]{{1,4}}{_YEAR}")
_YEAR_FIRST = re.compile(rf"(?<!\d)(\d{{4}}){_GLUE}(?:(?:m|g|ko)\b)?{_GLUE}{_NAME}\s{{0,2}}(\d{{1,2}})(?!\d)")
#: The same without a year.
_DAY_AND_MONTH = re.compile(
    r"(?<![\d.,])(?P<day>\d{1,2})(?:st|nd|rd|th|er|o|°)?[\s.]{1,2}(?:(?:de|del|of)\s)?(?P<name>[^\s\d.,/;:()|-]{3,20})"
)
_MONTH_AND_DAY = re.compile(
    r"(?<![^\W\d_])(?P<name>[^\s\d.,/;:()|-]{3,20})[\s.]{1,2}(?P<day>\d{1,2})(?:st|nd|rd|th)?(?![\d.,]\d|\d)"
)

#: Years of emperors: 令和6年5月1日, of which the first is also 元年.
_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925}
_ERA = re.compile(r"(令和|平成|昭和)\s*(元|\d{1,2})\s*年\s*(\d{1,2})\s*月\s*(\d{1,2})\s*日")
#: The months of the Persian calendar, whose year begins in March.
_PERSIAN = "فروردین اردیبهشت خرداد تیر مرداد شهریور مهر آبان آذر دی بهمن اسفند"
_PERSIAN_MONTHS = {_fold(name): number for number, name in enumerate(_PERSIAN.split(), 1)}
_PERSIAN_LANGUAGES = frozenset({"fa", "ps"})
_PERSIAN_YEARS = range(1300, 1500)
_DAY_FIRST_ENGLISH = ("en-gb", "en-au", "en-nz", "en-ie", "en-in", "en-za", "en-sg", "en-ng", "en-ke")


def find_date(text: str, *, language: str = "") -> datetime.date | None:
    """The first day that a text names, in figures or in the words of any language; None where there is none.

    3/4/2020 is in March where the language is English and the parts are divided by slashes, else in April.
    """
    text = fold_text(text[:_MAX_CHARS])
    spoken = language.lower()[:2]
    american = spoken == "en" and language.lower()[:5] not in _DAY_FIRST_ENGLISH
    first, at = None, len(text)
    for pattern, read in _READERS:
        for match in pattern.finditer(text, 0, at):
            day = read(match, spoken, american)
            if day is not None:
                first, at = day, match.start()
                break
    return first


def fold_text(text: str) -> str:
    """A text in the form in which dates are found: lower case, without accents, months of several words as one."""
    if text.isascii():
        return text.lower()
    text = _fold(text)
    for name, joined in _JOINED:
        text = text.replace(name, joined)
    return text


def list_days(text: str, year: int) -> list[tuple[int, int, frozenset[datetime.date]]]:
    """Every day that a folded text names: where it begins and ends, and what it may be, as 3/4/2020 is two days.

    A day without a year is one of `year`, the year before and the year after.
    """
    found: dict[tuple[int, int], set[datetime.date]] = {}
    for pattern, read in _READERS:
        for match in pattern.finditer(text):
            days = {day for american in (False, True) if (day := read(match, "", american)) is not None}
            if days:
                found.setdefault(match.span(), set()).update(days)
    for pattern in (_DAY_AND_MONTH, _MONTH_AND_DAY):
        for match in pattern.finditer(text):
            month = _month(match["name"], "")
            days = {
                day for y in (year - 1, year, year + 1) if (day := make_date(y, month, int(match["day"]))) is not None
            }
            if month and days:
                found.setdefault(match.span(), set()).update(days)
    spans: list[tuple[int, int, frozenset[datetime.date]]] = []
    for (start, end), days in sorted(found.items(), key=lambda item: (item[0][0], -item[0][1])):
        if not spans or start >= spans[-1][1]:
            spans.append((start, end, frozenset(days)))
    return spans


def make_date(year: int, month: int, day: int) -> datetime.date | None:
    """A day, or None where there is none such or nobody would mean it; years of the Thai calendar are taken over."""
    if 2400 <= year <= 2600:
        year -= 543
    if not _FIRST_YEAR <= year <= _LAST_YEAR:
        return None
    try:
        return datetime.date(year, month, day)
    except ValueError:
        return None


def make_persian_date(year: int, month: int, day: int) -> datetime.date | None:
    """A day of the Persian calendar, by its rule of 33 years, which holds from 1799 to 2256."""
    if not (1 <= month <= 12 and 1 <= day <= (31 if month <= 6 else 30)):
        return None
    leaps = 8 * ((year - 979) // 33) + ((year - 979) % 33 + 3) // 4
    passed = 365 * (year - 979) + leaps + sum(31 if each <= 6 else 30 for each in range(1, month)) + day - 1
    return datetime.date(1600, 3, 20) + datetime.timedelta(days=passed)


def _read_era(m: re.Match[str], language: str, american: bool) -> datetime.date | None:
    year = 1 if m[2] == "元" else int(m[2])
    return make_date(_ERAS[m[1]] + year, int(m[3]), int(m[4]))


def _month(name: str, language: str) -> int:
    return _EACH.get(language, {}).get(name) or _EVERY.get(name, 0)


_Reader = Callable[[re.Match[str], str, bool], datetime.date | None]


def _reader(year: int, month: int, day: int) -> _Reader:
    """What reads a day from these groups of a match; a month may be a name."""

    def read(m: re.Match[str], language: str, american: bool) -> datetime.date | None:
        name = m[month]
        if int(m[year]) in _PERSIAN_YEARS and (name in _PERSIAN_MONTHS or language in _PERSIAN_LANGUAGES):
            number = int(name) if name.isdecimal() else _PERSIAN_MONTHS.get(name, 0)
            return make_persian_date(int(m[year]), number, int(m[day]))
        number = int(name) if name.isdecimal() else _month(name, language)
        return make_date(int(m[year]), number, int(m[day]))

    return read


def _read_numeric(m: re.Match[str], language: str, american: bool) -> datetime.date | None:
    first, second, year = int(m[1]), int(m[3]), int(m[4])
    if len(m[4]) == 2:
        year += 2000 if year < 70 else 1900
    american = american and m[2] == "/"
    day = make_date(year, first, second) if american else make_date(year, second, first)
    return day or (make_date(year, second, first) if american else make_date(year, first, second))


_READERS: tuple[tuple[re.Pattern[str], _Reader], ...] = (
    (_ERA, _read_era),
    (_ISO, _reader(1, 3, 4)),
    (_CJK, _reader(1, 2, 3)),
    (_COMPACT, _reader(1, 2, 3)),
    (_NUMERIC, _read_numeric),
    (_DAY_FIRST, _reader(3, 2, 1)),
    (_MONTH_FIRST, _reader(3, 1, 2)),
    (_YEAR_FIRST, _reader(1, 2, 3)),
)


#: What a text can be converted to.
KINDS = ("text", "number", "integer", "price", "date", "url")
Value = str | int | float | dict[str, str | float]

_MAX_DIGITS = 30
_NUMBER = re.compile(
    r"(?<![\d.,])([-+\u2212]?)(?=[\d.,]*\d)((?:\d{1,3}(?:[ \u00a0\u202f'’]\d{3})+|[\d.,']+\d|\d)(?:[.,]\d+)?)"
)
_EXPONENT = re.compile(r"[eE][-+]?\d{1,3}(?![\w])")
#: Signs and words of currencies; the first that stands beside the amount counts, longer ones first.
_CURRENCIES = {
    "US$": "USD", "C$": "CAD", "CA$": "CAD", "A$": "AUD", "AU$": "AUD", "NZ$": "NZD", "HK$": "HKD", "S$": "SGD",
    "NT$": "TWD", "R$": "BRL", "MX$": "MXN", "$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "￥": "JPY", "円": "JPY",
    "元": "CNY", "₹": "INR", "₽": "RUB", "₩": "KRW", "원": "KRW", "₺": "TRY", "₴": "UAH", "₪": "ILS", "฿": "THB",
    "₫": "VND", "₦": "NGN", "₱": "PHP", "₸": "KZT", "₾": "GEL", "zł": "PLN", "Kč": "CZK", "Ft": "HUF", "лв": "BGN",
    "руб": "RUB", "грн": "UAH", "lei": "RON", "TL": "TRY", "Rs": "INR", "Rp": "IDR", "RM": "MYR", "kr": "SEK",
    "Fr.": "CHF", "SFr": "CHF", "euros": "EUR", "euro": "EUR", "EUR": "EUR", "pounds": "GBP", "dollars": "USD",
}  # fmt: skip
_CODES = (
    "AED ARS AUD BDT BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HRK HUF IDR ILS INR ISK JPY KES KRW KZT MAD"
    " MXN MYR NGN NOK NZD PEN PHP PKR PLN QAR RON RSD RUB SAR SEK SGD THB TND TRY TWD UAH USD UYU VND ZAR"
)
_CURRENCY = re.compile(
    r"\b(?:" + "|".join(_CODES.split()) + r")\b|"
    + "|".join(
        ("" if not sign[0].isalpha() else r"(?<![^\W\d_])")
        + re.escape(sign)
        + ("" if not sign[-1].isalpha() else r"(?![^\W\d_])")
        for sign in sorted(_CURRENCIES, key=len, reverse=True)
    )
)  # fmt: skip
#: Currencies that have no smaller coin: a point in their amounts groups thousands.
_WHOLE = frozenset({"JPY", "KRW", "VND", "CLP", "IDR"})


def convert(text: str, kind: str, *, language: str = "", base: str = "") -> Value | None:
    """The value that a text states, as one of `KINDS`; None where it states none.

    A date is the day in ISO form, a price `{"amount": …, "currency": …}` with the currency empty where it is not
    written, an address is resolved against `base`.
    """
    return _CONVERTERS[kind](text[:_MAX_CHARS], language, base)


def to_number(text: str, *, whole: bool = False, language: str = "") -> float | None:
    """The first number in a text, with a decimal point or comma and any grouping; `whole` numbers have no decimals.

    In English, 1.234 is a little more than one; elsewhere, and with a comma, it is more than a thousand.
    """
    match = _NUMBER.search(_plain_digits(text))
    if match is None:
        return None
    digits = re.sub(r"[ \u00a0\u202f'’]", "", match[2])
    if len(digits) > _MAX_DIGITS:
        return None
    number = float(_unify(digits, whole=whole, english=language.lower().startswith("en")))
    exponent = _EXPONENT.match(match.string, match.end())
    if exponent is not None:
        number = float(f"{number!r}{exponent[0]}") if "e" not in repr(number) else math.inf
    if not math.isfinite(number):
        return None
    return -number if match[1] in ("-", "\u2212") else number


def _unify(digits: str, *, whole: bool, english: bool) -> str:
    """Write a number with a decimal point and without groups."""
    marks = [c for c in digits if c in ".,"]
    if not marks:
        return digits
    last = max(digits.rfind("."), digits.rfind(","))
    decimals = len(digits) - last - 1
    if len(set(marks)) == 2:
        # The last of two kinds is the decimal one, and stands once.
        is_decimal = marks.count(digits[last]) == 1
    elif len(marks) > 1:
        is_decimal = False
    else:
        # One mark before three digits groups them, unless nothing or a zero stands before it.
        is_decimal = decimals != 3 or digits[:last] in ("", "0") or len(digits[:last]) > 3
        is_decimal = is_decimal or (english and marks == ["."])
    if whole and decimals == 3:
        is_decimal = False
    head, tail = (digits[:last], digits[last + 1 :]) if is_decimal else (digits, "")
    return f"{re.sub('[.,]', '', head) or '0'}.{tail or '0'}"


def _plain_digits(text: str) -> str:
    """Digits of other scripts as ASCII."""
    if text.isascii():
        return text
    return "".join(str(int(c)) if c.isdecimal() and not c.isascii() else c for c in text).translate(_ARABIC_MARKS)


_ARABIC_MARKS = str.maketrans({"٫": ".", "٬": ",", "．": ".", "，": ","})


def _read_text(text: str, language: str, base: str) -> str | None:
    return " ".join(text.split()) or None


def _read_number(text: str, language: str, base: str) -> float | None:
    return to_number(text, language=language)


def _read_integer(text: str, language: str, base: str) -> int | None:
    number = to_number(text, whole=True, language=language)
    return None if number is None or not number.is_integer() else int(number)


def _read_price(text: str, language: str, base: str) -> dict[str, str | float] | None:
    found = _CURRENCY.search(text)
    currency = "" if found is None else _CURRENCIES.get(found[0], found[0])
    # The amount stands beside its currency: "2 for 5 €" costs five.
    if found is not None:
        after = text[found.end() : found.end() + 40]
        before = text[max(0, found.start() - 40) : found.start()]
        is_before = re.match(r"[\s.:]*[\d.,]*\d", after) is not None
        amount = _next_number(after, currency, language) if is_before else _last_number(before, currency, language)
        if amount is None:
            amount = to_number(text, whole=currency in _WHOLE, language=language)
    else:
        amount = to_number(text, language=language)
    return None if amount is None or amount < 0 else {"amount": amount, "currency": currency}


def _next_number(text: str, currency: str, language: str) -> float | None:
    return to_number(re.sub(r"^\.?[\s:]+", "", text), whole=currency in _WHOLE, language=language)


def _last_number(text: str, currency: str, language: str) -> float | None:
    found = None
    for match in _NUMBER.finditer(_plain_digits(text)):
        found = match[0]
    return None if found is None else to_number(found, whole=currency in _WHOLE, language=language)


def _read_date(text: str, language: str, base: str) -> str | None:
    day = find_date(text, language=language)
    return None if day is None else day.isoformat()


def _read_url(text: str, language: str, base: str) -> str | None:
    text = text.strip()
    if not text or any(c.isspace() for c in text):
        return None
    return urls.normalise(text, base) if base else urls.normalise(text)


_CONVERTERS: dict[str, Callable[[str, str, str], Value | None]] = {
    "text": _read_text,
    "number": _read_number,
    "integer": _read_integer,
    "price": _read_price,
    "date": _read_date,
    "url": _read_url,
}
