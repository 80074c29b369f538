"""Language codes: the two letters of ISO 639-1, however a service declares a language, and the three of ISO 639-2/B."""

from __future__ import annotations

#: Two letters (ISO 639-1) with the three of ISO 639-2, bibliographic first where there are two.
_CODES = """
    en:eng es:spa fr:fre:fra de:ger:deu it:ita pt:por nl:dut:nld cs:cze:ces el:gre:ell ca:cat pl:pol sv:swe da:dan
    fi:fin no:nor:nob:nno hu:hun sk:slo:slk sl:slv ro:rum:ron bg:bul hr:hrv et:est lv:lav lt:lit ga:gle mt:mlt
    eu:baq:eus gl:glg is:ice:isl tr:tur ru:rus uk:ukr ja:jpn zh:chi:zho ko:kor ar:ara he:heb sr:srp bs:bos mk:mac:mkd
    sq:alb:sqi hy:arm:hye ka:geo:kat fa:per:fas hi:hin vi:vie th:tha id:ind ms:may:msa cy:wel:cym lb:ltz be:bel
"""
_THREE: dict[str, str] = {}
_TWO: dict[str, str] = {}
for _line in _CODES.split():
    _two, *_three = _line.split(":")
    _THREE[_two] = _three[0]
    _TWO |= {_two: _two} | dict.fromkeys(_three, _two)


def name_language(declared: str) -> str:
    """The two letters of a language declared as eng, en-GB, ES, spa…; "" for what is not known."""
    return _TWO.get(declared.strip().lower().replace("_", "-").partition("-")[0], "")


def write_language(code: str) -> str:
    """Its three letters, as metadata records write them; "" for what is not known."""
    return _THREE.get(code, "")
