"""Small repositories and a journal: the heads of their pages as each program sends them, one work each, with what is
known of it; the files print other words than the records."""

from __future__ import annotations

from msgspec import Struct
from support.loopback import Reply, Web


class WorkPage(Struct):
    """A landing page, its file, and what a reader should know of the work."""

    program: str
    host: str
    path: str
    html: str
    file: str
    title: str
    authors: list[str]
    year: str
    doi: str = ""
    institution: str = ""
    abstract: str = ""
    kind: str = ""
    licence: str = ""
    orcid: str = ""
    oai: str = ""
    headers: dict[str, str] = {}


def _metas(*pairs: tuple[str, str]) -> str:
    return "".join(f'<meta name="{name}" content="{value}">' for name, value in pairs)


def _page(head: str, body: str = "", *, attributes: str = "") -> str:
    return f'<!DOCTYPE html><html lang="en"><head>{head}</head><body {attributes}>{body}</body></html>'


DSPACE = WorkPage(
    "dspace", "dspace.test", "/items/6f0c41a2-1c2e-4b8e-9f43-2f3b6f2c7a11",
    _page(
        "<title>Low flows in mountain basins</title><base href='/'>"
        + _metas(
            ("Generator", "DSpace 7.6.1"), ("title", "Low flows in mountain basins"),
            ("description", "We estimate low flows of eleven basins."),
            ("citation_title", "Low flows in mountain basins"), ("citation_author", "Casali, Ana"),
            ("citation_author", "Gil Ramos, Luis"), ("citation_publication_date", "2019-05-02"),
            ("citation_language", "en"), ("citation_keywords", "hydrology; low flow"),
            ("citation_dissertation_name", "Thesis"), ("citation_dissertation_institution", "University of Villaverde"),
            ("citation_abstract_html_url", "http://dspace.test/handle/123/45"),
            ("citation_pdf_url", "http://dspace.test/bitstreams/0b6f7c1e-93a5-4f0a-8a51-27d1cf1d6a10/download"),
        ),
        "<ds-app></ds-app><noscript>You need JavaScript</noscript><p>" + "Low flows. " * 40 + "</p>",
    ),
    "/bitstreams/0b6f7c1e-93a5-4f0a-8a51-27d1cf1d6a10/download",
    "Low flows in mountain basins", ["Ana Casali", "Luis Gil Ramos"], "2019",
    institution="University of Villaverde", kind="thesis", oai="http://dspace.test/server/oai/request",
)  # fmt: skip
EPRINTS = WorkPage(
    "eprints", "eprints.test", "/1234/",
    _page(
        "<title>Trust in machines - EPrints</title>"
        + _metas(
            ("eprints.eprintid", "1234"), ("eprints.creators_name", "O'Neill, Mary"),
            ("eprints.creators_name", "van der Berg, Jan"), ("eprints.type", "thesis"),
            ("eprints.title", "Trust in machines"),
            ("eprints.abstract", "Why people trust machines, and when."), ("eprints.date", "2021-11"),
            ("eprints.institution", "University of Westhaven"), ("eprints.id_number", "10.1234/trust.1234"),
            ("eprints.document_url", "http://eprints.test/1234/1/thesis_final.pdf"),
            ("eprints.keywords", "trust, machines"), ("DC.title", "Trust in machines"), ("DC.creator", "O'Neill, Mary"),
            ("DC.date", "2021-11"), ("DC.type", "Thesis"), ("generator", "EPrints 3.4.3"),
        ),
        "<a href='/1234/1/thesis_final.pdf'>Text</a>",
    ),
    "/1234/1/thesis_final.pdf", "Trust in machines", ["Mary O'Neill", "Jan van der Berg"], "2021",
    doi="10.1234/trust.1234", institution="University of Westhaven", kind="thesis",
    abstract="Why people trust machines, and when.", oai="http://eprints.test/cgi/oai2",
)  # fmt: skip
OJS = WorkPage(
    "ojs", "ojs.test", "/index.php/jhs/article/view/77",
    _page(
        "<title>Irrigation and the village | Journal of Hill Studies</title>"
        + _metas(
            ("generator", "Open Journal Systems 3.3.0.13"), ("gs_meta_revision", "1.1"),
            ("citation_journal_title", "Journal of Hill Studies"), ("citation_journal_abbrev", "JHS"),
            ("citation_author", "Priya Raman"), ("citation_author_institution", "Hill University"),
            ("citation_author", "Tomás Núñez"), ("citation_author_institution", "Universidad de la Sierra"),
            ("citation_title", "Irrigation and the village"), ("citation_language", "en"),
            ("citation_date", "2020/03/14"), ("citation_volume", "7"), ("citation_doi", "10.5555/jhs.v7i1.77"),
            ("citation_pdf_url", "http://ojs.test/index.php/jhs/article/download/77/65"),
            ("DC.Creator.PersonalName", "Priya Raman"), ("DC.Creator.PersonalName", "Tomás Núñez"),
            ("DC.Description", "Villages share water by the hour."), ("DC.Identifier.DOI", "10.5555/jhs.v7i1.77"),
            ("DC.Rights", "https://creativecommons.org/licenses/by/4.0"), ("DC.Title", "Irrigation and the village"),
        ),
        "<a class='obj_galley_link pdf' href='http://ojs.test/index.php/jhs/article/view/77/65'>PDF</a>",
        attributes='class="pkp_page_article pkp_op_view"',
    ),
    "/index.php/jhs/article/download/77/65", "Irrigation and the village", ["Priya Raman", "Tomás Núñez"], "2020",
    doi="10.5555/jhs.v7i1.77", institution="Hill University", kind="article",
    abstract="Villages share water by the hour.",
    licence="https://creativecommons.org/licenses/by/4.0", oai="http://ojs.test/index.php/jhs/oai",
)  # fmt: skip
DATAVERSE = WorkPage(
    "dataverse", "dataverse.test", "/dataset.xhtml?persistentId=doi:10.70122/FK2/AB12CD",
    _page(
        "<title>Household water survey - Root Dataverse</title>"
        + _metas(
            ("DC.identifier", "doi:10.70122/FK2/AB12CD"), ("DC.type", "Dataset"),
            ("DC.title", "Household water survey"),
            ("DC.date", "2022-01-10"), ("DC.publisher", "Root"), ("DC.description", "Answers of 600 households."),
            ("DC.creator", "Okafor, Chidi"), ("DC.creator", "Lindqvist, Eva"), ("DC.subject", "Water"),
        )
        + '<script type="application/ld+json">{"@context": "http://schema.org", "@type": "Dataset", "@id":'
        ' "https://doi.org/10.70122/FK2/AB12CD", "name": "Household water survey", "creator": [{"@type": "Person",'
        ' "name": "Okafor, Chidi", "affiliation": {"@type": "Organization", "name": "Delta Institute"}, "@id":'
        ' "https://orcid.org/0000-0002-1825-0097"}, {"@type": "Person", "name": "Lindqvist, Eva"}], "datePublished":'
        ' "2022-01-10", "license": "http://creativecommons.org/publicdomain/zero/1.0", "description":'
        ' ["Answers of 600 households."], "distribution": [{"@type": "DataDownload", "name": "codebook.pdf",'
        ' "contentUrl": "http://dataverse.test/api/access/datafile/91"}]}</script>',
        '<form id="datasetForm"></form>',
    ),
    "/api/access/datafile/91", "Household water survey", ["Chidi Okafor", "Eva Lindqvist"], "2022",
    doi="10.70122/fk2/ab12cd", institution="Delta Institute", abstract="Answers of 600 households.",
    licence="http://creativecommons.org/publicdomain/zero/1.0", orcid="0000-0002-1825-0097",
    oai="http://dataverse.test/oai",
)  # fmt: skip
INVENIO = WorkPage(
    "invenio", "invenio.test", "/records/42",
    _page(
        "<title>Wind over ridges | Zenodo</title>"
        + _metas(
            ("generator", "InvenioRDM 12"), ("description", "Measured wind over ridges."),
            ("citation_title", "Wind over ridges"), ("citation_author", "Sato, Yuki"),
            ("citation_author_orcid", "0000-0001-5109-3700"),
            ("citation_doi", "10.5281/zenodo.42"), ("citation_publication_date", "2023/08/01"),
            ("citation_abstract_html_url", "http://invenio.test/records/42"),
            ("citation_pdf_url", "http://invenio.test/records/42/files/ridges.pdf"),
        )
        + '<link rel="alternate" type="application/pdf" href="http://invenio.test/records/42/files/ridges.pdf">',
    ),
    "/records/42/files/ridges.pdf", "Wind over ridges", ["Yuki Sato"], "2023", doi="10.5281/zenodo.42",
    orcid="0000-0001-5109-3700", licence="https://creativecommons.org/licenses/by/4.0/", oai="http://invenio.test/oai2d",
    headers={
        "Link": '<https://doi.org/10.5281/zenodo.42>; rel="cite-as", <https://creativecommons.org/licenses/by/4.0/>;'
        ' rel="license", <http://invenio.test/records/42/files/ridges.pdf>; rel="item"; type="application/pdf"'
    },
)  # fmt: skip
WORKS = (DSPACE, EPRINTS, OJS, DATAVERSE, INVENIO)


def serve(web: Web, work: WorkPage, pdf: bytes) -> str:
    """Put a repository of one work on a web; returns the address of its landing page."""
    web[work.host + work.path] = Reply(
        work.html.encode(), headers={"Content-Type": "text/html; charset=utf-8", **work.headers}
    )
    web[work.host + work.file] = Reply(pdf, headers={"Content-Type": "application/pdf"})
    return f"http://{work.host}{work.path}"
