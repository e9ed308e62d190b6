"""The limit on open files of the process, which includes connections."""


def raise_file_limit() -> int | None:
    """Raise the soft limit to the hard limit. Returns the new limit, or None if it is unlimited."""
    try:
        import resource
    except ImportError:
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError):
            # Some systems do not allow a soft limit as high as the hard limit.
            return soft if soft != resource.RLIM_INFINITY else None
    return hard if hard != resource.RLIM_INFINITY else None
