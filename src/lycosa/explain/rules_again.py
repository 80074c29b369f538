"""Rules asked again: every rule of a collection's mission, in the order of the crawl, with its verdict on a URL.

The rules are the crawl's own (`judge/admission/rules.py`, `fetch/robots.py`), fed with what the collection holds: all
its seeds, its trap counters, the robots.txt that was fetched. Nothing is counted and nothing is fetched. What an
address was worth, and which missions want it, is worked out in the same way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from lycosa import urls
from lycosa.collection.collection import Collection
from lycosa.config.host_rules import HostRules
from lycosa.config.settings import Mission
from lycosa.errors import UsageError
from lycosa.extract.quarry_loader import load_quarry
from lycosa.fetch.robots import Robots, robots_from_answer
from lycosa.frontier.contract import BARRED
from lycosa.frontier.partitions import host_key
from lycosa.judge.admission.fetch_rules import PAGE_LIMIT, FetchRules, HostQuota
from lycosa.judge.admission.rules import Rules
from lycosa.judge.admission.traps import OK, Tallies
from lycosa.judge.priority.policy_factory import is_steered, make_policy, make_relevance
from lycosa.model import REQUISITE, State, Target, Verdict, WeightUpdate
from lycosa.quarry import Quarry, overrides, parts_of, url_judge
from lycosa.reasons import WALLS, explain
from lycosa.text import Term, extract
from lycosa.wishes.collected import CollectedWishes
from lycosa.wishes.signals import forbid

if TYPE_CHECKING:
    from lycosa.collection.collection import Collection
    from lycosa.model import Link
    from lycosa.parse import Doc
from lycosa.collection.collection import Collection
from lycosa.parse import Doc
from lycosa.quarry import QuarryUnion, name_of


def find_wanting(
    collection: Collection, mission: Mission, row: dict[str, Any], *, quarry: Quarry | None
) -> dict[str, str]:
    """By mission, why it wanted a URL, or what it makes of the page; empty where there is nothing to be said."""
    try:
        quarry = quarry or (load_quarry(mission) if mission.hunted else None)
    except UsageError:  # `why` tells everything else
        return {}
    if quarry is None or not (isinstance(quarry, QuarryUnion) or overrides(quarry, "describe_page")):
        return {}
    page = collection.page_at(row["n"])
    if page is not None:
        doc = page.doc
        quarry.look_in(collection.path)
        told = {name_of(part): part.describe_page(doc) for part in parts_of(quarry)}
        if isinstance(quarry, QuarryUnion):
            found = ((name_of(part), part.recognise(doc)) for part in quarry.parts)
            told |= {name: f"it is {kind}" for name, kind in found if kind and not told[name]}
        return {name: text for name, text in told.items() if text}
    if not isinstance(quarry, QuarryUnion):
        return {}
    parent = collection.page_at(row["parent"]) if row["parent"] else None
    return _find_proposals(quarry, parent.doc, mission, row["url"]) if parent is not None else {}


def _find_proposals(quarry: QuarryUnion, doc: Doc, mission: Mission, url: str) -> dict[str, str]:
    """Who sees a link on the page where the URL was found, or thinks most of the one that stands there."""
    resolver = urls.Resolver(urls.Cleaner(mission.urls))

    def leads_there(href: str) -> bool:
        return resolver.resolve(href, doc.base) == url

    found = {
        name_of(part): f"it sees a link there: {link.kind}"
        for part in quarry.parts
        for link in part.links(doc)
        if leads_there(link.href)
    }
    link = next((link for link in doc.links if leads_there(link.href)), None)
    if found or link is None:
        return found
    scores = {name_of(part): part.score(link, doc) for part in quarry.parts}
    best = max(scores.values())
    return {name: f"it gives the link a score of {score:g}" for name, score in scores.items() if score == best > 0}


class Score(Struct):
    """The higher, the sooner; equal scores go in the order of their finding."""

    value: float
    order: str  # bfs, dfs, best
    rule: str  # in words: how this order scores
    parts: dict[str, float]  # by name; of `best` those that the quarry gives
    relevance: dict[str, float] = {}  # under a policy r(page), r(anchor) and r(context), as its formula has them


def explain_score(collection: Collection, mission: Mission, row: dict[str, Any], *, quarry: Quarry | None) -> Score:
    """Explain a stored score; a quarry's parts are worked out anew from the page that the link stands on."""
    value, order = row["score"] or 0.0, mission.order
    if order == "bfs":
        return Score(value, order, "the fewer links from a seed, the sooner", {"links from a seed": row["depth"]})
    if order == "dfs":
        return Score(value, order, "the newest page's links first, in their order on it", {"time of finding": value})
    if is_steered(mission):
        return _explain_policy(collection, mission, row)
    rule = "the highest score first, as the mission scores the link"
    if not row["parent"]:
        return Score(value, order, rule, {})
    if quarry is None and mission.hunted:
        try:
            quarry = load_quarry(mission)
        except UsageError as error:
            return Score(value, order, f"{rule}; its parts are not known: {error}", {})
    link_and_doc = _find_link(collection, mission, row, quarry) if quarry is not None else None
    parts = dict(quarry.explain(*link_and_doc)) if quarry is not None and link_and_doc else {}
    corrects = quarry is not None and bool(parts) and row["fetched_at"] and overrides(quarry, "score_change")
    if corrects and abs(change := value - sum(parts.values())) > 0.001:
        parts["what it turned out to be"] = change
    return Score(value, order, rule, parts)


