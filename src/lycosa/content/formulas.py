"""Formulas as TeX: what KaTeX, MathJax, MediaWiki and LaTeXML keep of it beside what they draw, else out of MathML.

Where a page has neither, only a picture, its alternative text is the formula if the picture is named as one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from turbohtml import Element, Text

_MAX_DEPTH = 60
_MAX_TEX = 20_000
#: Elements whose names alone tell that they may be one.
TAGS = frozenset({"math", "script", "mjx-container", "img"})
_DRAWN = re.compile(r"(?:^|\s)(?:katex|mwe-math-element|MathJax(?:_(?:Display|Preview|SVG|CHTML))?|mjx-chtml)(?=\s|$)")
#: Beside the script that holds the TeX, or the MathML: drawn for eyes.
_SHADOW = re.compile(r"(?:^|\s)(?:MathJax\w*|mjx-chtml|MJX_Assistive_MathML|katex-html)(?=\s|$)")
_PICTURE = re.compile(r"(?:^|[\s_-])(?:tex|latex|math|equation|formula|mwe-math-fallback-image-\w+)(?=$|[\s_-])", re.I)
_STYLED = re.compile(r"^\{\\(?:displaystyle|textstyle|scriptstyle)\s*(.*)\}$", re.DOTALL)
_DELIMITED = re.compile(r"^(?:\$\$?|\\\[|\\\()(.*?)(?:\$\$?|\\\]|\\\))$", re.DOTALL)
_SIGNS = {
    "×": r"\times", "÷": r"\div", "±": r"\pm", "∓": r"\mp", "·": r"\cdot", "⋅": r"\cdot", "≤": r"\leq", "≥": r"\geq",
    "≠": r"\neq", "≈": r"\approx", "≡": r"\equiv", "∼": r"\sim", "∝": r"\propto", "∞": r"\infty", "∑": r"\sum",
    "∏": r"\prod", "∫": r"\int", "∮": r"\oint", "∂": r"\partial", "∇": r"\nabla", "√": r"\sqrt", "∈": r"\in",
    "∉": r"\notin", "⊂": r"\subset", "⊆": r"\subseteq", "∪": r"\cup", "∩": r"\cap", "∅": r"\emptyset",
    "∀": r"\forall", "∃": r"\exists", "¬": r"\neg", "∧": r"\wedge", "∨": r"\vee", "→": r"\to", "←": r"\leftarrow",
    "⇒": r"\Rightarrow", "⇔": r"\Leftrightarrow", "↦": r"\mapsto", "…": r"\ldots", "⋯": r"\cdots", "−": "-",
    "α": r"\alpha", "β": r"\beta", "γ": r"\gamma", "δ": r"\delta", "ε": r"\varepsilon", "ϵ": r"\epsilon",
    "ζ": r"\zeta", "η": r"\eta", "θ": r"\theta", "ι": r"\iota", "κ": r"\kappa", "λ": r"\lambda", "μ": r"\mu",
    "ν": r"\nu", "ξ": r"\xi", "π": r"\pi", "ρ": r"\rho", "σ": r"\sigma", "τ": r"\tau", "υ": r"\upsilon",
    "φ": r"\varphi", "ϕ": r"\phi", "χ": r"\chi", "ψ": r"\psi", "ω": r"\omega", "Γ": r"\Gamma", "Δ": r"\Delta",
    "Θ": r"\Theta", "Λ": r"\Lambda", "Ξ": r"\Xi", "Π": r"\Pi", "Σ": r"\Sigma", "Φ": r"\Phi", "Ψ": r"\Psi",
    "Ω": r"\Omega", "ℝ": r"\mathbb{R}", "ℕ": r"\mathbb{N}", "ℤ": r"\mathbb{Z}", "ℂ": r"\mathbb{C}", "ℏ": r"\hbar",
    "{": r"\{", "}": r"\}", "%": r"\%", "&": r"\&", "#": r"\#", "\u2061": "", "\u2062": "", "\u2063": "", "\u2064": "",
}  # fmt: skip
_ACCENTS = {
    "¯": "overline", "‾": "overline", "^": "hat", "ˆ": "hat", "~": "tilde", "˜": "tilde", "→": "vec", "˙": "dot",
    "¨": "ddot", "⏞": "overbrace", "⏟": "underbrace", "_": "underline",
}  # fmt: skip
_FUNCTION_NAMES = "sin cos tan cot sec csc sinh cosh tanh log ln exp lim max min sup inf det dim ker gcd arg mod Pr"
_FUNCTIONS = frozenset(_FUNCTION_NAMES.split())


class Formula(NamedTuple):
    """A formula in TeX without its marks; empty where an element only draws one that stands beside it."""

    tex: str
    is_display: bool = False


def find_formula(element: Element, name: str) -> Formula | None:
    """The formula that an element is; None where it is none."""
    if name == "math":
        return Formula(_read_math(element), element.attr("display") == "block" or element.attr("mode") == "display")
    names = _class_of(element)
    if name == "script":
        kind = str(element.attr("type") or "")
        return Formula(_plain(element.text), "display" in kind) if kind.startswith("math/tex") else None
    if name == "img":
        said = str(element.attr("alt") or "")
        return Formula(_plain(said), "display" in names) if said and _PICTURE.search(names) else None
    if name != "mjx-container" and not (names and _DRAWN.search(names)):
        return None
    math = element.select_one("math")
    around = _class_of(element.parent) if isinstance(element.parent, Element) else ""
    is_display = "display" in (names + around).lower() or element.attr("display") == "true"
    if math is not None and not _follows_script(element):
        return Formula(_read_math(math), is_display or math.attr("display") == "block")
    annotation = element.select_one('annotation[encoding*="tex"]')
    if annotation is not None:
        return Formula(_plain(annotation.text), is_display)
    return Formula("") if _SHADOW.search(names) else None


def _follows_script(element: Element) -> bool:
    """Whether MathJax drew it for the script behind it."""
    behind = element.next_sibling
    while isinstance(behind, Text) and not behind.data.strip():
        behind = behind.next_sibling
    return isinstance(behind, Element) and str(behind.attr("type") or "").startswith("math/tex")


def _class_of(element: Element) -> str:
    value = element.attr("class")
    return value if isinstance(value, str) else " ".join(value or ())


def _plain(tex: str) -> str:
    tex = " ".join(tex[:_MAX_TEX].replace("% <![CDATA[", "").replace("%]]>", "").split())
    for pattern in (_DELIMITED, _STYLED):
        if match := pattern.match(tex):
            tex = match[1].strip()
    return tex


def _read_math(math: Element) -> str:
    """The TeX that a MathML element carries, else what its elements mean."""
    for note in math.select("annotation")[:5]:
        if "tex" in str(note.attr("encoding") or "").lower():
            return _plain(note.text)
    if said := str(math.attr("alttext") or "").strip():
        return _plain(said)
    return " ".join(_write(math, 0)[:_MAX_TEX].split())


def _write(element: Element, depth: int) -> str:
    name = element.tag.rpartition(":")[2]
    if name in ("mi", "mn", "mo", "mtext", "ms"):
        return _write_token(name, " ".join(element.text.split()))
    parts = [e for e in element.children if isinstance(e, Element) and not e.tag.startswith("annotation")]
    if depth > _MAX_DEPTH:
        return element.text
    done = [_write(part, depth + 1) for part in parts]
    writer = _WRITERS.get(name)
    if writer is not None and len(done) >= writer[0]:
        return writer[1](*done[: writer[0]])
    if name in ("mover", "munder") and len(done) > 1:
        sign = parts[1].text.strip()
        if sign in _ACCENTS:
            return f"\\{_ACCENTS[sign]}{{{done[0]}}}"
        return f"{_group(done[0])}{'^' if name == 'mover' else '_'}{_group(done[1])}"
    return _write_row(name, element, done)


def _write_row(name: str, element: Element, done: list[str]) -> str:
    """What stands beside each other: under a root, in the cells of a matrix, between fences, or by itself."""
    if name == "msqrt":
        return f"\\sqrt{{{' '.join(done)}}}"
    if name == "mtable":
        return "\\begin{matrix} " + " \\\\ ".join(done) + " \\end{matrix}"
    if name in ("mtr", "mlabeledtr"):
        return " & ".join(done)
    if name == "mfenced":
        opening, closing = element.attr("open") or "(", element.attr("close") or ")"
        return f"{opening}{', '.join(done)}{closing}"
    return " ".join(part for part in done if part)


def _write_token(name: str, text: str) -> str:
    if name == "mtext" and text:
        return f"\\text{{{text}}}"
    if text in _FUNCTIONS:
        return f"\\{text}"
    if name == "mi" and len(text) > 1 and text.isalpha() and text.isascii():
        return f"\\mathrm{{{text}}}"
    return " ".join(_SIGNS.get(mark, mark) for mark in text) if not text.isascii() else _SIGNS.get(text, text)


def _group(tex: str) -> str:
    return tex if len(tex) == 1 or re.fullmatch(r"\\[A-Za-z]+", tex) else f"{{{tex}}}"


_WRITERS: dict[str, tuple[int, Callable[..., str]]] = {
    "mfrac": (2, lambda over, under: f"\\frac{{{over}}}{{{under}}}"),
    "msup": (2, lambda base, sup: f"{_group(base)}^{_group(sup)}"),
    "msub": (2, lambda base, sub: f"{_group(base)}_{_group(sub)}"),
    "msubsup": (3, lambda base, sub, sup: f"{_group(base)}_{_group(sub)}^{_group(sup)}"),
    "munderover": (3, lambda base, sub, sup: f"{_group(base)}_{_group(sub)}^{_group(sup)}"),
    "mroot": (2, lambda base, index: f"\\sqrt[{index}]{{{base}}}"),
}
