"""The story of one run: from its creation to its end, through as many lives of the host as it takes."""

import asyncio
import time
from collections import Counter
from collections.abc import Coroutine, Iterable, Mapping
from typing import Any, Final

import msgspec

from weftwork.engine.api.keyring import Principal
from weftwork.engine.media.assets import DAY_MS
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.media.asset_references import media_ref
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunKey
from weftwork.protocol.run.projection import StoredRun
from weftwork.protocol.wire.v1.routes import SCOPES
from weftwork.testing.errors import Refused, Unending
from weftwork.testing.event_loop import ManualTimeLoop
from weftwork.testing.media import Asset
from weftwork.testing.question import TIMEOUT, Question, answer_to, has_answer, open_questions
from weftwork.testing.simulated_host import THREAD_POLL_SECONDS, HostProcess, SimulatedHost

CALLER: Final = Principal.of("key_test", "test", "live", frozenset(SCOPES))
MAX_CLOCK_MOVES: Final = 100_000
RETRY_MS: Final = 1_000
"""How long a caller waits whom the host could not serve."""
_MAX_KILL_ROUNDS: Final = 5


class Scenario:
    """Plays the host, its callers and the person who answers questions."""

    def __init__(
        self,
        world: SimulatedHost,
        document: dict[str, Any],
        request: dict[str, Any],
        answers: Mapping[str, Any],
        assets: Iterable[Asset] = (),
    ) -> None:
        self.host = world
        self._assets = [*assets]
        """Uploaded before the run starts."""
        self._document = document
        self._request = {"workflowId": document.get("id"), **request}
        self._answers = answers
        self._current_process: HostProcess | None = None
        self._run: RunKey | None = None
        self._request_task: asyncio.Task[Any] | None = None
        self._answer_counts: Counter[str] = Counter()
        """How many answers were given to each question, by key."""
        self._unanswered_keys: set[str] = set()
        """Keys of the questions that nobody is to answer."""
        self.questions: list[Question] = []
        """Those that are open."""

    @property
    def busy(self) -> int:
        """Threads that are at work."""
        return self._current_process.threads.busy if self._current_process is not None else 0

    def close(self) -> None:
        """Let idle threads end."""
        if self._current_process is not None:
            self._current_process.threads.close()

    async def play(self, loop: ManualTimeLoop) -> None:
        """Go on until the run has ended, or waits for an answer that the test does not have."""
        await self.host.store.open()
        await self.host.blobs.open()
        await self._start()
        for _ in range(MAX_CLOCK_MOVES):
            await loop.idle()
            life = self._process()
            if life.guard.is_dead:
                await self._await_death(loop, life)
                await self._start()
            elif self._request_task is not None and self._request_task.done():
                await self._finish_request(self._request_task)
            elif self._request_task is None and await self._is_settled():
                return
            elif self._request_task is None and self._answer_next():
                continue
            elif not loop.advance_to_next():
                raise Unending("nothing can happen any more")
        raise Unending(f"the clock was moved {MAX_CLOCK_MOVES:,} times")

    async def _start(self) -> None:
        life = self._current_process = HostProcess(self.host)
        life.exempt(asyncio.current_task())
        await life.signer.load()
        for each in self._assets:
            await life.assets.put(CALLER.partition, each.data, self.host.limits.upload_days * DAY_MS)
        violations = await life.catalog.register(self._document)
        if violations:
            listed = "\n".join(f"  {each.pointer or '/'}: {each.message}" for each in violations)
            raise Refused(f"the workflow cannot be registered:\n{listed}")
        self._start_request(self._recover(life))

    async def _recover(self, life: HostProcess) -> None:
        await life.executor.recover()
        if self._run is None:
            # A caller who was not told sends the same again, under the same key.
            outcome = await life.service.create_run(CALLER, self._request, "start")
            self._run = CALLER.run(outcome.run_id)

    def _start_request(self, work: Coroutine[Any, Any, Any]) -> None:
        self._request_task = asyncio.create_task(work)

    async def _finish_request(self, done: "asyncio.Task[Any]") -> None:
        self._request_task = None
        try:
            done.result()
        except StoreUnavailable:
            self._start_request(self._retry_later())
        except ClientFault as fault:
            where = (fault.details or {}).get("pointer", "")
            raise Refused(f"the host refuses: {fault.code}: {fault.message} {where}".rstrip()) from None

    async def _retry_later(self) -> None:
        clock = self.host.clock
        await clock.sleep_until(clock.now() + RETRY_MS)
        if self._run is None:
            await self._recover(self._process())

    async def _is_settled(self) -> bool:
        """Whether the run has ended, or goes no further without an answer that the test does not have."""
        stored = await self.stored()
        if stored is None or self._run is None:
            return False
        self.questions = open_questions(stored.rows, self.host.calls, stored.header)
        if stored.projection.status in TERMINAL_STATUSES:
            return True
        states = [msgspec.json.decode(row.value)["status"] for row in stored.rows if row.kind == "node"]
        unanswered = self.questions and not any(self._has_answer(each) for each in self.questions)
        return bool(unanswered) and not {"running", "retrying"} & {*states}

    def _has_answer(self, question: Question) -> bool:
        return has_answer(question, self._answers, self._answer_counts[question.key])

    def _answer_next(self) -> bool:
        """Whether one of the questions is being answered."""
        for question in self.questions:
            if question.key in self._unanswered_keys or not self._has_answer(question):
                continue
            answer = answer_to(question, self._answers, self._answer_counts[question.key])
            if answer is not TIMEOUT:
                self._start_request(self._resolve(question, answer))
                return True
            self._unanswered_keys.add(question.key)
        return False

    async def _resolve(self, question: Question, value: Any) -> None:
        assert self._run is not None
        document = {"resumeValue": value}
        # Somebody who was not told sends the same again, under the same key.
        key = f"answer:{question.key}:{self._answer_counts[question.key]}"
        interrupts = self._process().interrupts
        await interrupts.resolve(CALLER, self._run.run_id, question.node_id, document, key, question.interrupt_id)
        self._answer_counts[question.key] += 1

    async def _await_death(self, loop: ManualTimeLoop, life: HostProcess) -> None:
        """See to it that nothing of the process is left, threads included."""
        self._request_task = None
        for _ in range(_MAX_KILL_ROUNDS):
            await loop.idle()
            if len(asyncio.all_tasks()) == 1:
                break
            life.kill()
        else:
            left = [repr(task.get_coro()) for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            raise Unending(f"something goes on although its process died: {left}")
        while life.threads.abandoned:
            await asyncio.to_thread(time.sleep, THREAD_POLL_SECONDS)
        life.threads.close()

    def _process(self) -> HostProcess:
        assert self._current_process is not None
        return self._current_process

    async def stored(self) -> StoredRun | None:
        """The run as the store has it."""
        return await self.host.store.log.read_run(self._run) if self._run is not None else None

    async def read(self, sha256: str) -> bytes | None:
        """The bytes of an asset of the run's tenant."""
        assets = self._process().assets
        asset = await assets.find(CALLER.partition, media_ref(sha256))
        return await assets.read(asset) if asset is not None else None

    async def events(self) -> list[Event]:
        """Its whole log."""
        if self._run is None:
            # It may be there all the same, and its caller not know.
            found = await self.host.store.queries.unfinished_runs(None, 1)
            return await self.host.store.log.read(found[0], -1, 10**6) if found else []
        return await self.host.store.log.read(self._run, -1, 10**6)
