"""How many files the process may have open, connections among them."""


def raise_file_limit() -> int | None:
    """As many as the system lets this process have; returns the number, or None where there is no such limit."""
    try:
        import resource
    except ImportError:
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError):
            # Some systems allow less than they say.
            return soft if soft != resource.RLIM_INFINITY else None
    return hard if hard != resource.RLIM_INFINITY else None
