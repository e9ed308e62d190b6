"""A node that fails a given number of times before it succeeds."""

import weftwork


@weftwork.node("example.flaky")
def flaky(ctx: weftwork.PlainContext, failures: int = 2) -> str:
    """Answers after some attempts."""
    if ctx.attempt <= failures:
        ctx.log.warning("service busy", attempt=ctx.attempt)
        raise weftwork.NodeError("busy", f"The service was busy in attempt {ctx.attempt}.", retryable=True)
    return f"answered in attempt {ctx.attempt}"
