"""The content of any page: its blocks with their structure, as text, Markdown, HTML and JSON."""

from __future__ import annotations

import json

from lycosa import parse
from lycosa.content.page_content import MainContent, find_template, read_html_content, read_page_content
from lycosa.content.page_kind import KINDS
from lycosa.parse import Doc

PROSE = (
    "The harbour of Oakham was closed on Monday, after a storm had torn three ships from their moorings.",
    "Nobody was hurt, the harbour master said, but the repair of the long quay will take until the summer.",
    "Fishermen have been asked to land their catch in Bramley, where the town has opened a second hall for them.",
)


def read(inner: str, head: str = "", *, with_places: bool = False) -> MainContent:
    page = (
        f"<!doctype html><html lang=en><head><title>Storm closes harbour</title>{head}</head>\n<body><nav>"
        f"<a href=/>Home</a></nav>\n<article><h1>Storm closes harbour</h1>\n"
        f"<p>{PROSE[0]}</p>\n<p>{PROSE[1]}</p>\n{inner}"
        f"\n<p>{PROSE[2]}</p></article></body></html>"
    )
    return read_html_content(page.encode(), url="http://post.test/a/story", with_places=with_places)


def kinds(page: MainContent) -> list[str]:
    return [block.kind for block in page.blocks]


def test_structure_is_kept() -> None:
    """Lists with their levels, code with its lines and language, quotes, images with captions, in Markdown."""
    page = read(
        "<h2>What is <em>known</em></h2><ul><li>One<ul><li>Deep</li></ul></li><li>Two"
        ' <a href="../b?x=(1)">b</a></li></ul>'
        '<ol start=3><li>three<li>four</ol><pre><code class="language-python">def f():\n    return "`"\n</code></pre>'
        "<blockquote><p>It was the worst night of my life, said the keeper.</p></blockquote>"
        '<figure><img src=/quay.jpg alt="The quay"><figcaption>The quay on Monday</figcaption></figure>'
        "<p>A <code>code</code> with <b>bold * star</b>.</p>"
    )
    for part in (
        "## What is *known*",
        "- One\n    - Deep\n- Two [b](http://post.test/b?x=%281%29)",
        "3. three\n4. four",
        '```python\ndef f():\n    return "`"\n```',
        "> It was the worst night of my life, said the keeper.",
        "![The quay](http://post.test/quay.jpg)\n\n*The quay on Monday*",
        r"A `code` with **bold \* star**.",
    ):
        assert part in page.markdown, page.markdown
    assert "Home" not in page.text
    assert '    return "`"' in page.text
    assert "[1]: http://post.test/b?x=%281%29" in page.write_markdown(links="numbered")
    assert "http" not in page.write_markdown(links="none").replace("http://post.test/quay.jpg", "")


def test_tables_keep_their_cells() -> None:
    """A cell over several columns or rows stands once, in its place; a table of layout is none."""
    page = read(
        "<table><caption>Ships</caption><tr><th>Name<th colspan=2>Size</tr><tr><td rowspan=2>Anna|B<td>12<td>m</tr>"
        "<tr><td>40<td>ft</tr></table><table role=presentation><tr><td><p>Only laid out.</p></td></tr></table>"
    )
    assert "Ships\n\n| Name | Size |  |\n| --- | --- | --- |\n| Anna\\|B | 12 | m |\n|  | 40 | ft |" in page.markdown
    table = next(block for block in page.blocks if block.kind == "table")
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["Name", "Size"],
        ["Anna|B", "12", "m"],
        ["40", "ft"],
    ]
    assert '<td rowspan="2">Anna|B</td>' in page.html
    assert "Only laid out." in page.text and kinds(page).count("table") == 1


def test_formulas_are_tex() -> None:
    """Of KaTeX, MathJax, MathML and delimiters, in the line and on their own."""
    page = read(
        '<p>So <span class="katex"><span class="katex-mathml"><math><mi>x</mi><annotation encoding="application/x-tex">'
        'x^{2}</annotation></math></span><span class="katex-html" aria-hidden="true">x2</span></span> and '
        '<span class="MathJax_Preview">y</span><script type="math/tex">y_1</script> and \\(a+b\\) and '
        "<math><mfrac><mi>a</mi><msqrt><mi>α</mi></msqrt></mfrac></math> are small.</p>"
        '<p><math display="block" alttext="E=mc^2"><mi>E</mi></math></p>'
    )
    assert r"So $x^{2}$ and $y_1$ and $a+b$ and $\frac{a}{\sqrt{\alpha}}$ are small." in page.markdown
    assert "$$\nE=mc^2\n$$" in page.markdown and "formula" in kinds(page)


def test_blocks_tell_their_places() -> None:
    """Line and column in the source, where they are asked for."""
    page = read("<pre>a\nb</pre>", with_places=True)
    found = next(block for block in page.blocks if block.kind == "code")
    assert (found.line, found.column, found.text) == (6, 1, "a\nb")
    assert json.loads(json.dumps(page.as_dict()))["blocks"][-1]["text"] == PROSE[2]


