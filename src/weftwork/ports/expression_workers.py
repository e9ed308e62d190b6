"""Expression workers: processes that evaluate expressions whose cost exceeds a slice of the event loop.

An evaluation holds the interpreter lock and cannot be cancelled, so it can be interrupted only together with its
process.
"""

from typing import Protocol

from weftwork.protocol.expressions.job import ExpressionJob, JobResult


class WorkerLost(Exception):
    """The worker ended before it returned a result, also when the job was repeated; or no worker could be started."""


class ExpressionWorkers(Protocol):
    """Workers are started when they are needed. The number of jobs that run concurrently is limited."""

    async def evaluate(self, partition: str, job: ExpressionJob) -> JobResult:
        """The result of the job. Waits for a free worker; tenants take turns.

        A job whose worker dies is repeated once, because evaluations have no effects. When this call is cancelled, the
        evaluation ends with its process. Raises WorkerLost.
        """
        ...

    async def close(self) -> None:
        """End all workers. Jobs in progress raise WorkerLost."""
        ...
