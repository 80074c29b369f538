"""Pages that need a browser: a plain answer flows in, the page as its scripts made it flows out.

Runs in processes of its own beside the workers. The browser itself has no network: whatever a page asks for is asked of
the worker to whom the host belongs, and so passes the crawl's own gate, robots.txt, delays and limits.
"""
