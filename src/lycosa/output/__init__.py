"""Report: what was found goes in, one page for people comes out: HTML that needs nothing beside it.

`page` puts sections, tables and figures together, `charts` draws. Whatever text comes from the network is escaped here.
"""
