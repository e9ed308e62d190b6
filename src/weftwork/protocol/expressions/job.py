"""An evaluation as a message: what a worker process receives and returns.

The worker parses the source again, with the same code as the host. That takes about 0.1 ms and is cached, and jobs
take more than LOOP_SLICE_UNITS, so passing a serialised program would save nothing and would be a second path from the
source to a value.
"""

from typing import Any

import msgspec

from weftwork.protocol.expressions.expression import parse_expression
from weftwork.protocol.expressions.faults import LIMIT, OUT_OF_MEMORY, ExpressionFault


class ExpressionJob(msgspec.Struct, frozen=True, array_like=True):
    """`scope` holds the members that the expression reads. `budget`: the work that the evaluation may cost."""

    source: str
    local_names: tuple[str, ...]
    scope: msgspec.Raw
    budget: int


class JobResult(msgspec.Struct, frozen=True, array_like=True):
    """The value, or a fault as code and message. If `work` exceeds the budget, the expression was not evaluated."""

    work: int = 0
    value: Any = None
    fault: tuple[str, str] | None = None

    @property
    def is_out_of_memory(self) -> bool:
        """Whether the evaluation could succeed in a process with more memory."""
        return self.fault == (LIMIT, OUT_OF_MEMORY)


def perform_job(job: ExpressionJob) -> JobResult:
    """The result of a job. Has no effect outside the process."""
    work = 0
    try:
        expression = parse_expression(job.source, job.local_names)
        evaluation = expression.prepare(msgspec.json.decode(job.scope))
        assert evaluation is not None, "the number of values is not limited"
        work = evaluation.work
        return JobResult(work, evaluation.compute()) if work <= job.budget else JobResult(work)
    except ExpressionFault as fault:
        return JobResult(work, fault=(fault.code, fault.message))
    except MemoryError:
        return JobResult(work, fault=(LIMIT, OUT_OF_MEMORY))
