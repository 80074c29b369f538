"""Graphs of collections: tables of nodes and relations, files of them for other programs, and Cypher over them."""