def test_hostile_pages_give_safe_html() -> None:
    """No script, no address that runs one, no element but known ones; a page without an end ends."""
    page = read(
        '<p>See <a href="javascript:alert(1)">this</a> &lt;script&gt; <b onclick=x>bold</b></p><img src=x onerror=1>'
    )
    assert "javascript" not in page.html and "onclick" not in page.html and "<script" not in page.html
    deep = read_html_content(b"<div>" * 20_000 + b"<li>" * 20_000, url="http://post.test/")
    assert deep.text == "" and deep.markdown == ""
    for part in (
        "<ol>" + "<li>x" * 8_000, "<p>" + r"\\(" * 30_000, "<h3>Search</h3><p>Menu</p>" * 3_000,
        '<div class="message comment" id="post-1"><p class=content>x' * 5_000, "<table><tr><td>" * 3_000,
        '<span class="katex h-card p-name">' * 5_000, "<pre><code>x</code>" * 3_000,
    ):  # fmt: skip
        page = read_html_content(f"<body>{part}".encode(), url="http://forum.test/threads/a.1/")
        assert page.kind == "forum" and len(page.markdown) < 3_000_000
    assert read_html_content(b"%PDF-1.7", url="http://post.test/x.pdf", headers={}).blocks == ()


SECTIONS = "".join(
    f"<section><h2>What we do, part {n}</h2><p>We build part {n} of your house with {n} hands.</p></section>"
    for n in range(9)
)
POSTS = "".join(
    f'<article class="message" id="post-{n}"><div class="message-user"><a class="username">writer{n}</a>'
    " Posts: 40</div>"
    f'<time datetime="2024-05-0{n + 1}T10:00:00Z">May {n + 1}, 2024</time><div class="message-body">'
    f'<div class="bbWrapper">This is what I think of it, in post number {n}.</div></div></article>'
    for n in range(4)
)


def read_whole(body: str, url: str, head: str = "") -> MainContent:
    return read_html_content(f"<html><head>{head}</head><body>{body}</body></html>".encode(), url=url)


def test_a_landing_page_is_read_with_all_its_sections() -> None:
    """What stands in many small pieces, without menus and what the page says twice."""
    nav = "<nav><ul><li><a href=/a>Houses</a></li></ul></nav>"
    slides = "<div class=slide>Twice told: a slide of the carousel.</div>" * 2
    page = read_whole(f"{nav}<main><h1>Houses</h1>{SECTIONS}{slides}</main><footer>Imprint</footer>", "http://h.test/")
    assert page.kind == "service" and "path /" in page.why
    assert all(f"part {n} of your house" in page.text for n in range(9))
    assert page.text.count("Twice told") == 1 and "Imprint" not in page.text


def test_a_thread_is_read_with_authors_and_days() -> None:
    """Every post, with who wrote it and when, and none of what stands beside it."""
    page = read_whole(f"<h1>A question</h1>{POSTS}<p>Similar threads</p>", "http://forum.test/threads/a.1/")
    assert page.kind == "forum"
    posts = [block for block in page.blocks if block.kind == "post"]
    assert [(post.author, post.date) for post in posts] == [(f"writer{n}", f"2024-05-0{n + 1}") for n in range(4)]
    assert "post number 3." in page.text and "Posts: 40" not in page.text
    assert "**writer0**, May 1, 2024" in page.markdown


def test_a_product_is_read_without_others() -> None:
    """Its description and its features; no reviews, and no products of the kind."""
    head = '<script type="application/ld+json">{"@type": "Product", "name": "Lamp"}</script>'
    others = "".join(f'<li><a href="/p/{n}">Another lamp, number {n}</a> $ {n}</li>' for n in range(8))
    page = read_whole(
        f"<h1>Lamp</h1><p>{PROSE[0]}</p><p>{PROSE[2]} And {PROSE[0]}</p><ul><li>Height: 20 cm</li></ul>"
        f"<div class=reviews><p>{PROSE[1]}</p></div>"
        f"<h2>You may also like</h2><ul>{others}</ul>",
        "http://shop.test/products/lamp",
        head,
    )
    assert page.kind == "product"
    assert PROSE[0] in page.text and "Height: 20 cm" in page.text
    assert PROSE[1] not in page.text and "Another lamp" not in page.text


def test_rules_of_kinds_can_be_read() -> None:
    """Each signal is of a known kind, asks for something that exists, and every selector is one."""
    for url in ("http://a.test/", "http://a.test/x?y=1"):
        assert read_whole("<p>Nothing here.</p>", url).kind in KINDS
    assert read_whole("<h1>Gone</h1>", "http://a.test/x", "<title>404 Not Found</title>").kind == "error"


def test_what_templates_of_a_site_say_is_left_out() -> None:
    """What three pages of a site have in common is no content of a fourth."""
    notice = "<p>Our editors are independent, and every story of this paper can be read in the reading room.</p>"
    pages = [
        read_page_content_doc(f"<article><h1>Story {n}</h1>{notice}<p>{PROSE[n % 3]} {n} ships.</p></article>", n)
        for n in range(4)
    ]
    template = find_template(pages[:3])
    assert "reading room" in read_page_content(pages[3]).text
    assert "reading room" not in read_page_content(pages[3], template=template).text
    assert "3 ships" in read_page_content(pages[3], template=template).text
    assert find_template(pages[:2]) == frozenset()


def read_page_content_doc(body: str, number: int) -> Doc:
    return parse.read(f"http://post.test/{number}", {"content-type": "text/html"}, body.encode())


def test_a_product_that_scripts_draw_is_told_by_its_data() -> None:
    """Where the page itself says less."""
    data = json.dumps({"@type": "Product", "name": "Lamp", "description": PROSE[0]})
    page = read_whole("<div id=root></div>", "http://s.test/p/1", f"<script type='application/ld+json'>{data}</script>")
    assert page.kind == "product" and page.text == PROSE[0]
