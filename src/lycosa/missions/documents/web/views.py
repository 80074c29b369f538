"""Views of the documents mission that are no lists: a document beside its pages, what people say, and harvesters."""

from __future__ import annotations

from msgspec import Struct
from starlette.responses import RedirectResponse, Response

from lycosa.errors import CollectionError
from lycosa.missions.documents.catalogue import kept_catalogue, shown_catalogue
from lycosa.missions.documents.model import Box
from lycosa.missions.documents.oai import offer_documents
from lycosa.missions.documents.said_by_people import keep_correction, keep_decision, split_values
from lycosa.missions.documents.web.document_detail import DocumentDetail, describe_document
from lycosa.missions.documents.web.page_image import draw_page
from lycosa.missions.web import View, WebRequest, read_number

_MOST_PAGES = 5000
_MOST_ARGUMENTS = 50


class MarkedPlace(Struct, frozen=True):
    """A place on the page that is shown, and what was read there."""

    field: str
    value: str
    box: Box
    is_chosen: bool


class DocumentPage(Struct, frozen=True):
    """A document beside one of its pages; sizes and places are in points."""

    document: DocumentDetail
    page: int
    field: str  # whose places are marked most
    width: float  # 0: the page is not drawn
    height: float
    problem: str  # why it is not
    places: tuple[MarkedPlace, ...]


def show_document(request: WebRequest) -> View:
    """One document: ?url=…, &page= the page that is shown, &field= whose places are marked."""
    detail = describe_document(request.collection, request.query.get("url", ""))
    field = request.query.get("field", "")
    page = read_number(
        request.query, "page", _first_page(detail, field), least=1, most=max(1, min(detail.pages, _MOST_PAGES))
    )
    image = None
    problem = ""
    if detail.format == "pdf" and not request.as_json:
        try:
            image = draw_page(request.collection, detail.url, page)
        except CollectionError as error:
            problem = str(error)
    places = {
        (value.field, proof.box): MarkedPlace(value.field, value.value, proof.box, value.field == field)
        for value in detail.values
        for proof in value.evidence
        if proof.page == page and proof.box is not None and not proof.url
    }
    size = (image.width, image.height) if image else (0.0, 0.0)
    return View("document.html", DocumentPage(detail, page, field, *size, problem, tuple(places.values())))


def _first_page(detail: DocumentDetail, field: str) -> int:
    """The page on which a field was read."""
    proofs = [proof for value in detail.values if value.field == field for proof in value.evidence]
    return next((proof.page for proof in proofs if proof.page and not proof.url), 1)


def send_image(request: WebRequest) -> Response:
    """The picture of a page of a PDF: ?url=…&page=…"""
    number = read_number(request.query, "page", 1, least=1, most=_MOST_PAGES)
    image = draw_page(request.collection, request.query.get("url", ""), number)
    return Response(image.png, media_type="image/png", headers={"cache-control": "private, max-age=600"})


def correct(request: WebRequest) -> Response:
    """Keep a correction, or take it back."""
    form = request.form
    undo = form.get("undo", "") == "1"
    field = form.get("field", "")
    values = [] if undo else split_values(field, form.get("value", ""))
    with shown_catalogue(request.folder) as (catalogue, _):
        url = keep_correction(catalogue, form.get("url", ""), field, values, undo=undo)
    return RedirectResponse(request.mission_link("document", url=url, field=field), 303)


def decide(request: WebRequest) -> Response:
    """Keep that an author was asked, or what the answer was."""
    form = request.form
    url, author = form.get("url", ""), form.get("author", "")
    note = form.get("note", "").strip()
    with shown_catalogue(request.folder) as (catalogue, _):
        keep_decision(catalogue, [url] if url else [], author, form.get("state", ""), note)
    back = request.mission_link("document", url=url) if url else request.mission_link("contacts", all="1", q=author)
    return RedirectResponse(back, 303)


def write_letters(request: WebRequest) -> Response:
    """Have the letters to all authors written as files, in the background."""
    product = request.new_product("letters")
    words = ["contacts", f"--letters={request.folder / product}"]
    return RedirectResponse(request.start_work(words, label=request.translate("Letters"), product=product), 303)


def answer_harvester(request: WebRequest) -> Response:
    """OAI-PMH over the wanted documents."""
    return _answer_harvester(request, "oai", only_granted=False)


def answer_granted(request: WebRequest) -> Response:
    """OAI-PMH over the documents whose authors granted it."""
    return _answer_harvester(request, "oai/granted", only_granted=True)


def _answer_harvester(request: WebRequest, path: str, *, only_granted: bool) -> Response:
    base = request.origin + request.mission_link(path)
    catalogue, _ = kept_catalogue(request.folder)
    wanted = (document for document in catalogue.documents if document.wanted)
    repository = offer_documents(request.collection, wanted, only_granted=only_granted)
    arguments = [*request.query.multi_items(), *request.form.multi_items()]
    body = repository.answer(arguments[:_MOST_ARGUMENTS], base=base)
    return Response(body, media_type="text/xml; charset=utf-8")
