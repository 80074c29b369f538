"""A real browser that looks at the page: every error of a script and every breach of the policy is remembered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from lycosa.render.browser_discovery import find_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, LocatorAssertions, Page

#: A name of another site, which leads to this machine.
REBOUND = "rebound.example"

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

    def overflow(self) -> int:
        """By how many pixels the page is wider than the window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def find_barriers(self) -> list[str]:
        """What axe finds serious or critical for people with disabilities."""
        from axe_playwright_python.sync_playwright import Axe

        response: dict[str, Any] = Axe().run(self.page).response
        return [
            f"{found['id']}: {found['nodes'][0]['html']} ({len(found['nodes'])}): {found['nodes'][0]['failureSummary']}"
            for found in response["violations"]
            if found["impact"] in ("serious", "critical")
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
