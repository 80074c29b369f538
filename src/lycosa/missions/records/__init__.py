"""From pages to records: what to take of a page is described once, and can be changed and repeated."""
