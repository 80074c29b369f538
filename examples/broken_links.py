"""Which pages of a collection link to addresses that are gone: python3 examples/broken_links.py COLLECTION"""

import sys

from lycosa import Collection

with Collection(sys.argv[1] if len(sys.argv) > 1 else "collection") as collection:
    gone = {known.url: known.http for known in collection.urls(state="gone")}
    for page in collection:
        for link in page.links:
            if link.url in gone:
                print(f"{page.url} links to {link.url} ({gone[link.url]}) as {link.text!r}")
