"""Laboratory: a stored crawl replayed under other policies, without the network."""
