"""Extract: kept documents go in, a quarry's records come out, from processes that can be killed.

`loader` finds the quarry that the user named; `pool` (here) gives jobs to workers and mourns them; `fork server` (a
clean process of its own) forks them; `worker` is what each of them does. Nothing here knows how a document is read or
where records are kept: the caller brings the one, and takes the other.
"""
