"""Rendering: pages that need a browser, as their scripts make them.

It runs in processes of its own beside the workers. The browser itself has no network: whatever a page asks for is asked
of the worker that owns the host, and so obeys the crawl's own address guard, robots.txt, delays and limits.
"""
