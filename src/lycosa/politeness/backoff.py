"""Back-off: how an answer lengthens or shortens the pauses between requests to its host."""

from __future__ import annotations

from lycosa.config.settings import FetchSettings
from lycosa.model import Answer
from lycosa.politeness.crawl_log import CrawlLog
from lycosa.politeness.disposition import HOST_FAILURES, requested_pause
from lycosa.politeness.host_queue import BACK_OFF_MAX_S, HostQueue


def apply_backoff(
    host_queue: HostQueue, answer: Answer, *, now: float, fetch: FetchSettings, crawl_log: CrawlLog
) -> bool:
    """Pause a host that asks for it, give up one that cannot be reached; returns whether its row has changed."""
    if answer.failure in HOST_FAILURES:
        count = host_queue.fail(answer.target.url, answer.failure, now=now, most=fetch.retries, began=answer.began)
        if count and answer.failure != "tls":
            _pause(host_queue, answer, now=now, wait_s=fetch.retry_delay_s * 2 ** (count - 1), crawl_log=crawl_log)
        return True
    wait_s = requested_pause(answer, fetch)
    if answer.status in (429, 503) or (answer.status == 403 and wait_s is not None):
        _pause(host_queue, answer, now=now, wait_s=wait_s, crawl_log=crawl_log)
        return True
    if not answer.status:
        return False
    changed = bool(host_queue.back_off_s or host_queue.failures)
    host_queue.ease(answer.target.url)
    return changed


def longest_pause(fetch: FetchSettings) -> float:
    """Seconds for which a host, or a page that is to be tried again, may have to wait."""
    last_retry_s = fetch.retry_delay_s * float(2**fetch.retries)
    return max(BACK_OFF_MAX_S, fetch.delay_s, fetch.crawl_delay_max_s, fetch.retry_after_max_s, last_retry_s)


def _pause(host_queue: HostQueue, answer: Answer, *, now: float, wait_s: float | None, crawl_log: CrawlLog) -> None:
    # One page that is refused again and again says little of its host: only new pages count.
    again = answer.status and answer.target.retries
    host_queue.slow_down(now, wait_s=wait_s, began=0.0 if again else answer.began)
    if crawl_log.deep:
        reason = answer.failure or f"HTTP {answer.status}"
        crawl_log.debug("rest", f"{host_queue.host} for {host_queue.next_at - now:.2f} s: {reason}")
