"""Policies: what makes a link promising, what is handed on, what is learned."""

from __future__ import annotations

from struct import Struct

import pytest

from lycosa.config.settings import Mission
from lycosa.config.settings import PolicySettings as Steer
from lycosa.judge.priority.learning import UNTRIED, LearningPolicy
from lycosa.judge.priority.policy import FishSearch, KeyTermsPolicy, Policy, Relevance, SharkSearch
from lycosa.judge.priority.policy_factory import is_steered, make_policy, resolve_order
from lycosa.model import Link, Observation, WeightUpdate

ANCHORS = ("services", "servicios web", "ogc")
ADDRESSES = ("wms", "wfs", "capabilities=10")
HOST = "a.test"


def relevance() -> Relevance:
    return Relevance(ANCHORS, ADDRESSES)


def observation(
    url: str = "http://a.test/", *, relevance: float = 0.0, kind: str = "", policy_data: bytes = b""
) -> Observation:
    return Observation(url, HOST, policy_data, doc_kind="html", quarry_kind=kind, relevance=relevance)


def score(policy: Policy, text: str = "", url: str = "http://a.test/x", context: str = "") -> tuple[float, bytes]:
    return policy.score(Link(url, text), url, host=HOST, context=context)


def test_key_terms_weigh_as_they_should() -> None:
    """Whole words in texts, `capabilities` in an address ten times as much as another term, phrases as one."""
    known = relevance()
    assert known.short("OGC") == 0.5 and known.short("OGC services") == 0.75
    assert known.short("Servicios  Web") == 0.0 and known.short("servicios web") == 0.5
    assert known.short("disservices, cogc") == 0.0
    assert known.url("http://a.test/wms/x") == 0.5
    assert known.url("http://a.test/x?request=GetCapabilities") == 1 - 0.5**10
    assert known.url("http://wms.test/") == 0.0
    assert known.page("ogc " * 6) == 0.5


@pytest.mark.parametrize("text", ["", "here", "OGC", "disservices"])
@pytest.mark.parametrize(
    "url", ["http://wms.test/", "http://a.test/x/wmsServer?request=GetCapabilities", "http://a.test/f"]
)
@pytest.mark.parametrize("context", ["", "of the city", "our WEB SERVICES here", "geoservices", "ogc \ud800 \u212a"])
def test_a_link_is_worth_its_parts(text: str, url: str, context: str) -> None:
    """The anchor or the address, whichever says more; the context where both say nothing."""
    for known in (
        relevance(),
        Relevance(ANCHORS, ["ogc=2", "f"]),
        Relevance((), ()),
        Relevance(shorts=lambda text, language: 0.25),
    ):
        anchor = max(known.short(text), known.url(url))
        assert known.link(text, url, context) == (anchor, 1.0 if anchor > 0 else known.near(context))


def about_water(text: str, language: str) -> float:
    return 0.5 * ("water" in text)


def test_with_both_a_thesaurus_counts_where_key_terms_say_nothing() -> None:
    """A fifth, of pages, anchors and contexts alike; it adds nothing to key terms, and makes no context relevant."""
    terms, both = relevance(), Relevance(ANCHORS, ADDRESSES, pages=about_water, shorts=about_water)
    for text in ("OGC services and water", "services", "web"):
        assert both.short(text) == terms.short(text) and both.page(text) == terms.page(text)
    assert both.short("water") == both.page("water") == pytest.approx(0.1)
    for url in ("http://a.test/f", "http://a.test/wms"):
        assert both.link("here", url, "the water of") == (terms.url(url), 1.0 if terms.url(url) else 0.1)
        assert both.link("water", url, "of the city") == (terms.url(url) or 0.1, 1.0 if terms.url(url) else 0.0)
    alone = Relevance(pages=about_water, shorts=about_water)
    assert alone.page("water") == 0.5 and alone.link("water", "http://a.test/wms", "city") == (0.5, 1.0)


def test_a_thesaurus_weighs_a_page_from_its_beginning() -> None:
    """What key terms see of a page the thesaurus sees too, not a part from its middle."""
    read: list[str] = []
    page = "water " + "x " * 4000
    Relevance(pages=lambda text, language: float(bool(read.append(text)))).page(page)
    assert read == [page]


