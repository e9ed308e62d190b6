"""A node that fails as often as it is told, as services do."""

import weftwork


@weftwork.node("example.flaky")
def flaky(ctx: weftwork.PlainContext, failures: int = 2) -> str:
    """Answers after some attempts."""
    if ctx.attempt <= failures:
        ctx.log.warning("nobody there", attempt=ctx.attempt)
        raise weftwork.NodeError("busy", f"Attempt {ctx.attempt} found nobody.", retryable=True)
    return f"answered in attempt {ctx.attempt}"
