"""The documents mission: the documents of a site, with their authors, affiliations, addresses and rights."""