def _explain_policy(collection: Collection, mission: Mission, row: dict[str, Any]) -> Score:
    """The score that the policy would give now, by what it noted of the URL and has learned since."""
    rule = f"the highest score first, by the policy {mission.policy.name}"
    rows = collection.rows("SELECT lore, host.name FROM url JOIN host USING (host) WHERE n = ?", [row["n"]])
    policy_data, host = next(rows, (b"", ""))
    try:
        relevance = make_relevance(mission)
        policy = make_policy(mission, relevance)
    except UsageError as error:
        return Score(row["score"] or 0.0, "best", f"{rule}; its parts are not known: {error}", {})
    learned = collection.rows("SELECT key, weight, energy FROM lesson") if policy.learns else ()
    policy.load_lessons([WeightUpdate(*row) for row in learned])
    if policy.learns and policy_data:
        promise = policy.promise(row["score"], host, policy_data=policy_data)
        rule = f"{rule}: {promise:.3f} by what it knows now, as log-odds"
    weighed = dict(policy.weighed(policy_data))
    if weighed and (page := collection.page_at(row["parent"] or 0)) is not None:
        here = 1.0 if page.kind else relevance.page(f"{page.title}\n{page.text}", page.language)
        weighed = {"r(page)": here, **weighed}
    return Score(row["score"] or 0.0, "best", rule, dict(policy.explain(policy_data, host)), weighed)


def find_terms(collection: Collection, mission: Mission, row: dict[str, Any]) -> list[Term]:
    """The ten best terms of a stored page, where a policy weighs pages."""
    page = collection.page_at(row["n"]) if is_steered(mission) else None
    return extract(f"{page.title}\n{page.text}", page.language).scored() if page is not None else []


def _find_link(
    collection: Collection, mission: Mission, row: dict[str, Any], quarry: Quarry
) -> tuple[Link, Doc] | None:
    """The link that led to the URL, on the stored page where it was found."""
    page = collection.page_at(row["parent"])
    if page is None:
        return None
    resolver = urls.Resolver(urls.Cleaner(mission.urls))
    doc = page.doc
    for link in (*doc.links, *quarry.links(doc)):
        if resolver.resolve(link.href, doc.base) == row["url"]:
            return link, doc
    return None


_TO_BE_FETCHED = (State.PENDING, State.WAITING)
#: Refusals that come after the rules of an address have let it pass.
_LATER = ("robots", "wishes", "host-budget", "host-quota", "noarchive", "soft-404", "soft-error")


class Ruling(Struct):
    """One rule and its verdict; False: it refuses; None: what it needs is not known yet."""

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


class RecordedHost(Struct):
    """A host as its collection remembers it."""

    host: str
    pages: int  # stored in the last round
    under_way: int = 0
    received: int = 0  # by no run: there is none

    def given_up(self, url: str) -> str:
        """Empty: what a run gave up is forgotten when it ends."""
        return ""


class RecordedRobots:
    """The robots.txt files of a collection, as the crawl believed them."""

    def __init__(self, collection: Collection, mission: Mission, host_rules: HostRules) -> None:
        self._rows = collection.rows
        self._host_rules = host_rules
        self.row: tuple[float, int, bytes] | None = None  # when the last one was fetched, its status, its text

    def rules_for(self, host: RecordedHost, target: Target) -> Robots | None:
        """The rules of the target's origin; None where no robots.txt is held."""
        if self._host_rules.robots(host.host) == "ignore":
            return Robots.everything()
        origin = urls.origin_of(target.url)
        self.row = next(self._rows("SELECT fetched_at, status, body FROM robots WHERE origin = ?", [origin]), None)
        return robots_from_answer(self.row[1], self.row[2] or b"") if self.row is not None else None