def test_shark_search_is_as_described() -> None:
    """inherited = decay * r(page), or * what the page inherited; the context counts where the anchor says nothing."""
    policy = SharkSearch(relevance(), Steer())
    policy.begin_answer(observation(relevance=0.8))
    plain, noted = score(policy, "here", context="nothing")
    assert plain == pytest.approx(0.5 * 0.4)
    assert score(policy, "OGC")[0] == pytest.approx(0.5 * 0.4 + 0.5 * (0.5 * 0.5 + 0.5 * 1))
    assert score(policy, "here", context="ogc")[0] == pytest.approx(0.5 * 0.4 + 0.5 * (0.5 * 0 + 0.5 * 0.5))
    policy.begin_answer(observation(relevance=0.0, policy_data=noted))
    assert score(policy, "here")[0] == pytest.approx(0.5 * 0.2)
    assert policy.explain(score(policy, "OGC")[1], HOST) == pytest.approx(
        {"inherited": 0.1, "anchor": 0.125, "context": 0.25}
    )


def test_fish_search_knows_yes_and_no() -> None:
    """A page and an anchor are relevant or not."""
    policy = FishSearch(relevance(), Steer())
    policy.begin_answer(observation(relevance=0.9))
    assert score(policy, "here")[0] == pytest.approx(0.25)
    assert score(policy, "OGC services")[0] == score(policy, "OGC")[0] == pytest.approx(0.75)


def test_fish_takes_for_relevant_what_the_settings_say() -> None:
    """The threshold is a setting; beside key terms, an anchor that only a thesaurus knows is not relevant."""
    for threshold, inherited in ((0.5, 0.125), (0.4, 0.25)):
        policy = FishSearch(relevance(), Steer(threshold=threshold))
        policy.begin_answer(observation(relevance=0.4, policy_data=Struct("<fff").pack(0.5, 0, 0)))
        assert score(policy, "here")[0] == pytest.approx(inherited)
    both = FishSearch(Relevance(ANCHORS, shorts=about_water), Steer())
    assert score(both, "water")[0] == 0.0 < score(both, "services")[0]


def test_how_relevant_anchor_and_context_were_can_be_asked() -> None:
    """As the formula has them, not as they count in the score; also of a policy that learns."""
    for policy in (SharkSearch(relevance(), Steer()), LearningPolicy(relevance(), Steer())):
        policy.begin_answer(observation(relevance=0.8))
        assert policy.weighed(score(policy, "here", context="our OGC")[1]) == {"r(anchor)": 0.0, "r(context)": 0.5}
        assert policy.weighed(score(policy, "OGC")[1]) == {"r(anchor)": 0.5, "r(context)": 1.0}
        assert policy.weighed(b"") == {}


def test_key_terms_alone() -> None:
    """Nothing is inherited; anchor and address add up to no more than 1."""
    policy = KeyTermsPolicy(relevance(), Steer())
    policy.begin_answer(observation(relevance=1.0))
    assert score(policy, "here")[0] == 0.0
    assert score(policy, "OGC", "http://a.test/wms")[0] == 0.75


def test_a_quarry_of_a_user_still_counts() -> None:
    """What its score says is the least that any policy gives, and part of what the learning one begins with."""
    for policy in (SharkSearch(relevance(), Steer()), KeyTermsPolicy(relevance(), Steer())):
        policy.begin_answer(observation())
        assert policy.score(Link("/x"), "http://a.test/x", host=HOST, prior=0.9)[0] == 0.9
    learning = LearningPolicy(relevance(), Steer())
    learning.begin_answer(observation())
    assert learning.score(Link("/x"), "http://a.test/x", host=HOST, prior=0.9)[0] > score(learning)[0]


def teach(policy: Policy, *, rounds: int = 30) -> None:
    """Links with the word 'maps' lead to quarry, those with 'shop' to nothing."""
    for n in range(rounds):
        for word, kind in (("maps", "ogc:wms/1.3.0"), ("shop", "")):
            policy.begin_answer(observation("http://a.test/list"))
            _, policy_data = score(policy, f"our {word}", f"http://a.test/{word}/{n}")
            policy.end_answer([])
            policy.begin_answer(observation(f"http://a.test/{word}/{n}", kind=kind, policy_data=policy_data))
            policy.end_answer([])


def test_it_learns_from_what_was_found() -> None:
    """Words, addresses and pages that led to quarry make links promising, on other hosts as well."""
    policy = LearningPolicy(relevance(), Steer())
    teach(policy)
    policy.begin_answer(observation("http://b.test/"))
    good = policy.score(Link("/1", "new maps"), "http://b.test/1", host="b.test")
    bad = policy.score(Link("/2", "new shop"), "http://b.test/2", host="b.test")
    assert good[0] / (1 - good[0]) > 3 * bad[0] / (1 - bad[0])
    parts = policy.explain(good[1], "b.test")
    assert parts["anchor"] > 0 > policy.explain(bad[1], "b.test")["anchor"]


