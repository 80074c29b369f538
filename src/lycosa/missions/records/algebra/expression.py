"""Expressions of the algebra as rules write them: read by a parser of our own, never run as code.

    elem("td") directly after pat("Price:")
    text(elem("a")[@rel ~ "author"] inside css("div.byline"))

    expression  sum { [!] RELATION sum }           from left to right, as WebL has it
    sum         product { (+ | -) product }
    product     value { * value }
    value       (FUNCTION ( arguments ) | page | ( expression )) { [ choice ] }
    choice      NUMBER | [NUMBER] : [NUMBER] | (@NAME | text | name) [(= | != | ~ | !~) STRING]

Length, depth and the number of operators are bounded when an expression is read, the work when it is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from operator import add, mul, sub
from typing import NamedTuple, NoReturn

import turbohtml

from lycosa.errors import UsageError
from lycosa.missions.records.algebra.page import MAX_SEQUENCE, MAX_WORK, Piece, PieceSet, TaggedPage
from lycosa.missions.records.guards import compile_pattern

MAX_EXPRESSION = 4000
MAX_DEPTH = 40
MAX_OPERATORS = 200

_TOKEN = re.compile(
    r"""\s*(?:(?P<word>@[A-Za-z_][\w:.-]*|[A-Za-z_]\w*)|(?P<number>-?\d{1,9})(?!\d)|(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
    r"""|(?P<sign>!=|!~|[][()+*:,=~!-])|(?P<end>\Z))""",
    re.DOTALL,
)
_QUOTED = re.compile(r"""\\(["'])""")
_DIRECT = ("inside", "contain", "before", "after")
_CUTS = ("without", "intersect")
_OF_SETS: dict[str, Callable[[PieceSet, PieceSet], PieceSet]] = {"+": add, "-": sub, "*": mul}
_RELATIONS = (*_DIRECT, "overlap", *_CUTS)
_VALUES = ("text", "markup", "attribute", "name")
#: Functions that look at the page or inside pieces, with what stands in quotes; and those of pieces alone.
_FINDERS = {"elem": "a name", "pat": "a regular expression", "pcdata": "", "seq": "a sequence", "para": "names"}
_OF_PIECES = ("children", "parent", "content", "flatten", "part")
_FUNCTIONS = (*_FINDERS, "css", *_OF_PIECES)

_Step = Callable[[TaggedPage], PieceSet]


class Token(NamedTuple):
    kind: str
    text: str
    column: int  # from 1


class Expression:
    """A rule of the algebra that was read."""

    def __init__(self, source: str, step: _Step, *, take: str) -> None:
        self.source = source
        self.take = take  # text, markup, name, "attribute NAME"; empty when the expression does not say
        self._step = step

    def evaluate(self, page: TaggedPage, *, max_work: int = MAX_WORK) -> PieceSet:
        """The pieces that it finds; raises `WorkExceeded` on a page that is too large for it."""
        before, page.work_left = page.work_left, max_work
        try:
            return self._step(page)
        finally:
            page.work_left = before

    def values(self, page: TaggedPage) -> list[str]:
        """What it takes of each piece; its text unless it says otherwise."""
        taken = (take_of(piece, self.take or "text") for piece in self.evaluate(page))
        return [value for value in taken if value is not None]


def take_of(piece: Piece, take: str) -> str | None:
    """The text, markup, name or an attribute of a piece; None without that attribute."""
    if take.startswith("attribute "):
        return piece.attribute(take.removeprefix("attribute "))
    return {"text": lambda: piece.text, "markup": lambda: piece.markup, "name": lambda: piece.name}[take]()


@lru_cache(maxsize=2000)
def parse_expression(source: str) -> Expression:
    """Read an expression; what is wrong with it is a UsageError with the column."""
    return _Parser(source).read()


class _Parser:
    """A reader from left to right; each method takes what it names, and gives the step that evaluates it."""

    def __init__(self, source: str) -> None:
        self.source = source
        if len(source) > MAX_EXPRESSION:
            raise UsageError(
                f"An expression of the algebra has at most {MAX_EXPRESSION:,} characters; this one has {len(source):,}."
            )
        self.tokens: list[Token] = []
        at = 0
        while not self.tokens or self.tokens[-1].kind != "end":
            found = _TOKEN.match(source, at)
            if found is None or found.lastgroup is None:
                at += len(source[at:]) - len(source[at:].lstrip())
                what = "a text without its closing quote" if source[at] in "\"'" else f'"{source[at : at + 20]}"'
                self._fail(Token("", what, at + 1), "names, numbers, texts in quotes, and ( ) [ ] + - * ! @ = ~ : ,")
            at = found.end()
            self.tokens.append(Token(found.lastgroup, found[found.lastgroup], found.start(found.lastgroup) + 1))
        self.place = self.depth = self.operators = 0

    def read(self) -> Expression:
        take = ""
        if self.next.text.lower() in _VALUES and self.tokens[self.place + 1].text == "(":
            take = self._advance().text.lower()
            self._expect("(")
            step = self._expression()
            if take == "attribute":
                self._expect(",")
                take = f"attribute {self._string('the name of an attribute')[0]}"
            self._expect(")")
        else:
            step = self._expression()
        if self.next.kind != "end":
            self._fail(self.next, f"an operator ({', '.join(_RELATIONS)}, +, -, *) or the end")
        return Expression(self.source, step, take=take)

    @property
    def next(self) -> Token:
        return self.tokens[self.place]

    def _advance(self) -> Token:
        token = self.next
        self.place += token.kind != "end"
        return token

    def _expect(self, sign: str) -> Token:
        if self.next.text != sign or self.next.kind != "sign":
            self._fail(self.next, f'"{sign}"')
        return self._advance()

    def _takes(self, *signs: str) -> str:
        return self._advance().text if self.next.kind == "sign" and self.next.text in signs else ""

    def _fail(self, token: Token, allowed: str) -> NoReturn:
        found = token.text if not token.kind else "the end" if token.kind == "end" else f'"{token.text[:40]}"'
        raise UsageError(f"Column {token.column} of the algebra expression: found {found}; allowed: {allowed}.")

    def _count_operator(self, token: Token) -> None:
        self.operators += 1
        if self.operators > MAX_OPERATORS:
            self._fail(token, f"at most {MAX_OPERATORS} operators and functions in one expression")

    def _expression(self) -> _Step:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self._fail(self.next, f"at most {MAX_DEPTH} brackets within each other")
        step = self._sum()
        while (operator := self._relation()) is not None:
            step = _combined(step, operator, self._sum())
        self.depth -= 1
        return step

    def _relation(self) -> str | None:
        """An operator that is a word, as `!directlyinside`; None when none comes."""
        first = self.next
        if first.kind == "end" or (first.kind == "sign" and first.text != "!"):
            return None
        negated = bool(self._takes("!"))
        if not negated and self.next.text.lower() == "not":
            negated = bool(self._advance())
        word = self.next.text.lower()
        directly = word.startswith("directly")
        if directly:
            self._advance()
            word = word.removeprefix("directly") or self.next.text.lower()
            if word == self.next.text.lower():
                self._advance()
        elif word in _RELATIONS:
            self._advance()
        if word not in (_DIRECT if directly else _RELATIONS) or (negated and word in _CUTS):
            allowed = [*_RELATIONS, *(f"directly{name}" for name in _DIRECT)]
            self._fail(first, f"{', '.join(allowed)}; with ! in front all but {' and '.join(_CUTS)}")
        self._count_operator(first)
        return f"{'!' if negated else ''}{'directly' if directly else ''}{word}"

    def _sum(self) -> _Step:
        step = self._product()
        while self.next.text in ("+", "-") or (self.next.kind == "number" and self.next.text[0] == "-"):
            token = self.next
            if token.kind == "number":
                self._fail(token, "a set of pieces behind the minus")
            self._count_operator(token)
            step = _combined(step, self._advance().text, self._product())
        return step

    def _product(self) -> _Step:
        step = self._value()
        while self.next.text == "*":
            self._count_operator(self.next)
            step = _combined(step, self._advance().text, self._value())
        return step

    def _value(self) -> _Step:
        token = self._advance()
        word = token.text.lower()
        if token.text == "(" and token.kind == "sign":
            step = self._expression()
            self._expect(")")
        elif word == "page" and token.kind == "word":
            step = _whole
        elif word in _FUNCTIONS and token.kind == "word":
            self._count_operator(token)
            self._expect("(")
            step = self._call(word)
            self._expect(")")
        elif word in _VALUES and token.kind == "word":
            self._fail(token, f"{word}(…) only around the whole expression")
        else:
            self._fail(token, f"{', '.join(_FUNCTIONS)}, page, (")
        while self._takes("["):
            self._count_operator(self.next)
            step = self._choice(step)
            self._expect("]")
        return step

    def _call(self, word: str) -> _Step:
        """The arguments of a function, up to its closing bracket."""
        if word in _OF_PIECES:
            inner = self._expression()
            if word == "part":
                self._expect(",")
                number = self._number()
                return lambda page: _spent(page, inner(page)).part(number)
            return lambda page: getattr(_spent(page, inner(page)), word)()
        if word == "css":
            selector, token = self._string("a CSS selector")
            try:
                turbohtml.parse("").select(selector)
            except ValueError as error:
                self._fail(token, f"a CSS selector ({error})")
            return lambda page: page.css(selector)
        scope: _Step | None = None
        if self.next.kind != "string" and self.next.text != ")":
            scope = self._expression()
            if _FINDERS[word] and (word != "elem" or self.next.text == ","):
                self._expect(",")
        text, token = "", self.next
        if _FINDERS[word] and not (word == "elem" and self.next.text == ")"):
            text, token = self._string(_FINDERS[word])
        if word == "pat":
            try:
                compile_pattern(text)
            except UsageError as error:
                self._fail(token, f"a regular expression. {str(error).removesuffix('.')}")
        elif word == "seq" and len(text.split()) > MAX_SEQUENCE:
            self._fail(token, f"at most {MAX_SEQUENCE} members of a sequence")
        return _finder(word, text, scope)

    def _choice(self, step: _Step) -> _Step:
        """What stands in square brackets: a place, a range, or a condition."""
        token = self.next
        if token.kind == "number" or token.text == ":":
            first = self._number() if token.kind == "number" else None
            if not self._takes(":"):
                place = first or 0
                return lambda page: step(page)[place : place + 1 or None]
            last = self._number() if self.next.kind == "number" else None
            return lambda page: step(page)[first:last]
        if token.kind != "word" or (token.text[0] != "@" and token.text.lower() not in ("text", "name")):
            self._fail(token, 'a number, a range such as 1:3, or a condition such as @href, @class = "x", text ~ "x"')
        self._advance()
        take = f"attribute {token.text[1:]}" if token.text[0] == "@" else token.text.lower()
        sign = self._takes("=", "!=", "~", "!~")
        if not sign:
            return lambda page: _spent(page, step(page)).select(lambda piece: bool(take_of(piece, take)))
        text, where = self._string("a text" if "=" in sign else "a regular expression")
        if "=" in sign:
            return _filter(step, take, lambda value: value.strip() == text, negate=sign[0] == "!")
        try:
            search = compile_pattern(text).search
        except UsageError as error:
            self._fail(where, f"a regular expression. {str(error).removesuffix('.')}")
        return _filter(step, take, lambda value: search(value) is not None, negate=sign[0] == "!")

    def _number(self) -> int:
        if self.next.kind != "number":
            self._fail(self.next, "a number")
        return int(self._advance().text)

    def _string(self, what: str) -> tuple[str, Token]:
        if self.next.kind != "string":
            self._fail(self.next, f"{what} in quotes")
        token = self._advance()
        return _QUOTED.sub(r"\1", token.text[1:-1]), token


def _whole(page: TaggedPage) -> PieceSet:
    return page.whole


def _spent(page: TaggedPage, pieces: PieceSet) -> PieceSet:
    page.spend(len(pieces))
    return pieces


def _finder(word: str, text: str, scope: _Step | None) -> _Step:
    def find(page: TaggedPage) -> PieceSet:
        inside = None if scope is None else _spent(page, scope(page))
        if word == "pcdata":
            return page.pcdata(inside=inside)
        found: PieceSet = getattr(page, word)(text, inside=inside)
        return found

    return find


def _filter(step: _Step, take: str, fits: Callable[[str], bool], *, negate: bool) -> _Step:
    def choose(page: TaggedPage) -> PieceSet:
        def wanted(piece: Piece) -> bool:
            value = take_of(piece, take) or ""
            page.spend(1 + len(value) // 64)
            return fits(value) is not negate

        return step(page).select(wanted)

    return choose


def _combined(left: _Step, operator: str, right: _Step) -> _Step:
    """The step of an operator between two."""
    negate = operator.startswith("!")
    word = operator.removeprefix("!")
    directly = word.startswith("directly")
    word = word.removeprefix("directly")

    def combine(page: TaggedPage) -> PieceSet:
        p, q = left(page), right(page)
        page.spend(len(p) + len(q))
        if word in _OF_SETS:
            return _OF_SETS[word](p, q)
        options = {} if word in _CUTS else {"negate": negate} | ({"directly": directly} if word in _DIRECT else {})
        found: PieceSet = getattr(p, word)(q, **options)
        return found

    return combine
