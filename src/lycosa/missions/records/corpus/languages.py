"""The language of a text: what the page declares, corrected where the text is clearly in another one."""

from __future__ import annotations

from turbohtml.detect import LanguageDetection, detect_language

#: Fewer characters do not tell.
_LEAST_CHARS = 100
_MOST_CHARS = 20_000
_SURE = LanguageDetection(threshold=0.9)
#: The codes of ISO 639-1 for those of ISO 639-3 that are detected.
_CODES = (
    "afr af aka ak amh am ara ar aze az bel be ben bn bul bg cat ca ces cs cmn zh cym cy dan da deu de ell el eng en"
    " epo eo est et fin fi fra fr guj gu heb he hin hi hrv hr hun hu hye hy ind id ita it jav jv jpn ja kan kn kat ka"
    " khm km kor ko lat la lav lv lit lt mal ml mar mr mkd mk mya my nep ne nld nl nob no ori or pan pa pes fa pol pl"
    " por pt ron ro rus ru sin si slk sk slv sl sna sn spa es srp sr swe sv tam ta tel te tgl tl tha th tuk tk tur tr"
    " ukr uk urd ur uzb uz vie vi yid yi zul zu"
)
_SHORT = dict(zip(_CODES.split()[::2], _CODES.split()[1::2], strict=True))
_DECLARED = {"nb": "no", "iw": "he", "in": "id", "ji": "yi", "cmn": "zh", **_SHORT}


def find_language(text: str, declared: str) -> str:
    """The code of the language, such as `es`; empty where nothing tells.

    A declared language that cannot be detected, such as Galician, is believed.
    """
    said = declared.strip().lower().replace("_", "-").partition("-")[0]
    said = _DECLARED.get(said, said if said.isalpha() and len(said) in (2, 3) else "")
    if len(text) < _LEAST_CHARS or (said and said not in _SHORT.values()):
        return said
    return _SHORT.get(detect_language(text[:_MOST_CHARS], _SURE).language or "", said)
