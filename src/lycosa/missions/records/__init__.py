<<<<<<< HEAD
<<<<<<< HEAD
"""The records mission: from pages to records, by schemas whose rules people can read, change and repeat."""
=======
"""From pages to records: what to take of a page is described once, and can be changed and repeated."""
>>>>>>> w-r3
=======
"""The records mission: from pages to records, by schemas whose rules people can read, change and repeat."""
>>>>>>> w-r2
