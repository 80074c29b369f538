"""A site that React makes in the browser: every address answers with the same empty page and its script."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from acceptance.real.articles import make_articles
from acceptance.real.nginx_server import nginx_over
from acceptance.real.site import Absent, Site, Truth

from lycosa.render.browser_processes import find_browser

NAME = "react"
FOLDER = Path("/usr/share/nodejs")
ARTICLES = 30
SHELL = """<!DOCTYPE html><html><head><title>Parts</title></head><body><div id="root"></div>
<script src="/react.production.min.js"></script><script src="/react-dom.production.min.js"></script>
<script src="/site.js"></script></body></html>"""
SCRIPT = """
const make = React.createElement;
function Article({articles}) {
  const here = articles.find(article => "/" + article.name === location.pathname) || articles[0];
  React.useEffect(() => { document.title = here.title; });
  return make("main", null, make("h1", null, here.title), make("p", null, here.text),
    here.links.map(name => make("a", {key: name, href: "/" + name}, name)));
}
fetch("/articles.json").then(answer => answer.json()).then(articles =>
  ReactDOM.createRoot(document.getElementById("root")).render(make(Article, {articles})));
"""


@contextmanager
def serve(folder: Path) -> Iterator[Site]:
    """The pages that exist: every article, each of which only a browser can read."""
    scripts = [FOLDER / name / "umd" / f"{name}.production.min.js" for name in ("react", "react-dom")]
    if missing := [script.name for script in scripts if not script.is_file()] or find_browser().missing:
        raise Absent(f"{missing} missing (Debian packages node-react, node-react-dom, chromium-headless-shell)")
    root = folder / "root"
    root.mkdir()
    for script in scripts:
        shutil.copy(script, root)
    articles = make_articles(ARTICLES)
    names = {title: title.lower().replace(" ", "-") for title in articles}
    told = [
        {"name": names[title], "title": title, "text": text, "links": sorted({names[link] for link in links})}
        for title, (text, links) in articles.items()
    ]
    (root / "articles.json").write_text(json.dumps(told))
    (root / "index.html").write_text(SHELL)
    (root / "site.js").write_text(SCRIPT)
    with nginx_over(root, folder=folder, rules="location / { try_files $uri /index.html; }") as base:
        pages = frozenset({base, *(base + name for name in names.values())})
        yield Site(url=base, truth=Truth(pages=pages), options=("--render", "auto"))