class RulesAgain:
    """All rules of a mission, for one host of its collection."""

    def __init__(self, collection: Collection, mission: Mission, *, host: str, quarry: Quarry | None = None) -> None:
        self._rows = collection.rows
        self._mission = mission
        self._host = RecordedHost(host, self._count(_HOST_PAGES, host_key(host)))
        self._host_rules = HostRules(mission)
        self.delay_s, self.per_host = self._host_rules.delay_s(host), self._host_rules.per_host(host)
        self.robots_at, self.robots_status = 0.0, 0
        self._rules = Rules(mission, collection.seeds(), tallies=Tallies(self._tallies), url_judge=url_judge(quarry))
        wishes = CollectedWishes(collection)
        self._robots = RecordedRobots(collection, mission, self._host_rules)
        self._fetch_rules = FetchRules[RecordedHost](
            mission,
            self._rules,
            robots=self._robots,
            quota=None,
            page_limit=self._judge_page_limit,
            forbids=(lambda url: forbid(wishes.of_site(url), mission.fetch.uses)) if mission.fetch.uses else None,
        )

    def judge(self, url: str, finding: Discovered) -> list[Ruling]:
        """Every rule in turn."""
        if finding.via == "sitemap":  # a list of pages, followed whatever the other rules say
            rows = [("scope", self._rules.judge_sitemap(url, host=self._host.host))]
        elif finding.via == REQUISITE:
            verdict = self._rules.review_requisite(url, host=self._host.host) or OK
            rows = [(verdict.reason or "scope", verdict)]
        else:
            rows = self._rules.explain(url, depth=finding.depth, host=self._host.host, seed=finding.seed)
        rulings = [Ruling(rule, verdict.ok, verdict.detail) for rule, verdict in rows]
        if finding.state is not None:
            self._excuse_counted(rulings, finding)
        if finding.reason in BARRED:
            rulings.append(self._ask_nofollow_rule(finding.reason))
        elif finding.state is None and self._mission.limits.host_urls:
            rulings += self._ask_host_quota()
        elif finding.reason == "trap:sitemaps":
            rulings.append(Ruling(finding.reason, False, explain(finding.reason).meaning))
        rulings += self._ask_fetch_rules(url, finding)
        if finding.state == State.REJECTED and finding.reason in WALLS:  # what it was found to be, when it was fetched
            rulings.append(Ruling(finding.reason, False, explain(finding.reason).meaning))
        return rulings

    def _ask_nofollow_rule(self, reason: str) -> Ruling:
        """The rule by which only links that are not followed lead to an address."""
        fetch = self._mission.fetch
        name, value, barring = {
            "nofollow": ("fetch.nofollow", fetch.nofollow, "obey"),
            "rel-nofollow": ("fetch.rel_nofollow", fetch.rel_nofollow, "obey"),
            "internal-link": ("fetch.follow", fetch.follow, "external"),
        }[reason]
        return Ruling(reason, value != barring, f'{explain(reason).meaning}; {name} = "{value}"')

    def _ask_host_quota(self) -> list[Ruling]:
        """Whether an address that was never seen would be kept: its host may list far more than its quota."""
        verdict = HostQuota(self._mission.limits, Tallies(self._tallies)).judge_new(self._host.host)
        return [] if verdict.ok else [Ruling(verdict.reason, False, verdict.detail)]

    def _excuse_counted(self, rulings: list[Ruling], finding: Discovered) -> None:
        """Let an address pass the bounds that count: they were asked when it was found, before others were counted."""
        if finding.state == State.REJECTED and finding.reason not in _LATER:
            return
        for ruling in rulings:
            if ruling.ok is False and ruling.rule.startswith("trap:"):
                ruling.ok, ruling.detail = True, f"it was taken in time; {ruling.detail}"

    def _tallies(self, owner: str) -> dict[str, int]:
        return dict(self._rows("SELECT key, count FROM tally WHERE host = ?", [host_key(owner)]))

    def _ask_fetch_rules(self, url: str, finding: Discovered) -> list[Ruling]:
        """The rules that are asked last, when it is the address's turn to be fetched; what was fetched passed them."""
        taken = finding.state is not None and finding.state not in (*_TO_BE_FETCHED, State.REJECTED)
        target = Target(0, 0, url, self._host.host, via=finding.via, seed=finding.seed)
        rulings = []
        for rule, verdict in self._fetch_rules.explain(target, self._host):
            if rule == "robots":
                rulings.append(self._describe_robots(url, verdict))
            elif verdict is not None:
                rulings.append(Ruling(rule, taken or verdict.ok, verdict.detail))
        return rulings

    def _describe_robots(self, url: str, verdict: Verdict | None) -> Ruling:
        if self._host_rules.robots(self._host.host) == "ignore":
            return Ruling("robots", True, "robots.txt is ignored for this host, as the mission says")
        if verdict is None or self._robots.row is None:
            origin = urls.origin_of(url)
            return Ruling("robots", None, f"no robots.txt of {origin} is held; it is asked for before the first page")
        self.robots_at, self.robots_status, body = self._robots.row
        wanted = robots_from_answer(self.robots_status, body or b"").crawl_delay(self._mission.agent.name)
        if wanted is not None:
            self.delay_s = max(self.delay_s, min(wanted, self._mission.fetch.crawl_delay_max_s))
        return Ruling("robots", verdict.ok, verdict.detail)

    def _judge_page_limit(self, target: Target) -> Verdict:
        limit = self._mission.limits.pages
        if limit <= 0:
            return Verdict(True, "", "limits.pages = none")
        stored = self._count(_STORED)
        return Verdict(stored < limit, PAGE_LIMIT, f"{stored} pages were fetched; limits.pages = {limit}")

    def _count(self, sql: str, *values: int) -> int:
        return next((int(row[0]) for row in self._rows(sql, values)), 0)


_HOST_PAGES = "SELECT iif(round = (SELECT max(round) FROM round), visited, 0) FROM host WHERE host = ?"
_STORED = """
    SELECT total(count) FROM figure
    WHERE name IN ('stored', 'copies') AND key = (SELECT CAST(value AS TEXT) FROM meta WHERE key = 'round')"""
