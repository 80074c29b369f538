"""The records mission: the fields of what pages show, by schemas that people write, learn, or need not.

One page through it: `site_description` has the tables of the mission file. By its `navigation` the `quarry` says which
links are followed, by its `schema` what a page gives: `rules` find the text of each field (CSS, XPath,
structured data, the tag `algebra`), and `content/converters.py` makes values of it. Pages of sites that nobody
described are read by `content`.

The records that came of it go through `database` (`record_refresh`, `writer`: which record is known again, what
changed) to whoever asks it: `stories` (what several media tell), `alerts` and `reports` (what is new for those in the
`readers` file, by their `interests`), which `delivery` sends; `health` (fields that are found no more), `corpus`
(texts). `learning` writes schemas from examples. `manifest` is the door for all of it.
"""