def test_what_is_remembered_of_addresses_changes_nothing() -> None:
    """Folder, name and query count alike whether others of the folder were met before or not, and on each host anew."""
    paths = [
        "/",
        "/a/",
        "/a//",
        "/a//b",
        "/2024/05/the-map.html?id=7",
        "/2023/06/a.b.c",
        "/a/b/c/d/e/f/g/h/i/j.pdf",
        "/x?y",
    ]
    places = [(host, f"http://{host}{path}") for host in ("a.test", "b.test") for path in paths]
    old = LearningPolicy(relevance(), Steer())
    for _ in range(2):
        for host, url in places:
            noted = old.score(Link(url), url, host=host)
            assert noted == LearningPolicy(relevance(), Steer()).score(Link(url), url, host=host)
    assert len({old.score(Link(url), url, host=host)[1] for host, url in places}) == len(places)


def test_hints_speak_for_a_link_until_more_is_known() -> None:
    """In the name of a host they count double; what is learned is added to them, here and in whoever goes on."""
    steer = Steer(hint_terms=("geoportal", "atlas=2"))
    policy = LearningPolicy(relevance(), steer)
    policy.begin_answer(observation())

    def note(host: str, text: str = "x") -> bytes:
        return policy.score(Link("/", text), f"http://{host}/", host=host)[1]

    plain, named, called = note("b.test"), note("geoportal.b.test"), note("b.test", "Atlas")
    assert policy.explain(plain, HOST)["address"] == policy.explain(plain, HOST)["anchor"] == 0.0
    assert policy.explain(named, HOST)["address"] == policy.explain(called, HOST)["anchor"] == 1.0
    assert policy.drain() == []
    for n in range(5):
        policy.begin_answer(observation(f"http://geoportal.b.test/{n}", policy_data=named))
        policy.end_answer([])
    assert policy.explain(named, HOST)["address"] < 1.0
    heir = LearningPolicy(relevance(), steer)
    heir.load_lessons(policy.drain())
    assert heir.explain(named, HOST) == pytest.approx(policy.explain(named, HOST), abs=1e-6)


def test_what_was_never_tried_is_worth_a_try() -> None:
    """Kinds of addresses gain while little like them was asked for, on whatever host; `explain` tells by how much."""
    policy = LearningPolicy(relevance(), Steer())
    teach(policy)
    policy.begin_answer(observation("http://b.test/"))
    known, fresh = (score(policy, "x", f"http://b.test/{path}")[1] for path in ("shop/99", "records/99.xml"))
    assert policy.explain(known, "b.test")["little tried"] < 0.1
    assert policy.explain(fresh, "b.test")["little tried"] == UNTRIED
    for n in range(3):
        policy_data = score(policy, "x", f"http://c.test/records/{n}.xml")[1]
        policy.begin_answer(observation(f"http://c.test/records/{n}.xml", policy_data=policy_data))
        policy.end_answer([])
    assert policy.explain(fresh, "b.test")["little tried"] == UNTRIED / 4
    heir = LearningPolicy(relevance(), Steer())
    heir.load_lessons(policy.drain())
    assert heir.explain(fresh, "b.test") == pytest.approx(policy.explain(fresh, "b.test"), abs=1e-6)


def test_lore_of_an_older_version_is_understood() -> None:
    """What was noted before shapes of addresses were has one feature less: it is scored, explained and learned from."""
    policy = LearningPolicy(relevance(), Steer())
    policy.begin_answer(observation())
    _, policy_data = score(policy, "maps")
    at = Struct("<5f4B").size
    old = policy_data[: at - 4] + bytes([3]) + policy_data[at - 3 : at + 2] + policy_data[at + 4 :]
    assert "little tried" not in policy.explain(old, HOST)
    before = policy.score_anew(0.5, old)
    for _ in range(5):
        policy.begin_answer(observation("http://a.test/maps", kind="ogc:wms/1.3.0", policy_data=old))
        policy.end_answer([])
    assert policy.score_anew(0.5, old) > before
    assert all(key >> 16 for key in policy._rules)  # what such a score was worth, and nothing of its shape


def test_what_scores_like_it_were_worth_counts_more_the_more_were_tried() -> None:
    """Shark-Search's score takes part in a promise by what became of such scores, and not before any was tried."""
    policy = LearningPolicy(relevance(), Steer())
    policy.begin_answer(observation())
    _, policy_data = score(policy, "maps")
    promises = [policy.score_anew(0.5, policy_data)]
    step = policy._step(*struct_head(policy_data))
    for tried in (10.0, 1000.0):
        policy.load_lessons([WeightUpdate(1 << 61 | step, tried, tried)])
        promises.append(policy.score_anew(0.5, policy_data))
    assert promises[0] < promises[1] < promises[2]
    policy.load_lessons([WeightUpdate(1 << 61 | step, 1000.0, 0.0)])
    assert policy.score_anew(0.5, policy_data) < promises[0]
    assert policy.explain(policy_data, HOST)["of such scores"] < 0


