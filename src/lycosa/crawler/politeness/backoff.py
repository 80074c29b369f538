"""How a host is doing, and what it is given in return: an answer in, pauses of its lane out."""

from __future__ import annotations

from lycosa.config.settings import FetchSettings
from lycosa.crawler.politeness.crawl_log import CrawlLog
from lycosa.crawler.politeness.disposition import HOST_FAILURES, wished_pause
from lycosa.crawler.politeness.host_queue import BACK_OFF_MAX_S, HostQueue
from lycosa.model import Answer


def mind(lane: HostQueue, answer: Answer, *, now: float, fetch: FetchSettings, journal: CrawlLog) -> bool:
    """Let a host rest when it asks, give it up when it cannot be reached; whether there is something to remember."""
    if answer.failure in HOST_FAILURES:
        count = lane.fail(answer.target.url, answer.failure, now=now, most=fetch.retries, began=answer.began)
        if count and answer.failure != "tls":
            _rest(lane, answer, now=now, wait_s=fetch.retry_delay_s * 2 ** (count - 1), journal=journal)
        return True
    wait_s = wished_pause(answer, fetch)
    if answer.status in (429, 503) or (answer.status == 403 and wait_s is not None):
        _rest(lane, answer, now=now, wait_s=wait_s, journal=journal)
        return True
    if not answer.status:
        return False
    changed = bool(lane.back_off_s or lane.failures)
    lane.ease(answer.target.url)
    return changed


def longest_pause(fetch: FetchSettings) -> float:
    """Seconds for which a host, or a page that is to be tried again, may have to wait."""
    return max(
        BACK_OFF_MAX_S, fetch.delay_s, fetch.crawl_delay_max_s, fetch.retry_after_max_s,
        fetch.retry_delay_s * float(2**fetch.retries),
    )  # fmt: skip


def _rest(lane: HostQueue, answer: Answer, *, now: float, wait_s: float | None, journal: CrawlLog) -> None:
    # One page that is refused again and again says little of its host: fresh ones tell.
    again = answer.status and answer.target.retries
    lane.slow_down(now, wait_s=wait_s, began=0.0 if again else answer.began)
    if journal.deep:
        grounds = answer.failure or f"HTTP {answer.status}"
        journal.tell("rest", f"{lane.host} for {lane.next_at - now:.2f} s: {grounds}")
