"""Output for people and programs: tables, HTML pages and charts, files and folders that appear whole, progress lines.

Text from the network is escaped here: a terminal gets no control characters, a page no markup.
"""
