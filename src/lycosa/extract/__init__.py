"""Extraction: stored documents go in, a quarry's records come out, from processes that can be killed.

`quarry_loader` finds the quarry that the user named; `run` and `background` extract what is due; `job_runner` feeds an
`executor`. On this machine that is the `pool`, which gives jobs to workers and replaces those that die; the
`fork_server`, a clean process of its own, forks them; `worker` is what each of them does, and `extract_main` reads the
documents. On a Ray cluster it is the `ray_executor`: its `ray_driver` process hands the jobs to a `ray_node` on each
machine, which has a pool of its own.
"""
