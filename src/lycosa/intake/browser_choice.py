"""Browser choice: which pages are rendered in a browser before they are processed."""

from __future__ import annotations

from lycosa.config.host_rules import HostRules
from lycosa.model import Target
from lycosa.parse import Doc
from lycosa.parse.script_shell import is_script_shell
from lycosa.politeness.shared_state import Cell, SharedState

RENDER = "render"
NO_BROWSER = "needs-browser"
_HTML = frozenset({"html", "xhtml"})


class BrowserChoice:
    """Chooses by the host rules and by whether a page is empty until scripts run; counts pages that lack a browser."""

    def __init__(self, host_rules: HostRules, shared: SharedState, slot: int, *, has_browser: bool) -> None:
        self._host_rules = host_rules
        self._shared = shared
        self._slot = slot
        self._has_browser = has_browser

    def judge(self, doc: Doc, target: Target) -> str:
        """Empty: the page is fine as it is; RENDER: it is to be rendered; NO_BROWSER: it should be and cannot."""
        if doc.kind not in _HTML:
            return ""
        mode = self._host_rules.render(target.host)
        if mode == "never" or (mode == "auto" and not is_script_shell(doc)) or target.via == "sitemap":
            return ""
        if self._has_browser and not self._shared.browserless:
            return RENDER
        self._shared.add(self._slot, Cell.SHELLS, 1)
        return NO_BROWSER
