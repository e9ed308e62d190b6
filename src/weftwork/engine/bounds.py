"""The bounds of one run, from what the host and the run's options allow."""

from weftwork.engine.decision import Bounds
from weftwork.engine.runtime import Runtime
from weftwork.protocol.limits import execution_limit, iteration_limit, time_limit
from weftwork.protocol.state import RunState


def bounds_of(runtime: Runtime, state: RunState) -> Bounds:
    limits, options = runtime.limits, state.header.configurable
    executions = execution_limit(limits, options)
    duration = time_limit(limits, state.plan.workflow.timeout_ms, options)
    iterations = iteration_limit(limits, options)
    return Bounds(limits.max_parallel_nodes, executions, runtime.provided, duration, iterations=iterations)
