"""Rules that could have found a value: paths from named elements, labels before the value, links, positions.

A candidate is an XPath expression, beside it a CSS selector where one says the same, and a cost: how little we trust
that it holds on other pages. Names that the authors of a template gave (classes, ids, labels) cost little; counting
costs much.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from turbohtml import Element, Text

from lycosa.missions.records.learning.places import PageIndex, ValuePlace, one_line, xpath_one_line

MAX_PER_PLACE = 600
_MAX_ANCHORS = 5
_MAX_STEPS = 7
_LABELS_BACK = 8
_MAX_LABEL = 60
_MAX_LABELS = 3
_MAX_NAME = 80
_MAX_PATH = 500
_NAMING = ("id", "itemprop", "property", "class", "name", "rel", "headers", "datatype", "typeof")
_LABEL_TAGS = frozenset({"b", "strong", "th", "dt", "label", "h1", "h2", "h3", "h4", "h5", "h6", "em"})
_HEADINGS = {"h1": 0.0, "h2": 0.6, "title": 2.5}
_PREFIX = re.compile(r"[^\W\d_][^:=]{0,40}[:=]|[^\w\s]{1,3}")
_SEGMENT = re.compile(r"[A-Za-z][A-Za-z_-]{2,30}")
_WORD = re.compile(r"[a-z]{3,}")
#: What digits in a name cost: a template seldom has them.
_DIGIT_COSTS = ((re.compile(r"\d"), 0.5), (re.compile(r"\d{4}"), 1.5))
_CSS_NAME = re.compile(r"-?[A-Za-z_][\w-]*", re.ASCII)


class Candidate(NamedTuple):
    """A rule that found a value on one page: what it says, how it came about, how little it is trusted."""

    xpath: str
    css: str
    cost: float
    family: str


class Step(NamedTuple):
    """One element of a path: how XPath and CSS name it ("" where CSS cannot), and what that costs."""

    xpath: str
    css: str
    cost: float


def candidates(place: ValuePlace, page: PageIndex, *, field: str, value: str) -> Iterator[Candidate]:
    """The rules that find a place on its page, at most `MAX_PER_PLACE`."""
    made = islice(_Maker(place, page, field, value).all(), MAX_PER_PLACE)
    return (c for c in made if len(c.xpath) <= _MAX_PATH)


def quoted(text: str) -> str:
    """A text as an XPath literal, "" where XPath 1.0 has none."""
    if "'" not in text:
        return f"'{text}'"
    return f'"{text}"' if '"' not in text else ""


class _Maker:
    """Makes the candidates of one place; `words` are those of the field's name."""

    def __init__(self, place: ValuePlace, page: PageIndex, field: str, value: str) -> None:
        self.place, self.page = place, page
        self.value = one_line(value)
        self.words = frozenset(_WORD.findall(field.lower()))
        self.letters = _letters(self.value)
        self.value_words = {w for w in _WORD.findall(self.value.lower()) if len(w) > 4} - self.words

    def all(self) -> Iterator[Candidate]:
        """The candidates of the element, and of those around it that say no more than the value."""
        element: Element | None = self.place.element
        for level in range(3):
            if element is None:
                return
            for end, end_cost in self._ends(element):
                extra = end_cost + 0.15 * level
                yield from self._by_name(element, end, extra)
                yield from self._by_label(element, end, extra)
                yield from self._by_position(element, end, extra)
            if self.place.text is not None or self.place.attribute:
                return
            outer = element.parent
            element = outer if isinstance(outer, Element) and one_line(outer.text[:20_000]) == self.value else None

    def _ends(self, element: Element) -> Iterator[tuple[str, float]]:
        """What follows the path to the element: nothing, an attribute, or one of its text nodes."""
        prefix = self._prefix()
        starts = f"[starts-with(normalize-space(),{quoted(prefix)})]" if prefix and quoted(prefix) else ""
        if self.place.attribute:
            yield f"/@{self.place.attribute}", 0.5
        elif self.place.text is None:
            yield "", 0.0
            if starts:
                yield starts, 0.1 if len(prefix) > 2 else 0.4
        else:
            texts = [n for n in element.children if isinstance(n, Text) and xpath_one_line(n.data)]
            number = next((i for i, n in enumerate(texts, 1) if n == self.place.text), 0)
            if starts:
                yield f"/text(){starts}", 0.1 if len(prefix) > 2 else 0.5
            if len(texts) == 1:
                yield "/text()[normalize-space()]", 0.1
                return
            yield f"/text()[normalize-space()][{number}]", 0.3 + 0.1 * number
            if number == len(texts):
                yield "/text()[normalize-space()][last()]", 0.6
            yield "/text()[normalize-space()]", 0.5
            before = self.place.text.previous_sibling
            if isinstance(before, Element):
                yield f"/{before.tag}[1]/following-sibling::text()[normalize-space()][1]", 0.9

    def _prefix(self) -> str:
        found = _PREFIX.match(self.value)
        return found[0] if found and len(found[0]) < len(self.value) else ""

    def _names(self, element: Element) -> list[Step]:
        """The element named by what its author called it, the best name first."""
        tag, found = element.tag, list[Step]()
        for name in _NAMING:
            said = element.attr(name)
            said = str(said) if said else ""
            if said and len(said) <= _MAX_NAME and quoted(said) and not self._tells(said):
                found += self._name_steps(tag, name, said)
        if tag == "a" and (href := element.attr("href")):
            found += self._address_steps(str(href))
        if tag in _HEADINGS:
            found.append(Step(tag, tag, 0.5 + _HEADINGS[tag]))
        return sorted(found, key=lambda step: step.cost)[:8]

    def _name_steps(self, tag: str, name: str, said: str) -> Iterator[Step]:
        """An element named by one of its attributes; by a class, also by each word of it."""
        cost = (0.15 if name == "id" else 0.3) - 0.8 * self._speaks(said)
        cost += sum(more for pattern, more in _DIGIT_COSTS if pattern.search(said))
        if name == "class":
            tokens = said.split()
            css = "".join(f".{t}" for t in tokens) if all(map(_CSS_NAME.fullmatch, tokens)) else ""
            yield Step(f"{tag}[@class={quoted(said)}]", css and tag + css, cost)
            for token in tokens if len(tokens) > 1 else ():
                if quoted(token):
                    xpath = f"{tag}[contains(concat(' ',@class,' '),' {token} ')]"
                    css = f"{tag}.{token}" if _CSS_NAME.fullmatch(token) else ""
                    yield Step(xpath, css, 0.45 - 0.8 * self._speaks(token) + 0.1 * len(token.split("-")))
        elif name == "id":
            yield Step(f"{tag}[@id={quoted(said)}]", f"{tag}#{said}" if _CSS_NAME.fullmatch(said) else "", cost)
        else:
            css = f'{tag}[{name}="{said}"]' if '"' not in said else ""
            yield Step(f"{tag}[@{name}={quoted(said)}]", css, cost)

    def _address_steps(self, address: str) -> Iterator[Step]:
        """A link named by the parts of its address."""
        for part in dict.fromkeys(_SEGMENT.findall(address[:300].split("//")[-1].partition("/")[2])):
            if not self._tells(part):
                cost = 0.7 - 0.8 * self._speaks(part) + (0.8 if part.isupper() else 0.0)
                yield Step(f"a[contains(@href,'{part}')]", f'a[href*="{part}"]', cost)

    def _speaks(self, text: str) -> float:
        """How far a name or a label says the field's name: 0 not at all, 1 nothing else."""
        letters = _letters(text)
        said = sum(len(word) for word in self.words if word in letters)
        return min(1.0, said / len(letters)) ** 0.5 if said else 0.0

    def _tells(self, name: str) -> bool:
        """Whether a name comes from the value itself (`id="Boston_Celtics"`), so that other pages have another."""
        name = _letters(name)
        return len(self.letters) > 2 and (
            self.letters in name
            or (len(name) > 3 and name in self.letters)
            or any(word in name for word in self.value_words)
        )

    def _by_name(self, element: Element, end: str, extra: float) -> Iterator[Candidate]:
        """Paths that begin at an element with a name."""
        own = self._names(element)
        for step in own:
            yield Candidate("//" + step.xpath + end, "" if end else step.css, step.cost + extra, "name")
        path: list[Element] = [element]
        anchors = 0
        for ancestor in element.ancestors:
            if not isinstance(ancestor, Element) or ancestor.tag in ("body", "html") or anchors >= _MAX_ANCHORS:
                break
            names = self._names(ancestor)[:3]
            anchors += bool(names)
            for number, name in enumerate(names):
                base = name.cost + extra + 0.25 * anchors
                for inner, cost in self._inner(path, own):
                    xpath = f"//{name.xpath}{inner.xpath}{end}"
                    css = name.css + inner.css if name.css and inner.css and not end else ""
                    yield Candidate(xpath, css, base + cost, "path")
                if number and anchors > 2:
                    break
            path.append(ancestor)

    def _inner(self, path: list[Element], own: list[Step]) -> Iterator[tuple[Step, float]]:
        """The ways down from an anchor to the element; `path` goes from the element upwards."""
        tag = path[0].tag
        for name in own[:3]:
            yield Step(f"//{name.xpath}", f" {name.css}" if name.css else "", 0), name.cost + 0.1
        yield Step(f"//{tag}", f" {tag}", 0), 0.4
        if len(path) > _MAX_STEPS:
            return
        levels = list(reversed(path))
        plain = [Step(f"/{e.tag}", f" > {e.tag}", 0.1) for e in levels]
        counted = [_counted(e) for e in levels]
        yield _joined(plain), 0.3 + 0.1 * len(path)
        if counted != plain:
            yield _joined(counted), 0.3 + sum(step.cost for step in counted)
            several = [i for i, step in enumerate(counted) if step != plain[i]]
            if len(several) > 1:
                for i in several[:4]:
                    steps = [*counted[:i], plain[i], *counted[i + 1 :]]
                    yield _joined(steps), 0.5 + sum(step.cost for step in steps)
                    steps = [*plain[:i], counted[i], *plain[i + 1 :]]
                    yield _joined(steps), 0.5 + sum(step.cost for step in steps)
        count = _counted(path[0])
        yield Step(f"//{tag}" + count.xpath.removeprefix(f"/{tag}"), "", 0), 0.6 + count.cost

    def _by_position(self, element: Element, end: str, extra: float) -> Iterator[Candidate]:
        """The way from the root by counting alone."""
        path = [element, *(a for a in element.ancestors if isinstance(a, Element))]
        steps = [_counted(e) for e in reversed(path)]
        if len(steps) <= 40:
            yield Candidate("".join(s.xpath for s in steps) + end, "", 3.0 + extra + 0.05 * len(steps), "position")

    def _by_label(self, element: Element, end: str, extra: float) -> Iterator[Candidate]:
        """Paths from the labels that stand before the value, or above it."""
        found = 0
        for back in range(1, min(_LABELS_BACK, self.place.position) + 1):
            position = self.place.position - back
            text = xpath_one_line(self.page.texts[position].data)
            holder = self.page.parents[position]
            marked = text.rstrip("\xa0 ").endswith((":", "=")) or holder.tag in _LABEL_TAGS
            if len(text) > _MAX_LABEL or not quoted(text) or not re.search(r"[^\W\d_]{2}", text):
                continue
            if back > 2 and not marked:
                continue
            cost = extra + 0.3 + 0.25 * (back - 1) + (0.0 if marked else 0.8) - self._speaks(text)
            cost += 0.7 if re.search(r"\d", text) else 0.0
            yield from self._from_label(element, end, _Label(text, holder, position, cost))
            found += 1
            if found == _MAX_LABELS:
                return

    def _from_label(self, element: Element, end: str, label: _Label) -> Iterator[Candidate]:
        ancestors = [element, *(a for a in element.ancestors if isinstance(a, Element))]
        level_of = {a: i for i, a in enumerate(ancestors)}
        chain: list[Element] = []  # from the label's element up to the child of the common ancestor
        shared: Element | None = label.holder
        while shared is not None and shared not in level_of:
            chain.append(shared)
            outer = shared.parent
            shared = outer if isinstance(outer, Element) else None
        if shared is None:
            return
        way = list(reversed(ancestors[: level_of[shared]]))  # from below the common ancestor down to the element
        if not chain:
            yield from self._beside_text(end, label, way, shared.tag)
            return
        step = _label_step(chain, label)
        if not step:
            return
        for inner, more in _ways(way) if len(way) <= 4 else ():
            yield Candidate(f"//{shared.tag}[{step}]{inner}{end}", "", label.cost + more + 0.05, "label")
        nearest = f"[preceding-sibling::{chain[-1].tag}[1][{step.partition('[')[2]}"
        if way:
            yield from self._after_label(element, end, label, _LabelWay(shared.tag, step, nearest, way))
        elif self.place.text is not None:
            yield from self._text_after_label(label, step, nearest)
        if self.place.text is not None and label.position == self.place.position - 1:
            following = f"[{_says(label)}]/following::text()[normalize-space()][1]"
            yield Candidate(f"//{label.holder.tag}{following}", "", label.cost + 0.4, "label")

    def _after_label(self, element: Element, end: str, label: _Label, found: _LabelWay) -> Iterator[Candidate]:
        """The value stands in an element that follows that of the label."""
        cost, (first, *rest), step = label.cost, found.way, found.step
        base = f"//{step}/following-sibling::{first.tag}"
        for inner, more in _ways(rest) if len(rest) <= 4 else ():
            yield Candidate(f"{base}[1]{inner}{end}", "", cost + more, "label")
            yield Candidate(f"{base}{found.nearest}{inner}{end}", "", cost + more + 0.2, "label")
        for name in self._names(element)[:2]:
            named = f"{base}[1]//{name.xpath}" if rest else f"//{step}/following-sibling::{name.xpath}"
            yield Candidate(f"{named}{end}", "", cost + name.cost + 0.1, "label")
            yield Candidate(f"//{found.tag}[{step}]//{name.xpath}{end}", "", cost + name.cost + 0.1, "label")
        yield Candidate(f"//{step}/following::{element.tag}[1]{end}", "", cost + 0.5, "label")

    def _text_after_label(self, label: _Label, step: str, nearest: str) -> Iterator[Candidate]:
        """The value is a text behind the element of the label."""
        texts = "following-sibling::text()[normalize-space()]"
        yield Candidate(f"//{step}/{texts}[1]", "", label.cost, "label")
        for holder in self._names(label.holder)[:1]:
            yield Candidate(f"//{holder.xpath}[{_says(label)}]/{texts}[1]", "", label.cost + 0.1, "label")
        yield Candidate(f"//{step}/{texts}{nearest}", "", label.cost + 0.3, "label")

    def _beside_text(self, end: str, label: _Label, way: list[Element], tag: str) -> Iterator[Candidate]:
        """The label is a text of an element that also holds the value."""
        cost, literal = label.cost, quoted(label.text)
        has = f"text()[normalize-space()={literal}]"
        if not way:  # both are texts of one element
            if self.place.text is not None:
                yield Candidate(f"//{tag}/{has}/following-sibling::text()[normalize-space()][1]", "", cost, "label")
            return
        first, rest = way[0], way[1:]
        for inner, more in _ways(rest) if len(rest) <= 3 else ():
            yield Candidate(f"//{tag}/{has}/following-sibling::{first.tag}[1]{inner}{end}", "", cost + more, "label")
            last = f"preceding-sibling::text()[normalize-space()][1][normalize-space()={literal}]"
            yield Candidate(f"//{tag}/{first.tag}[{last}]{inner}{end}", "", cost + more, "label")
            yield Candidate(f"//{tag}[{has}]/{first.tag}{inner}{end}", "", cost + more + 0.2, "label")
            start = f"starts-with(normalize-space(),{literal})"
            yield Candidate(f"//{tag}[{start}]/{first.tag}{inner}{end}", "", cost + more + 0.1, "label")


