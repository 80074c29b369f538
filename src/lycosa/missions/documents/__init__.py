"""The documents mission: the documents of a site, with their authors, affiliations, addresses and rights.

One file through it: the `quarry` recognises its format (`formats`); `text` reads its lines as they are printed,
`header` what these say of title, authors and the rest; of an HTML page, `pages` reads whom it names. Each is a record.
When somebody asks, `catalogue` has `evidence` (`fusion`) weigh what the document, the pages above it and the other
documents say, and keeps the answer; `decisions` has what people said, which wins. `export`, `contacts`, `oai` and
`report` read both.
"""
