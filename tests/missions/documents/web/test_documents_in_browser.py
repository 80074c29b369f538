"""The documents' pages in a real browser: light, dark and narrow, for people with disabilities, used and attacked."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from support.serve_browser import browsing, expect, needs_browser, viewing
from support.serve_client import ServeClient, serving

from lycosa.collection.collection import Collection
from lycosa.missions.documents.catalogue import open_catalogue
from lycosa.missions.documents.said_by_people import keep_correction, keep_decision

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_browser

SITE = "http://www.faculty.test"
PAPER = f"{SITE}/~acasali/caudales.pdf"
PAGES = "/c/faculty/m/documents"
SCRIPTS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "</textarea><svg onload=alert(4)>",
    "</title><script>alert(6)</script>",
    "{{ 7 * 7 }}{% raw %}",
)


@pytest.fixture(scope="module")
def client(crawled: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServeClient]:
    root = tmp_path_factory.mktemp("served")
    shutil.copytree(crawled, root / "faculty")
    shutil.copytree(crawled, root / "hostile")
    with Collection(root / "hostile") as collection, open_catalogue(collection) as catalogue:
        for field in ("title", "category", "subcategory", "language", "abstract", "doi"):
            keep_correction(catalogue, PAPER, field, [SCRIPTS[len(field) % len(SCRIPTS)]])
        for field in ("authors", "affiliations", "keywords", "rights"):
            keep_correction(catalogue, PAPER, field, SCRIPTS)
        keep_decision(catalogue, [PAPER], "", "asked", "".join(SCRIPTS))
    with serving(root) as client:
        yield client


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as browser:
        yield browser


def test_a_value_is_put_right_beside_its_page(browser: Browser, client: ServeClient) -> None:
    """From the list to the document, its places on the drawn page, a correction, an answer; all in Spanish."""
    with viewing(browser, language="es") as view:
        page = view.open(client.address + PAGES + "/")
        page.get_by_role("link", name="Caudales mínimos en cuencas de montaña").click()
        expect(page.locator("svg.paper rect.place").nth(3)).to_be_attached()
        assert page.evaluate("document.querySelector('svg.paper image').getBBox().width") == 595
        page.locator("dd", has_text="Departamento de Hidrología").get_by_role("link", name="página 1").click()
        expect(page.locator("rect.place.chosen title")).to_contain_text("Afiliaciones: Departamento de Hidrología")
        page.locator("summary", has_text="Título").click()
        page.get_by_label("Título", exact=True).fill("Caudales mínimos")
        page.get_by_role("button", name="Guardar Título").click()
        expect(page.locator("h1")).to_have_text("Caudales mínimos")
        expect(page.locator(".value", has_text="corregido")).to_have_count(1)
        page.get_by_label("Autor", exact=True).select_option("Luis Gil")
        page.get_by_label("Respuesta").select_option("granted")
        page.get_by_label("Nota").fill("por teléfono")
        page.get_by_role("button", name="Anotar").click()
        expect(page.locator("main")).to_contain_text("por teléfono")
        view.check()
        page.reload()
        page.get_by_role("button", name="Retirar la corrección Título").click()
        expect(page.locator("h1")).to_have_text("Caudales mínimos en cuencas de montaña")
        view.check()


def test_hostile_values_are_shown_as_text(browser: Browser, client: ServeClient) -> None:
    """In every field, in the list, the facets, the contacts and the notes; nothing runs, nothing is even tried."""
    base = f"{client.address}/c/hostile/m/documents"
    with viewing(browser) as view:
        for path in ("/", "/?q=%3Cscript%3E", f"/document?url={quote(PAPER, safe='')}&field=title", "/contacts?all=1"):
            page = view.open(base + path)
            page.wait_for_timeout(200)
            assert page.locator("main img, main [onload], main [onerror], main script").count() == 0
            view.check()
        assert "alert(1)" in page.locator("main").inner_text()
