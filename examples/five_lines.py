"""A crawl in five lines. Start `python3 -m http.server 8000 --directory examples/site` first."""

from lycosa import crawl

with crawl("http://localhost:8000/", collection="spiders", delay=0.1) as collection:
    for page in collection:
        print(page.url, page.title, len(page.links), len(page.text), sep=" | ")
