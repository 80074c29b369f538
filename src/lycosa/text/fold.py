"""Folding: letters as they are compared, small and without accents, so that "Łódź" is "lodz" and "Weiß" is "weiss".

There is this one folding for everything that people search, filter and compare. Kana and Indic scripts keep their
marks: those are letters, no accents.
"""

from __future__ import annotations

import re
import unicodedata

#: Letters that Unicode takes for letters of their own, and what they are written as where they are missing.
_OWN_LETTERS = str.maketrans({
    "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ħ": "h", "ŧ": "t", "ı": "i", "ȷ": "j",
    "ƶ": "z", "ŋ": "n", "ĸ": "k",
})  # fmt: skip
#: What folding in place leaves as one letter.
_PAIRS = {"ss": "ß", "ae": "æ", "oe": "œ", "th": "þ"}
#: Combining classes of marks that are a part of a letter: nuktas, voicing marks of kana, viramas.
_PARTS_OF_LETTERS = (0, 7, 8, 9)
#: Letters that are remembered; a text of more different ones is not of this world.
_REMEMBERED = 20_000
_NO_WORD = re.compile(r"[\W_]+")
#: The second way to write letters where only ASCII is allowed, as in addresses.
_SPELLED = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})


class _Folded(dict[int, str]):
    """What each letter becomes, found when it is first met."""

    def __missing__(self, code: int) -> str:
        folded = self._fold(chr(code))
        if len(self) < _REMEMBERED:
            self[code] = folded
        return folded

    def _fold(self, letter: str) -> str:
        apart = unicodedata.normalize("NFKD", letter.casefold().translate(_OWN_LETTERS))
        kept = "".join(mark for mark in apart if unicodedata.combining(mark) in _PARTS_OF_LETTERS)
        return unicodedata.normalize("NFC", kept).translate(_OWN_LETTERS)


class _FoldedInPlace(_Folded):
    """The same for letters that become one letter; the others stay."""

    def _fold(self, letter: str) -> str:
        folded = super()._fold(letter)
        return folded if len(folded) == 1 else small if len(small := letter.lower()) == 1 else letter


_FOLDED = _Folded()
_FOLDED_IN_PLACE = _FoldedInPlace()


def fold(text: str) -> str:
    """The text in small letters without accents."""
    return text.lower() if text.isascii() else text.translate(_FOLDED)


def fold_in_place(text: str) -> str:
    """The same with every letter in its place: what would become two letters, as ß, or none, stays as it is."""
    return text.lower() if text.isascii() else text.translate(_FOLDED_IN_PLACE)


def fold_words(text: str) -> str:
    """The folded words of a text, one blank between them, without punctuation."""
    return _NO_WORD.sub(" ", fold(text)).strip()


def fold_pattern(word: str) -> str:
    """A regular expression that finds a folded word in text that was folded in place."""
    pattern = re.escape(fold(word))
    for plain, letter in _PAIRS.items():
        pattern = pattern.replace(plain, f"(?:{plain}|{letter})")
    return pattern


def spell_out(text: str) -> str:
    """The second reading of letters, as addresses have it: "Jürgen" is "juergen", "Åse" is "aase"."""
    return fold(unicodedata.normalize("NFC", text).lower().translate(_SPELLED))
