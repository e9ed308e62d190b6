"""A provider that repeats failed calls, and stops calling a provider that is down."""

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final

from weftwork.ports.clock import Clock
from weftwork.ports.models import (
    AnswerEnd,
    Delta,
    GeneratedMedia,
    ModelProvider,
    ModelRequest,
    ProviderContext,
    ProviderFault,
    input_modalities,
    listed_models,
)
from weftwork.protocol.media.message_parts import Modality
from weftwork.protocol.models.circuit_breaker import Circuit, admit, after_cancel, after_failure, down_wait_ms
from weftwork.protocol.models.model_catalogue import ModelInfo

log = logging.getLogger("weftwork.models")

MAX_REPEATS: Final = 2
MIN_BACKOFF_MS: Final = 500
MAX_BACKOFF_MS: Final = 2_000
MAX_IMMEDIATE_WAIT_MS: Final = 10_000
"""A provider that wants to be called later than this is not called again by the same call: the node waits."""
RETRY_AFTER_SPREAD: Final = 0.1
"""How much longer than the provider wants a node may wait, as a part of that time."""


class TransientFault(ProviderFault):
    """A failure after which a repeated call can succeed."""

    def __init__(self, code: str, message: str, is_down: bool = True, retry_after_ms: int | None = None) -> None:
        """`is_down`: if repetitions fail too, the node has to wait for the provider. `retry_after_ms`: when the
        provider wants to be called again, if it says so."""
        super().__init__(code, message)
        self.is_down = is_down
        self.retry_after_ms = retry_after_ms


class NoAnswerFault(ProviderFault):
    """A failure that does not help if repeated, and that says nothing about whether the provider is down: the request
    was not sent, or nothing came back."""


class SteadyProvider:
    """model-53 (host): calls another provider, and handles its transient faults.

    A call that raises TransientFault before its first item is repeated at most MAX_REPEATS times, after a random delay,
    or after the delay that the provider wants if that is short. If the provider is down or wants a longer delay, the
    fault has `wait_ms`, and the node waits. After several failed calls in a row, calls are not sent at all until one
    probe has succeeded. Other faults, and faults after the first item, are raised unchanged.
    """

    def __init__(self, provider: ModelProvider, context: ProviderContext) -> None:
        self._provider = provider
        self._clock: Clock = context.clock
        self._random = context.random
        self._circuit = Circuit()
        self._last_code = "provider_unavailable"
        self.name = provider.name
        self.default_model = provider.default_model

    @property
    def models(self) -> tuple[ModelInfo, ...]:
        return listed_models(self._provider)

    @property
    def check(self) -> Any:
        """The check of the provider; None if it has none."""
        return getattr(self._provider, "check", None)

    def modalities(self, model: str) -> frozenset[Modality]:
        return input_modalities(self._provider, model)

    async def generate(self, request: ModelRequest) -> AsyncGenerator[Delta | GeneratedMedia | AnswerEnd, None]:
        is_probe = self._admit()
        has_result = False
        try:
            for repeats_left in range(MAX_REPEATS, -1, -1):
                fault = None
                async with aclosing(self._provider.generate(request)) as items:
                    try:
                        async for item in items:
                            if not has_result:
                                has_result = True
                                self._close_circuit()
                            yield item
                    except TransientFault as transient:
                        fault = transient
                if fault is None:
                    return
                if has_result:
                    raise fault
                delay = self._delay(fault)
                if repeats_left == 0 or delay is None:
                    has_result = True
                    raise self._final(fault, is_probe)
                await self._clock.sleep(delay)
        except ProviderFault as fault:
            if not has_result and not isinstance(fault, NoAnswerFault):
                # The provider has answered, so it is not down.
                has_result = True
                self._close_circuit()
            raise fault from None
        finally:
            if not has_result:
                self._circuit = after_cancel(self._circuit, is_probe)

    def _admit(self) -> bool:
        """Whether the call is a probe. Raises ProviderFault if the circuit is open."""
        admission = admit(self._circuit, self._now())
        self._circuit = admission.circuit
        if admission.wait_ms is not None:
            message = f"The provider {self.name} is down: its last {self._circuit.failures} calls have failed."
            raise ProviderFault(self._last_code, message, wait_ms=max(admission.wait_ms, 1))
        return admission.is_probe

    def _close_circuit(self) -> None:
        if self._circuit.failures:
            log.info("model provider answers again", extra={"provider": self.name})
        self._circuit = Circuit()

    def _delay(self, fault: TransientFault) -> int | None:
        """The delay before the next repetition; None if the provider wants a longer one."""
        if fault.retry_after_ms is not None and fault.retry_after_ms > MAX_IMMEDIATE_WAIT_MS:
            return None
        return fault.retry_after_ms or int(MIN_BACKOFF_MS + (MAX_BACKOFF_MS - MIN_BACKOFF_MS) * self._random())

    def _final(self, fault: TransientFault, is_probe: bool) -> ProviderFault:
        """The fault that ends the call, counted by the circuit breaker."""
        if not fault.is_down and fault.retry_after_ms is None:
            self._circuit = after_cancel(self._circuit, is_probe)
            return ProviderFault(fault.code, fault.message, fault.retryable)
        wanted = fault.retry_after_ms or 0
        if wanted > MAX_IMMEDIATE_WAIT_MS:
            # Not earlier than the provider wants, and not all nodes at the same time.
            wait_ms = int(wanted * (1 + RETRY_AFTER_SPREAD * self._random()))
        else:
            wait_ms = max(wanted, down_wait_ms(self._circuit.failures + 1, self._random()))
        if not self._circuit.failures:
            fields = {"provider": self.name, "code": fault.code, "error": fault.message}
            log.warning("model provider is down; nodes wait for it", extra=fields)
        self._circuit = after_failure(self._circuit, self._now(), wait_ms, is_probe)
        self._last_code = fault.code
        return ProviderFault(fault.code, fault.message, fault.retryable, wait_ms)

    def _now(self) -> int:
        return self._clock.monotonic_ns() // 1_000_000
