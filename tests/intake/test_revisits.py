"""What a visit leaves for the next one; the clock is that of the rounds."""

from __future__ import annotations

from lycosa.config.settings import RecrawlSettings
from lycosa.frontier.contract import RoundRow
from lycosa.intake.revisits import DAY_S, HOUR_S, Revisits, step_of
from lycosa.model import Answer, Target, VisitHistory


def rounds(*starts: float) -> list[RoundRow]:
    return [RoundRow(n, at, at, None, "", False) for n, at in enumerate(starts, 1)]


def target(**more: object) -> Target:
    return Target(1, 1, "http://a.test/", "a.test", **{"round": 1, **more})  # type: ignore[arg-type]


def test_a_first_visit_leaves_the_next_to_the_next_round() -> None:
    """Nothing is known yet of how often the page changes."""
    visits = Revisits(RecrawlSettings(), rounds(0.0))
    assert visits.after_page(target(round=0)) == VisitHistory(checked=1)
    assert visits.after_redirect(target(round=0), "http://b.test/") == VisitHistory(checked=1)


def test_what_is_gone_is_looked_at_ever_more_seldom() -> None:
    """After two rounds, then after twice as long each time, up to the bound."""
    gone = Revisits(RecrawlSettings(), rounds(0.0)).after_refusal(target(round=0))
    assert gone.interval == 2 * DAY_S
    later = Revisits(RecrawlSettings(max_h=24 * 10), rounds(0.0, 4 * DAY_S, 5 * DAY_S))
    assert later.after_refusal(target(round=2)).interval == 2 * DAY_S
    assert later.after_refusal(target(round=1)).interval == 10 * DAY_S


def test_without_adaptation_every_round_visits_all() -> None:
    """The evidence is still gathered."""
    visits = Revisits(RecrawlSettings(adapt=False), rounds(0.0, DAY_S))
    past = visits.after_unchanged(Answer(target(), status=200))
    assert (past.interval, past.checked) == (0.0, 2) and past.watched > DAY_S


def test_a_redirect_changes_when_it_leads_elsewhere() -> None:
    """The same place again counts as unchanged."""
    visits = Revisits(RecrawlSettings(), rounds(0.0, DAY_S))
    same = visits.after_redirect(target(redirect="http://b.test/"), "http://b.test/")
    other = visits.after_redirect(target(redirect="http://b.test/"), "http://c.test/")
    assert other.interval < same.interval


def test_content_is_seen_whole_within_the_longest_interval() -> None:
    """If nothing but a date vouched for a page that long, it is asked for without; an ETag is believed."""
    visits = Revisits(RecrawlSettings(max_h=24), rounds(0.0, DAY_S, 3 * DAY_S))
    old, new = VisitHistory(checked=1), VisitHistory(checked=2)
    assert visits.ask(target(modified="date", history=old)).unconditional
    assert visits.ask(target(modified="date", history=VisitHistory())).unconditional
    assert not Revisits(RecrawlSettings(), rounds(0.0, DAY_S)).ask(target(modified="date", history=old)).unconditional
    assert not visits.ask(target(etag='"1"', modified="date", history=old)).unconditional
    assert visits.ask(target(modified="date", history=new)).unconditional
    unmodified = visits.after_unchanged(Answer(target(history=new), status=304))
    assert unmodified.checked == 2


def test_what_a_round_stands_for() -> None:
    """The period, or a day where there is none."""
    assert step_of(RecrawlSettings(period_h=72)) == 72 * HOUR_S
    assert step_of(RecrawlSettings()) == DAY_S
