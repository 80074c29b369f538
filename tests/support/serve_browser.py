"""A real browser that looks at the page: every error of a script and every breach of the policy is remembered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from lycosa.render.browser_processes import find_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, LocatorAssertions, Page

#: A name of another site, which leads to this machine.
REBOUND = "rebound.example"

#: How wide a page is looked at: on a screen, and on a telephone.
WIDTHS = (1200, 390)
#: The rules of axe that dark colours can break.
COLOUR_RULES = ("color-contrast", "link-in-text-block")

BROWSER = find_browser()
needs_browser = pytest.mark.skipif(bool(BROWSER.missing), reason=f"no browser: {BROWSER.missing}")

_REPORT = """
window.breaches = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.breaches.push(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile ?? ""}`);
});
window.alert = window.confirm = window.prompt = (text) => { console.error(`dialogue: ${text}`); return true; };
"""


@dataclass
class BrowserView:
    """A window of the browser, and what went wrong in it."""

    page: Page
    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def open(self, address: str) -> Page:
        """Go to an address; what breached the policy there is remembered by `check`."""
        self.page.goto(address)
        return self.page

    def check(self) -> None:
        """Nothing went wrong, and nothing left the machine."""
        breaches = self.page.evaluate("window.breaches")
        assert breaches == []
        assert self.problems == []
        assert [url for url in self.requests if not url.startswith(("http://127.0.0.1:", "data:", "blob:"))] == []

    def check_for_everybody(self, address: str) -> None:
        """A page is open to everybody: in light and dark, wide and as narrow as a telephone, with all of it unfolded.

        Axe finds nothing serious (in dark, its rules on colours: the others see no difference), nothing is wider than
        the window, there is one heading, no policy is breached, and no text of the web has run.
        """
        page = self.open(address)
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert page.locator("h1").count() == 1 and page.locator("main").count() == 1, address
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            assert self.overflow() <= 0, f"{address} at {width}"
            page.emulate_media(color_scheme="light", reduced_motion="reduce")
            assert self.find_barriers() == [], f"{address} at {width}, light"
            page.emulate_media(color_scheme="dark", reduced_motion="reduce")
            found = self.find_barriers(rules=COLOUR_RULES)
            assert found == [], f"{address} at {width}, dark: {found}"
        assert page.evaluate("window.breaches") == [], address
        assert page.evaluate("window.owned") is None, address

    def overflow(self) -> int:
        """By how many pixels the page is wider than the window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def find_barriers(self, *, rules: Sequence[str] = ()) -> list[str]:
        """What axe finds serious or critical for people with disabilities; by all its rules, or by these."""
        from axe_playwright_python.sync_playwright import Axe

        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(Axe().axe_script)
        options: dict[str, Any] = {"resultTypes": ["violations"]}
        if rules:
            options["runOnly"] = {"type": "rule", "values": list(rules)}
        found: list[dict[str, Any]] = self.page.evaluate(
            "(options) => axe.run(document, options).then((result) => result.violations)", options
        )
        return [
            f"{one['id']}: {one['nodes'][0]['html']} ({len(one['nodes'])}): {one['nodes'][0]['failureSummary']}"
            for one in found
            if one["impact"] in ("serious", "critical")
        ]


@contextmanager
def browsing() -> Iterator[Browser]:
    """A browser without a window, as long as the block lasts."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        options = ["--no-sandbox", f"--host-resolver-rules=MAP {REBOUND} 127.0.0.1"]
        browser = playwright.chromium.launch(executable_path=BROWSER.path, args=options)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def viewing(
    browser: Browser, *, width: int = 1200, dark: bool = False, language: str = "en", **more: Any
) -> Iterator[BrowserView]:
    """A window of a browser, with no cookies of another."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if dark else "light",
        locale=language,
        reduced_motion="reduce",
        **more,
    )
    context.add_init_script(_REPORT)
    page = context.new_page()
    page.set_default_timeout(20_000)
    view = BrowserView(page)
    page.on("pageerror", lambda error: view.problems.append(f"error: {error}"))
    page.on("console", lambda said: said.type == "error" and view.problems.append(f"console: {said.text}"))
    page.on("request", lambda request: view.requests.append(request.url))
    try:
        yield view
    finally:
        context.close()


def expect(found: Locator) -> LocatorAssertions:
    """What is expected of a page soon: a click does not wait for the page that it leads to."""
    from playwright.sync_api import expect as wait_for

    wait_for.set_options(timeout=20_000)
    return wait_for(found)