def struct_head(policy_data: bytes) -> tuple[float, float, float]:
    """What Shark-Search notes of a URL."""
    inherited, anchor, near = Struct("=3f").unpack_from(policy_data)
    return inherited, anchor, near


def test_a_page_is_worth_what_it_opens() -> None:
    """A page that is no quarry but has new promising links is rewarded; one without them is not."""
    policies = [LearningPolicy(relevance(), Steer()), LearningPolicy(relevance(), Steer())]
    for policy, opened in zip(policies, ([(0.95, "b.test")] * 10, []), strict=True):
        policy.begin_answer(observation())
        _, policy_data = score(policy, "catalogue")
        policy.end_answer([])
        for _ in range(10):
            policy.begin_answer(observation("http://a.test/catalogue", policy_data=policy_data))
            policy.end_answer(opened)
    rich, poor = (score(policy, "catalogue")[0] for policy in policies)
    assert rich > 0.2 > poor


def test_a_host_that_brings_nothing_sinks() -> None:
    """Many pages and no finds lower what a host promises; a host that nobody saw yet has the better chances."""
    policy = LearningPolicy(relevance(), Steer())
    policy.begin_answer(observation())
    _, policy_data = score(policy, "page")
    before = policy.promise(0.0, HOST, policy_data=policy_data)
    for n in range(40):
        policy.begin_answer(observation(f"http://a.test/{n}", policy_data=policy_data))
        policy.end_answer([])
    assert policy.promise(0.0, HOST, policy_data=policy_data) < before / 2


def learn(policy: LearningPolicy, policy_data: bytes, *, hosts: int, finds: int) -> None:
    """One answer of each of so many hosts, and twenty of the known one, of which some are finds."""
    for n in range(hosts):
        policy.begin_answer(Observation(f"http://h{n}.test/", f"h{n}.test", policy_data, doc_kind="html"))
        policy.end_answer([])
    for n in range(20):
        kind = "wms" if n < finds else ""
        policy.begin_answer(observation(f"http://a.test/{n}", kind=kind, policy_data=policy_data))
        policy.end_answer([])


def test_what_unknown_hosts_are_worth_is_paid_for_by_finds() -> None:
    """They go before a host known to be dry where all promise little, and never before one that gave a little."""
    policy = LearningPolicy(relevance(), Steer())
    policy.begin_answer(observation())
    _, policy_data = score(policy, "page")
    assert policy.explain(policy_data, "new.test")["little known"] == pytest.approx(0.0)
    learn(policy, policy_data, hosts=200, finds=2)
    assert policy.promise(0.0, HOST, policy_data=policy_data) > policy.promise(0.0, "new.test", policy_data=policy_data)
    assert policy.promise(1e-6, "new.test") > policy.promise(1e-6, "h1.test")
    assert policy.promise(0.02, HOST) > policy.promise(1e-6, "new.test")
    assert (
        policy.explain(policy_data, "new.test")["little known"] > policy.explain(policy_data, HOST)["little known"] > 0
    )


def test_what_was_learned_can_be_handed_on() -> None:
    """Another worker that studies the sums of all lessons scores as the first does."""
    first, second = LearningPolicy(relevance(), Steer()), LearningPolicy(relevance(), Steer())
    teach(first)
    sums: dict[int, tuple[float, float]] = {}
    for key, weight, energy in first.drain():
        before = sums.get(key, (0.0, 0.0))
        sums[key] = before[0] + weight, before[1] + energy
    assert first.drain() == []
    second.load_lessons([(key, *pair) for key, pair in sums.items()])
    for policy in (first, second):
        policy.begin_answer(observation("http://b.test/"))
    link = Link("/1", "maps")
    one, other = (policy.score(link, "http://b.test/1", host="b.test") for policy in (first, second))
    assert other[0] == pytest.approx(one[0])
    assert second.promise(*_promised(other)) == pytest.approx(first.promise(*_promised(one)))


def _promised(scored: tuple[float, bytes]) -> tuple[float, str]:
    return scored[0], HOST


def test_lessons_keep_the_name_that_collections_store() -> None:
    """A collection recognises its lessons by this label: it does not follow the name of the class."""
    assert LearningPolicy(relevance(), Steer()).label == "Learn/1"


def test_a_mission_names_its_policy() -> None:
    """The policy settles the order; without one everything is as it was."""
    assert not is_steered(resolve_order(Mission(order="best")))
    assert resolve_order(Mission(order="dfs")).order == "dfs"
    assert resolve_order(Mission(policy=Steer(name="bfs"), order="best")).order == "bfs"
    steered = resolve_order(Mission(policy=Steer(name="shark")))
    assert is_steered(steered) and steered.order == "best"
    assert isinstance(make_policy(steered, relevance()), SharkSearch)
