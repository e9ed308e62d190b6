"""JSON pointers (RFC 6901)."""


def token(text: str) -> str:
    """A member name as one reference token."""
    return text.replace("~", "~0").replace("/", "~1")


def tokens(pointer: str) -> list[str]:
    """The member names and indices that a pointer leads through."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
