"""A URL in, every rule of its collection's mission out, in the order in which the crawl asks them, with its verdict.

The rules are the crawl's own (`judge/admission/rules.py`, `fetch/robots.py`), fed with what the collection holds: all
its seeds, its trap counters, the robots.txt that was fetched. Nothing is counted and nothing is fetched.
"""

from __future__ import annotations

from msgspec import Struct

from lycosa import urls
from lycosa.collection.collection import Collection
from lycosa.config.settings import Mission
from lycosa.fetch.client import find_rule
from lycosa.fetch.robots import decision
from lycosa.frontier.contract import BARRED
from lycosa.frontier.partitions import host_key
from lycosa.judge.admission.rules import Rules
from lycosa.judge.admission.traps import Tallies
from lycosa.model import State
from lycosa.reasons import explain

_TO_BE_FETCHED = (State.PENDING, State.WAITING)
#: Refusals that come after the rules of an address have let it pass.
_LATER = ("robots", "host-budget", "host-quota", "noarchive")


class Ruling(Struct):
    """One rule and what it says; not ok: it refuses; None: what it needs is not known yet."""

    rule: str
    ok: bool | None
    detail: str


class Discovered(Struct, frozen=True):
    """How an address was found, as far as the rules ask; without a state it was not."""

    depth: int = 1
    seed: bool = False
    via: str = ""
    state: int | None = None
    reason: str = ""


class Grounds:
    """The rules as they are for one host."""

    def __init__(self, collection: Collection, mission: Mission, *, host: str) -> None:
        self._rows = collection.rows
        self._mission = mission
        self._host = host
        rule, fetch = find_rule(mission.hosts, host), mission.fetch
        self.delay_s = fetch.delay_s if rule is None or rule.delay_s is None else rule.delay_s
        self.per_host = fetch.per_host if rule is None or rule.per_host is None else rule.per_host
        self.robots_at, self.robots_status = 0.0, 0
        self._mode = rule.robots if rule is not None and rule.robots else fetch.robots
        self._rules = Rules(mission, collection.seeds(), tallies=Tallies(self._tallies))

    def judge(self, url: str, finding: Discovered) -> list[Ruling]:
        """Every rule in turn."""
        if finding.via == "sitemap":  # a list of pages, followed whatever the other rules say
            rows = [("scope", self._rules.judge_sitemap(url, host=self._host))]
        else:
            rows = self._rules.explain(url, depth=finding.depth, host=self._host, seed=finding.seed)
        rulings = [Ruling(rule, verdict.ok, verdict.detail) for rule, verdict in rows]
        if finding.state is not None:
            self._recall(rulings, finding)
        if finding.reason in BARRED:
            rulings.append(self._ask_bar(finding.reason))
        elif finding.reason == "trap:sitemaps":
            rulings.append(Ruling(finding.reason, False, explain(finding.reason).meaning))
        return [*rulings, self._ask_robots(url), *self._ask_budgets(finding)]

    def _ask_bar(self, reason: str) -> Ruling:
        """Nothing against the address itself: only links that are not followed lead to it."""
        fetch = self._mission.fetch
        name, value, barring = {
            "nofollow": ("fetch.nofollow", fetch.nofollow, "obey"),
            "rel-nofollow": ("fetch.rel_nofollow", fetch.rel_nofollow, "obey"),
            "internal-link": ("fetch.follow", fetch.follow, "external"),
        }[reason]
        return Ruling(reason, value != barring, f'{explain(reason).meaning}; {name} = "{value}"')

    def _recall(self, rulings: list[Ruling], finding: Discovered) -> None:
        """Bounds that count were asked when the address was found; it is among those that were counted since."""
        if finding.state == State.REJECTED and finding.reason not in _LATER:
            return
        for ruling in rulings:
            if ruling.ok is False and ruling.rule.startswith("trap:"):
                ruling.ok, ruling.detail = True, f"it was taken in time; {ruling.detail}"

    def _tallies(self, owner: str) -> dict[str, int]:
        return dict(self._rows("SELECT key, count FROM tally WHERE host = ?", [host_key(owner)]))

    def _ask_robots(self, url: str) -> Ruling:
        if self._mode == "ignore":
            return Ruling("robots", True, "robots.txt is ignored for this host, as the mission says")
        origin, agent = urls.origin_of(url), self._mission.agent.name
        row = next(self._rows("SELECT fetched_at, status, body FROM robots WHERE origin = ?", [origin]), None)
        if row is None:
            return Ruling("robots", None, f"no robots.txt of {origin} is held; it is asked for before the first page")
        self.robots_at, self.robots_status, body = row
        robots = decision(self.robots_status, body or b"")
        wanted = robots.crawl_delay(agent)
        if wanted is not None:
            self.delay_s = max(self.delay_s, min(wanted, self._mission.fetch.crawl_delay_max_s))
        return Ruling("robots", robots.allows(url, agent), robots.explain(url, agent))

    def _ask_budgets(self, finding: Discovered) -> list[Ruling]:
        """The limits that are asked last, when the address is next to be fetched."""
        limits, rulings = self._mission.limits, []
        taken = finding.state is not None and finding.state not in (*_TO_BE_FETCHED, State.REJECTED)
        for rule, limit, setting, sql, values in (
            ("host-budget", limits.host_pages, "limits.host_pages", _HOST_PAGES, [host_key(self._host)]),
            ("page-limit", limits.pages, "limits.pages", _STORED, []),
        ):
            if limit <= 0:
                rulings.append(Ruling(rule, True, f"{setting} = none"))
                continue
            stored = next((int(row[0]) for row in self._rows(sql, values)), 0)
            where = f"of {self._host} " if rule == "host-budget" else ""
            ok = taken or stored < limit
            rulings.append(Ruling(rule, ok, f"{stored} pages {where}are stored; {setting} = {limit}"))
        return rulings


_HOST_PAGES = "SELECT iif(round = (SELECT max(round) FROM round), visited, 0) FROM host WHERE host = ?"
_STORED = """
    SELECT total(count) FROM figure
    WHERE name = 'stored' AND key = (SELECT CAST(value AS TEXT) FROM meta WHERE key = 'round')"""