class _Label(NamedTuple):
    text: str
    holder: Element
    position: int
    cost: float


class _LabelWay(NamedTuple):
    """How the value lies from its label: the common ancestor's tag, the label's step, the way down to the value."""

    tag: str
    step: str
    nearest: str
    way: list[Element]


def _says(label: _Label) -> str:
    return f"normalize-space()={quoted(label.text)}"


def _label_step(chain: list[Element], label: _Label) -> str:
    """The child of the common ancestor that is the label, or holds it; "" where it lies too deep."""
    head = chain[-1]
    if xpath_one_line(head.text[:500]) == label.text:
        return f"{head.tag}[{_says(label)}]"
    if len(chain) == 1 or len(chain) > 4:
        return ""
    return f"{head.tag}[{'/'.join(e.tag for e in reversed(chain[:-1]))}[{_says(label)}]]"


def _letters(text: str) -> str:
    return "".join(filter(str.isalpha, text.lower()))


def _counted(element: Element) -> Step:
    """A step to the element among its siblings of the same tag, counted where there are several."""
    tag, parent = element.tag, element.parent
    same = [e for e in parent.children if isinstance(e, Element) and e.tag == tag] if parent is not None else [element]
    if len(same) == 1:
        return Step(f"/{tag}", f" > {tag}", 0.1)
    number = same.index(element) + 1
    return Step(f"/{tag}[{number}]", f" > {tag}:nth-of-type({number})", 0.3 + 0.05 * min(number, 10))


def _joined(steps: list[Step]) -> Step:
    return Step("".join(s.xpath for s in steps), "".join(s.css for s in steps), 0)


def _ways(path: list[Element]) -> Iterator[tuple[str, float]]:
    """The ways down a path: by tags, by counting, and to any descendant."""
    if not path:
        yield "", 0.0
        return
    plain = "".join(f"/{e.tag}" for e in path)
    yield plain, 0.1 * len(path)
    steps = [_counted(e) for e in path]
    counted = "".join(step.xpath for step in steps)
    if counted != plain:
        yield counted, 0.1 + sum(step.cost for step in steps)
    if len(path) > 1:
        yield f"//{path[-1].tag}", 0.1 * len(path) + 0.1
