"""Term extraction: the ten words that say what a text is about, in tens of microseconds.

Symbols are dropped, letters made small, stop words of the page's language left out. The other words are weighted by
(occurrences / distinct words) × total words, which within one page is the order of their occurrences.

Stop words say nothing of a page's topic. They serve twice: they are no terms, and they reveal the language of a page
that does not declare it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import itemgetter

from msgspec import Struct

from lycosa.text.fold import fold

_WORDS = {
    "en": """
        the of and to in is it that for on with as was are be this by from or an at not have has had but they you we
        his her their its which who whom whose will would can could should may might must shall do does did done been
        being were all any some no nor so if then than when where while how what why there here these those also more
        most much many other such only own same both each few into over under again further about between through
        during before after above below out off up down because until against very just our your my me him she he them
        us am one two new use used using click page home read see get go don isn doesn""",
    "es": """
        de la que el en y a los del se las por un para con no una su al lo como más pero sus le ya o este sí porque
        esta entre cuando muy sin sobre también me hasta hay donde quien desde todo nos durante todos uno les ni contra
        otros ese eso ante ellos e esto mí antes algunos qué unos yo otro otras otra él tanto esa estos mucho quienes
        nada muchos cual poco ella estar estas algunas algo nosotros es son fue ha han ser será está están era eran
        sido tiene tienen puede pueden así según cada aquí tras ser hacer si tu te mi más ver inicio página""",
    "fr": """
        de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce il sont la avec ou son
        aux cette mais nous comme sa ces ses elle ont être fait leur leurs vous je on été était y si d l qu n s c j
        entre sans tout tous toute toutes même aussi bien peut sous dont où notre votre nos vos ainsi afin lors après
        avant depuis chez très encore autre autres celui celle ceux quand donc alors ici ils elles lui eux moi""",
    "de": """
        der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er hat
        dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber vor zur bis
        mehr durch man sein wurde sei wenn kann können sowie ihre ihrer seine hier alle diese dieser dieses diesem
        diesen unter wir ich du ihr uns was wo wer doch dann schon zwischen gegen ohne seit beim ins vom keine kein
        eines sehr jedoch bereits weitere damit dabei dazu da ab mich mir""",
    "it": """
        di e il la che in un a per è una con del da non sono della le si i come al dei nel gli alla più anche su lo ma
        delle ha o dalla nella dal degli tra ai questo questa questi queste essere se ci cui suo sua suoi loro fra
        quando quello quella ogni dopo prima molto tutto tutti tutte dove stato stata stati era erano hanno può
        possono sulla sul nelle nei negli agli alle dai dalle sui sulle ed ad chi mi ti noi voi lui lei io sia senza
        fino così qui già ancora altri altre altro""",
    "pt": """
        de a o que e do da em um para é com não uma os no se na por mais as dos como mas foi ao ele das tem à seu sua
        ou ser quando muito há nos já está eu também só pelo pela até isso ela entre era depois sem mesmo aos ter seus
        quem nas me esse eles estão você tinha foram essa num nem suas meu às minha têm numa pelos elas havia seja
        qual será nós lhe deles essas esses pelas este esta estes estas dele são pode podem sobre cada onde""",
    "ca": """
        de la i a el que en per les del els un amb una al es no és d l s més dels com o són ha les pel seu seva aquest
        aquesta aquests aquestes també entre sobre ser però on tots totes tot tota fins des han va ja molt quan sense
        altres altre cada seus seves pels als així hi ho ni si qual quals durant segons aquí""",
    "gl": """
        de a o que e do da en un para é con non unha os no se na por máis as dos como mais ao das ten á seu súa ou ser
        cando moi hai nos xa está tamén só polo pola ata iso ela entre era despois sen mesmo aos ter seus nas este esta
        estes estas pode poden sobre cada onde foi foron son dun dunha nun nunha pero""",
    "eu": """
        eta da ez bat du dira dute izan ere edo baina den diren dago daude zen ziren beste hau hori hauek horiek egin
        bere beren bezala arte gabe baino dela dituen dituzte duen dugu gure zure guztiak guzti oso orain hemen zer
        zein nola non noiz behar ditu zuen izango""",
    "nl": """
        de van en het een in is dat op te zijn voor met die niet aan er om ook als dan maar bij of uit door naar heeft
        werd wordt worden hun nog tot over zich deze dit was hij zij ze wij we je ik had hebben kan kunnen meer geen
        wel al veel zo onder tegen na tussen zonder wat waar wie hoe alle andere haar onze u mijn moet moeten zal
        zullen zou deze daar hier toen omdat elk elke binnen""",
    "da": """
        og i at det er en til på som den de for med af der ikke et har vi kan sig fra var men jeg eller om ved han blev
        også efter så over når hvor hvad hvem nu mod under skal vil kun mere end alle denne dette disse deres sin sit
        sine os dem være været bliver blive andre mellem uden mange meget her""",
    "sv": """
        och i att det som en på är av för med till den har de inte om ett han men var jag sig från vi så kan när år
        eller också efter vid ut där nu över under skulle än mot alla andra denna detta dessa deras sin sitt sina oss
        dem vara varit blir bli ska hade mellan utan många mycket här hur vad vem samt genom finns""",
    "no": """
        og i det er en til på som for med av den at de ikke et har vi kan seg fra var men jeg eller om ved han ble også
        etter så over når hvor hva hvem nå mot under skal vil bare mer enn alle denne dette disse deres sin sitt sine
        oss dem være vært blir bli andre mellom uten mange mye her""",
    "fi": """
        ja on ei se että oli en hän mutta ovat joka myös kun niin tai kuin sen mitä jos ole voi olla sekä mukaan hänen
        nyt vain ne sitä tämä tämän nämä niiden jotka jonka joita jossa missä miten koko kaikki ollut olisi eivät
        vielä jo eri muun muut muita kanssa ennen jälkeen välillä sillä siitä tässä""",
    "cs": """
        a se v na je že o s z do i to k ve pro za by ale si po jako jsou od které který která nebo u tak jen být jeho
        její jejich bude byl byla bylo byly už při před podle až též také pod mezi není kdy kde co kdo jak tento tato
        toto této tyto těchto tím tom více než však proto má mají může mohou nad bez další jiné ze ke své svůj
        přes jsem jsme""",
    "sk": """
        a sa v na je že o s z do i to k vo pre za by ale si po ako sú od ktoré ktorý ktorá alebo u tak len byť jeho jej
        ich bude bol bola bolo boli už pri pred podľa až aj tiež pod medzi nie kedy kde čo kto tento táto toto tejto
        tieto týchto tým tom viac než však preto má majú môže môžu nad bez ďalšie iné zo ku svoje cez sme som""",
    "pl": """
        w i na z się do nie jest to że o a po od jak za przez dla oraz są ale przy tym co tak który która które których
        lub ich jego jej być był była było były już także może można tylko ten ta te tego tej tych ze pod przed nad
        między bez czy gdy gdzie jako więcej niż jednak również ma mają będzie we u sobie swoje inne roku
        każdy wszystkie""",
    "sl": """
        in je v na se za da so ne z ki s pri po tudi kot od o do bi ali pa ter lahko iz bo ni sem smo ste bil bila bilo
        bili jih njegov njihov ta to te tega tem teh med pred pod nad brez kako kje kdaj kdo kaj če ker vse več manj
        že še samo zelo drugi druge""",
    "hr": """
        i je u na se za da su ne s od koji koja koje kao o do bi ili pa te iz će nije sam smo ste bio bila bilo bili
        njihov njegov ovaj ova ovo ove tog tom tim među pred pod nad bez kako gdje kada tko što ako jer sve više manje
        već još samo vrlo drugi druge kroz prema može mogu""",
    "hu": """
        a az és hogy nem is egy ez meg csak de már ha volt mint vagy el még van ki azt fel lesz minden sem amely
        amelyek aki akik ami ezt ezek azok után között alatt által szerint illetve valamint kell lehet nincs voltak
        vannak majd itt ott mi ő ők így úgy több más saját""",
    "ro": """
        de și în la a cu pe care nu din că se un o pentru este sunt mai prin au al ale ca sau fi dar după ce cum când
        unde acest această acești aceste lor lui ei său sa sale între fost era erau fără până către sub peste foarte
        tot toate toți fiecare alte altor poate pot dintre asupra""",
    "bg": """
        и на в за се от да е с са по не че като до при или към които който която което ще има този тази това тези той
        тя те ги му им си но след преди между без над под само още може могат както където кога какво кой където със
        във бе бил била били бъде всички всяка други""",
    "el": """
        και το να του η της με που την από για είναι τα των στο ο στην σε τη δεν τον θα στη οι μας στα τους ότι τις ή
        αυτό ως μια κατά έχει ένα μου ήταν αλλά όπως αν όταν μετά πριν μεταξύ χωρίς προς παρά μόνο πολύ πιο κάθε όλα
        όλες όλοι αυτή αυτά αυτές αυτός έχουν μπορεί στον στους στις ένας μία καθώς επίσης εδώ εκεί τι πώς πού""",
    "tr": """
        ve bir bu da de için ile olarak çok daha olan en gibi kadar ne ya o var yok mi mı ama ki sonra önce her şey
        değil ise veya göre tarafından olduğu edilen diğer bütün tüm arasında üzerinde altında içinde hem nasıl neden
        nerede kim ben sen biz siz onlar""",
    "ru": """
        и в не на я что он с как это по но они к у же вы за бы так все из от для о до или при если только его её их был
        была было были быть есть уже где когда кто чем без под над между через после перед также который которая
        которое которые этот эта эти этого того тем том может могут будет наш ваш мы она более со во""",
}

#: The stop words of each language, as UTF-8.
STOP_WORDS = {language: frozenset(words.encode().split()) for language, words in _WORDS.items()}
#: The languages in which a word is a stop word.
LANGUAGES_OF: dict[bytes, tuple[str, ...]] = {}
for _language, _words in STOP_WORDS.items():
    for _word in _words:
        LANGUAGES_OF[_word] = (*LANGUAGES_OF.get(_word, ()), _language)


#: How many terms of a page count.
BEST = 10
#: Characters that are looked at, which are nearly every page whole; a word costs 0.15 µs.
MAX_CHARS = 20_000
#: The most frequent words, whose stop words reveal the language.
_BALLOT = 24
#: A declared language is believed unless another one has so many times its votes: templates say "en" everywhere.
_OUTVOTED = 3
#: As many votes as make a language sure enough.
_ENOUGH_VOTES = 3
_MAX_WORD = 60

#: ASCII letters small, digits as they are, bytes of other letters as they are, all else a blank.
_ASCII = bytes(ord(chr(byte).lower()) if chr(byte).isalnum() else 32 for byte in range(128))
_TABLE = _ASCII + bytes(range(128, 256))
#: The same for Latin-1, in which 128 to 191 are symbols too.
_LATIN = _ASCII + b" " * 64 + bytes(ord(chr(byte).lower()) for byte in range(192, 256))
_LATIN_SYMBOLS = re.compile(rb"\xc2[\x80-\xbf]")  # U+0080 to U+00BF: « » ¿ · no-break space
_SYMBOLS = re.compile(rb"\xe2[\x80-\x9f].", re.DOTALL)  # U+2000 to U+27FF: dashes, quotes, arrows, bullets
_NONE: frozenset[bytes] = frozenset()
_occurrences = itemgetter(1)


class Term(Struct, frozen=True, gc=False):
    """A word that a text is about."""

    word: str
    count: int
    score: float


class Terms(Struct, frozen=True):
    """The best words of a text."""

    language: str  # two letters; empty when neither the page nor its stop words reveal it
    best: tuple[tuple[bytes, int], ...]  # words as UTF-8 with their occurrences, the most frequent first
    total: int  # words of the text, without stop words
    distinct: int

    def scored(self) -> list[Term]:
        """The best words with their scores."""
        factor = self.total / self.distinct if self.distinct else 0.0
        return [Term(word.decode("utf-8", "replace"), count, count * factor) for word, count in self.best]


def split_words(text: str) -> list[bytes]:
    """The words of a text in its order, small, as UTF-8: three times as fast as a regular expression over letters."""
    return set_apart(text).split()


def set_apart(text: str) -> bytes:
    """The words of a text in its order, small, as UTF-8, with blanks in place of all that stands between them."""
    try:
        latin = text.encode("latin-1").translate(_LATIN)
    except UnicodeEncodeError:
        pass
    else:
        return latin if latin.isascii() else latin.decode("latin-1").encode()
    data = text.lower().encode("utf-8", "ignore")
    if b"\xc2" in data:
        data = _LATIN_SYMBOLS.sub(b" ", data)
    if b"\xe2" in data:
        data = _SYMBOLS.sub(b" ", data)
    return data.translate(_TABLE)


def extract(text: str, language: str = "") -> Terms:
    """The ten best terms of a text; `language` is what the page declares (es, en-GB), which may be empty or wrong."""
    words = split_words(text[:MAX_CHARS])
    counts = Counter(words)
    often = [pair for pair in counts.items() if pair[1] > 1]
    often.sort(key=_occurrences, reverse=True)
    if len(often) < _BALLOT:
        often += [pair for pair in counts.items() if pair[1] == 1]
    code = _choose_language(often[:_BALLOT], primary(language))
    stops = STOP_WORDS.get(code, _NONE)
    best: list[tuple[bytes, int]] = []
    for pair in often:
        word = pair[0]
        if word not in stops and 1 < len(word) <= _MAX_WORD and not word.isdigit():
            best.append(pair)
            if len(best) == BEST:
                break
    silent = [counts[word] for word in stops if word in counts]
    return Terms(code, tuple(best), len(words) - sum(silent), len(counts) - len(silent))


def stop_words(language: str) -> frozenset[bytes]:
    """The stop words of a language; none if it is not known."""
    return STOP_WORDS.get(language, _NONE)


def primary(language: str) -> str:
    """The language of a tag, without region and script: es for es-MX, ES_es."""
    return language[:16].replace("_", "-").partition("-")[0].strip().lower() if language else ""


def _choose_language(ballot: Sequence[tuple[bytes, int]], declared: str) -> str:
    """The declared language, unless the stop words of the page vote clearly for another."""
    if declared in STOP_WORDS and _agrees(ballot, STOP_WORDS[declared]):
        return declared
    votes: dict[str, int] = {}
    for word, count in ballot:
        for language in LANGUAGES_OF.get(word, ()):
            votes[language] = votes.get(language, 0) + count
    if not votes:
        return declared
    winner = max(votes, key=votes.__getitem__)
    most = votes[winner]
    if declared in STOP_WORDS:
        return winner if most >= _ENOUGH_VOTES and most > _OUTVOTED * votes.get(declared, 0) else declared
    alone = sum(count == most for count in votes.values()) == 1  # "a" and "to" are words of many languages
    return winner if most >= _ENOUGH_VOTES and alone and not declared else declared


def _agrees(ballot: Iterable[tuple[bytes, int]], stops: frozenset[bytes]) -> bool:
    """Whether the other votes together could not outvote a language; mostly so, and cheaper than a count of each."""
    own = others = 0
    for word, count in ballot:
        if word in stops:
            own += count
        elif word in LANGUAGES_OF:
            others += count
    return own + others <= _OUTVOTED * own


@lru_cache(maxsize=20_000)
def stem(word: bytes) -> bytes:
    """The form under which a word is looked up: no accents, and plurals in -s and -es as their singular.

    It knows no language: "rivers", "ríos" and "cities" are "river", "rio" and "citi", as are their singulars.
    """
    text = fold(word.decode("utf-8", "replace"))
    if len(text) > 3 and text[-1] == "s" and text[-2] not in "sui":
        text = text[:-1]
    if len(text) > 3 and text[-1] == "e":
        text = text[:-1]
    if len(text) > 3 and text[-1] == "y":
        text = text[:-1] + "i"
    return text.encode("utf-8", "ignore")


def content_words(text: str, stops: frozenset[bytes]) -> list[bytes]:
    """The words of a short text that are no stop words, numbers or single letters."""
    return [
        word for word in split_words(text) if word not in stops and 1 < len(word) <= _MAX_WORD and not word.isdigit()
    ]
