"""The expressions of one node entry: evaluated on the event loop in slices, or by a worker process.

Theory of operation. Nodes compute with expressions in plain functions without `await`, which are pure. An evaluation
that cannot take place right now raises EvaluationPostponed out of such a function. `settle` then waits for a turn on
the loop, or for a worker, and calls the function again from its start; evaluations that are done return their values
from memory. A slice of the loop or a worker is needed for at least every LOOP_SLICE_UNITS of work, so the budget also
bounds the number of repetitions.

All expressions of an entry spend from one budget in the order of the definition: the ports, then the config. Functions
of one entry wait for each other while an evaluation is postponed, so the items of a map keep their order as well.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from weftwork.engine.run.loop_share import LoopShare
from weftwork.ports.expression_workers import ExpressionWorkers, WorkerLost
from weftwork.ports.node_outcome import Failed, StepFailed
from weftwork.protocol.expressions.budget import MakeScope, WorkBudget
from weftwork.protocol.expressions.expression import Expression
from weftwork.protocol.expressions.faults import ExpressionFault, expression_failed, expression_limit
from weftwork.protocol.expressions.job import ExpressionJob, JobResult
from weftwork.protocol.expressions.values import select_reads
from weftwork.protocol.json.values import is_object
from weftwork.protocol.limits import LOOP_SLICE_UNITS
from weftwork.protocol.run.header import RunHeader

MAX_LOOP_VALUES: Final = 10_000
"""Values that an evaluation on the loop may read: copying them takes about 4 ms."""
MAX_JOB_BYTES: Final = 8 * 2**20
"""Values that an evaluation in a worker may read, as JSON."""
PIECE_DEPTH: Final = 2
"""Depth down to which the values of a job are encoded one by one."""
WORKER_LOST: Final = Failed(
    "expression_worker_lost", "The process that evaluated an expression of this node ended twice without a result."
)

T = TypeVar("T")


class EvaluationPostponed(Exception):
    """An evaluation has to wait. `is_large`: for a worker, else for a turn on the loop."""

    def __init__(self, entry: "EntryExpressions", expression: Expression, scope: MakeScope, is_large: bool) -> None:
        super().__init__(expression.source)
        self.entry = entry
        self.expression = expression
        self.scope = scope
        self.is_large = is_large


class EntryExpressions:
    """Implements protocol.expressions.budget.Evaluator. One instance per call of a node."""

    __slots__ = ("_at", "_budget", "_granted", "_known", "_lock", "_partition", "_share", "_workers")

    def __init__(self, share: LoopShare, workers: ExpressionWorkers | None, header: RunHeader) -> None:
        """`workers`: None only where no event loop has to be protected; then everything runs on it."""
        self._share = share
        self._workers = workers
        self._partition = header.partition
        self._budget = WorkBudget(header.expression_limits)
        self._known: list[Any] = []
        """The values, or faults, of the current function, in the order of its evaluations."""
        self._at = 0
        self._granted = 0
        """What is left of the slice that a turn has reserved."""
        self._lock: asyncio.Lock | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether an evaluation of this entry is postponed. Other functions then have to use `settle`."""
        return self._lock is not None and self._lock.locked()

    def begin(self) -> None:
        """The next evaluations belong to another function."""
        self._known, self._at = [], 0

    def evaluate(self, expression: Expression, scope: MakeScope) -> Any:
        """Raises ExpressionFault, and EvaluationPostponed if the evaluation has to wait."""
        known = self._known
        if self._at < len(known):
            self._at += 1
            value = known[self._at - 1]
            if isinstance(value, ExpressionFault):
                raise value
            return value
        granted = self._granted
        if not granted and self._share.is_full:
            raise EvaluationPostponed(self, expression, scope, is_large=False)
        evaluation = expression.prepare(scope(), MAX_LOOP_VALUES)
        if evaluation is None or evaluation.loop_units > LOOP_SLICE_UNITS:
            raise EvaluationPostponed(self, expression, scope, is_large=True)
        units = evaluation.loop_units
        if units > granted if granted else not self._share.take(self._partition, units):
            raise EvaluationPostponed(self, expression, scope, is_large=False)
        if granted:
            # Zero would mean that there is no turn, and a turn is over only when the function returns.
            self._granted = max(1, granted - units)
        self._budget.spend(evaluation.work)
        value = evaluation.compute()
        known.append(value)
        self._at += 1
        return value

    async def settle(self, function: Callable[[], T], postponed: EvaluationPostponed | None = None) -> T:
        """The result of a pure function that evaluates expressions of this entry. It may be called several times.

        `postponed`: what the function has just raised. Raises what the function raises, and StepFailed if a worker is
        lost.
        """
        known = [] if postponed is None else self._known
        if self._lock is None:
            self._lock = asyncio.Lock()
        async with self._lock:
            while True:
                granted = 0 if postponed is None else await self._wait(postponed, known)
                self._known, self._at, self._granted = known, 0, granted
                try:
                    return function()
                except EvaluationPostponed as again:
                    postponed = again
                finally:
                    if granted:
                        self._share.give_back(self._granted)
                    self._granted = 0

    async def _wait(self, postponed: EvaluationPostponed, known: list[Any]) -> int:
        """Wait for a turn and return the units that it reserves; or evaluate elsewhere and add the value to `known`."""
        if not postponed.is_large:
            await self._share.turn(self._partition, LOOP_SLICE_UNITS)
            return LOOP_SLICE_UNITS
        try:
            known.append(await self._evaluate_elsewhere(postponed.expression, postponed.scope))
        except ExpressionFault as fault:
            known.append(fault)
        return 0

    async def _evaluate_elsewhere(self, expression: Expression, scope: MakeScope) -> Any:
        """Raises ExpressionFault, StepFailed."""
        await self._share.turn(self._partition, LOOP_SLICE_UNITS)
        if self._workers is None:
            return self._budget.evaluate(expression, scope)
        values = await self._encode(select_reads(scope(), expression.reads))
        job = ExpressionJob(expression.source, expression.local_names, values, self._budget.left)
        try:
            result = await self._workers.evaluate(self._partition, job)
        except WorkerLost:
            raise StepFailed(WORKER_LOST) from None
        return self._take_result(result)

    def _take_result(self, result: JobResult) -> Any:
        if result.fault is not None:
            self._budget.spend(min(result.work, self._budget.left))
            raise ExpressionFault(*result.fault)
        self._budget.spend(result.work)
        return result.value

    async def _encode(self, values: dict[str, Any]) -> msgspec.Raw:
        """The values as JSON. Encodes one variable or output at a time, and yields between them."""
        size = 0

        async def encode(value: Any, depth: int) -> msgspec.Raw:
            nonlocal size
            if is_object(value) and depth < PIECE_DEPTH:
                pieces = {name: await encode(member, depth + 1) for name, member in value.items()}
                return msgspec.Raw(msgspec.json.encode(pieces))
            try:
                encoded = msgspec.json.encode(value)
            except (TypeError, UnicodeEncodeError):
                raise expression_failed("The expression reads a value that is not JSON.") from None
            before, size = size, size + len(encoded)
            if size > MAX_JOB_BYTES:
                limit = MAX_JOB_BYTES // 2**20
                raise expression_limit(f"The expression reads more than {limit} MiB of values.")
            if before // ENCODED_PER_TURN != size // ENCODED_PER_TURN:
                await self._share.turn(self._partition, LOOP_SLICE_UNITS)
            return msgspec.Raw(encoded)

        return await encode(values, 0)


ENCODED_PER_TURN: Final = 2**19
"""Bytes of JSON after which encoding yields to the event loop."""
