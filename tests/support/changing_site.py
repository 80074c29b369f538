"""A small site whose pages change at every visit without saying anything new; what they say is set by tests."""

from __future__ import annotations

import datetime
import random
import uuid

from support.loopback import Reply

STORY = (
    "The council of the valley decided on Tuesday evening to close the old stone bridge over the river for repairs.",
    "Engineers had found cracks in two of its seven arches after the floods of last winter, and asked for haste.",
    "Until the works end, cars take the road along the mill, while the path for walkers stays open by day.",
)
_TEASERS = (
    "Ten recipes with chestnuts for long evenings",
    "Why the old cinema is full again",
    "A walk along the seven springs",
    "The choir looks for new voices",
    "What the baker knows of weather",
    "Snow on the pass earlier than ever",
)


class ChangingSite:
    """Pages with noise of every class; `story` and `price` are what they say."""

    def __init__(self, seed: int = 0) -> None:
        self.random = random.Random(seed)
        self.story = list(STORY)
        self.price = "12.50 €"
        self.noise = True

    def make(self, address: str) -> Reply | None:
        """What the site answers now; for `Web.make`."""
        host, _, path = address.partition("/")
        if host != "valley.test" or path not in ("", "story", "shop/lamp"):
            return None
        body = self.front() if not path else self.article() if path == "story" else self.product()
        page = f"<!DOCTYPE html><html lang=en><head>{body}</body></html>"
        return Reply(page.encode(), headers={"Content-Type": "text/html; charset=utf-8"})

    def front(self) -> str:
        return '<title>Valley</title></head><body><a href="/story">Story</a> <a href="/shop/lamp">Lamp</a>'

    def article(self) -> str:
        paragraphs = "".join(f"<p>{line}</p>" for line in self.story)
        return (
            f"<title>Bridge closed</title></head><body>{self.banner()}<main><h1>Bridge closed</h1>"
            f"<p class=x>{self.stamp()}</p><article>{paragraphs}<p>{self.counter()}</p></article></main>"
            f"{self.teasers()}"
        )

    def product(self) -> str:
        stock = self.noisy("<p>{} people watch this</p>", lambda: self.random.randint(2, 40))
        return (
            f"<title>Lamp</title></head><body>{self.banner()}<main><h1>Lamp</h1><p>{self.stamp()}</p>"
            f"<p>A lamp of brass and glass, made by hand in the valley, with a shade of white linen.</p>"
            f"<p class=price>{self.price}</p>{stock}{self.features()}</main>{self.teasers()}"
        )

    def noisy(self, form: str, make: object) -> str:
        return form.format(make() if callable(make) else make) if self.noise else form.format(7)

    def stamp(self) -> str:
        now = datetime.datetime.now(datetime.UTC)
        forms = (
            f"Today is {now:%A, %d %B %Y}",
            f"Last updated: {now:%d.%m.%Y %H:%M}",
            f"Updated {self.random.randint(2, 59)} minutes ago",
            f"Page generated on {now:%Y-%m-%d} at {now:%H:%M:%S} UTC",
        )
        return self.random.choice(forms) if self.noise else forms[0]

    def counter(self) -> str:
        return self.noisy("{} comments", lambda: self.random.randint(1, 500))

    def banner(self) -> str:
        token = uuid.UUID(int=self.random.getrandbits(128)) if self.noise else uuid.UUID(int=1)
        return f'<nav><a href="/?utm_source={token}">Home</a></nav><div class=ad>Buy {token}</div>'

    def teasers(self) -> str:
        chosen = self.random.sample(_TEASERS, 3) if self.noise else _TEASERS[:3]
        links = "".join(f'<li><a href="/?t={n}">{text}</a></li>' for n, text in enumerate(chosen))
        return f"<aside class=related><ul>{links}</ul></aside>"

    def features(self) -> str:
        items = ["Height 40 cm", "Weight 2 kg", "Cable 3 m", "Bulb E27"]
        if self.noise:
            self.random.shuffle(items)
        return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"
