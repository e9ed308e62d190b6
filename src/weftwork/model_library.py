"""The model providers of a host."""

from collections.abc import Iterable
from pathlib import Path

from weftwork.adapters.providers.programs import Programs
from weftwork.adapters.providers.registry import Providers, offered
from weftwork.adapters.providers.script import ScriptUnreadable, read_script
from weftwork.ports.clock import Clock
from weftwork.ports.models import ModelProvider
from weftwork.settings import Settings, SettingsError


def host_models(settings: Settings, clock: Clock, more: Iterable[ModelProvider] = ()) -> tuple[Providers, Programs]:
    """`more`, then the providers that the settings come to; and what the scripted one is programmed by.

    Raises SettingsError.
    """
    try:
        script = read_script(Path(settings.model_script).expanduser()) if settings.model_script else None
    except ScriptUnreadable as error:
        raise SettingsError(f"--model-script {error}") from None
    return offered(clock, script, settings.test_seams or settings.conformance, more)
