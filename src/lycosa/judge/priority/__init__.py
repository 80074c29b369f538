"""Priority: which link is next, by a policy."""
