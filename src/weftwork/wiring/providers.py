"""Creates the model providers that the settings configure: built-in types, types of installed packages, and classes of
the operator."""

import inspect
import os
import random
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import entry_points
from typing import Any, Final, cast

import msgspec

from weftwork.adapters.outbound.client import GuardedClient
from weftwork.adapters.providers.configured import ConfiguredProvider
from weftwork.adapters.providers.openai_compatible.provider import openai_compatible_provider
from weftwork.adapters.providers.scripted import scripted_provider
from weftwork.adapters.python.declaration.module_loading import ModuleLoadError, explain_error, load_module
from weftwork.ports.clock import Clock
from weftwork.ports.models import ModelProvider, ProviderContext, ProviderFactory
from weftwork.protocol.models.provider_settings import (
    OPENAI_COMPATIBLE_TYPE,
    PROVIDER_NAME,
    SCRIPTED_TYPE,
    InvalidProviderSettings,
    ProviderSettings,
    outbound_policy,
)
from weftwork.protocol.net.outbound import FetchLimits
from weftwork.protocol.spelling import did_you_mean
from weftwork.settings import Settings, SettingsError

ENTRY_POINT_GROUP: Final = "weftwork.providers"
MAX_RESPONSE_BYTES: Final = 64 * 2**20
"""The size limit of one response of a provider; an answer with images or sound is tens of megabytes at most."""

PROVIDER_TYPES: Final[Mapping[str, ProviderFactory]] = {
    OPENAI_COMPATIBLE_TYPE: openai_compatible_provider,
    SCRIPTED_TYPE: scripted_provider,
}
"""The types that come with the package."""


class CreatedProvider(msgspec.Struct, frozen=True):
    """A provider, its outbound client, and where it is configured."""

    provider: ModelProvider
    client: GuardedClient
    place: str


def load_provider_class(text: str) -> ProviderFactory:
    """The class or function that `--provider module:Class` names. Raises SettingsError."""
    label = f"--provider {text}"
    module_name, colon, name = text.partition(":")
    if not colon or not name.isidentifier():
        raise SettingsError(f"{label}: write MODULE:CLASS, such as acme.models:AcmeModels")
    try:
        module = load_module(label, module_name)
    except ModuleLoadError as error:
        raise SettingsError(str(error)) from None
    factory = getattr(module, name, None)
    if not callable(factory):
        known = [each for each, value in vars(module).items() if isinstance(value, type)]
        raise SettingsError(
            f"{label}: the module {module_name} has no class or function {name}{did_you_mean(name, known)}"
        )
    return cast("ProviderFactory", factory)


def create_providers(
    settings: Settings, clock: Clock, agent: str, environ: Mapping[str, str] = os.environ
) -> list[CreatedProvider]:
    """The providers of `--provider`, followed by those of the settings file. Raises SettingsError."""
    return [*_own_classes(settings, clock, agent), *_configured(settings, clock, agent, environ)]


def _own_classes(settings: Settings, clock: Clock, agent: str) -> Iterator[CreatedProvider]:
    for text in settings.provider:
        factory, label = load_provider_class(text), f"--provider {text}"

        def invalid(_path: tuple[str | int, ...], message: str, label: str = label) -> SettingsError:
            return SettingsError(f"{label}: {message}")

        context = _context(ProviderSettings("", text), clock, agent, _no_credential)
        provider = _create(factory, context, invalid)
        yield CreatedProvider(provider, cast("GuardedClient", context.outbound), label)


def _configured(settings: Settings, clock: Clock, agent: str, environ: Mapping[str, str]) -> Iterator[CreatedProvider]:
    for each in settings.providers:

        def invalid(path: tuple[str | int, ...], message: str, name: str = each.name) -> SettingsError:
            return settings.provider_error(name, path, message)

        factory = _factory_of_type(each, invalid)
        context = _context(each, clock, agent, _credential_reader(each, environ, invalid))
        provider = _create(factory, context, invalid)
        if provider.name != each.name:
            text = f"the type {each.type} creates a provider named {provider.name}; give the table that name, or let "
            raise invalid((), f"{text}the class use the name in ProviderContext.settings")
        if each.models:
            provider = ConfiguredProvider(provider, each)
        yield CreatedProvider(provider, cast("GuardedClient", context.outbound), f"[providers.{each.name}]")


_Invalid = Callable[[tuple[str | int, ...], str], SettingsError]
"""Makes the error for a setting at a path in the table of the provider."""


def _factory_of_type(settings: ProviderSettings, invalid: _Invalid) -> ProviderFactory:
    if (factory := PROVIDER_TYPES.get(settings.type)) is not None:
        return factory
    installed = {each.name: each for each in entry_points(group=ENTRY_POINT_GROUP)}
    if (entry_point := installed.get(settings.type)) is None:
        names = [*PROVIDER_TYPES, *sorted(installed)]
        hint = did_you_mean(settings.type, names) or f"; the types are {', '.join(names)}"
        text = f"unknown type{hint}, and those that installed packages add (entry point group {ENTRY_POINT_GROUP})"
        raise invalid(("type",), text)
    try:
        return entry_point.load()
    except Exception as error:
        text = f"the type comes from the entry point {entry_point.value}, which cannot be loaded"
        raise invalid(("type",), f"{text}: {explain_error(error, entry_point.module)}") from None


def _credential_reader(
    settings: ProviderSettings, environ: Mapping[str, str], invalid: _Invalid
) -> Callable[[], str | None]:
    variable = settings.credential_variable
    if variable is None:
        return _no_credential
    if not environ.get(variable):
        text = f"the environment variable {variable} is not set; set it to the key before the start"
        raise invalid(("credential",), f"{text}, or remove this line if the provider needs no key")
    return lambda: environ.get(variable)


def _no_credential() -> None:
    return None


def _context(
    settings: ProviderSettings, clock: Clock, agent: str, credential: Callable[[], str | None]
) -> ProviderContext:
    limits = FetchLimits(int(settings.timeouts.total * 1000), MAX_RESPONSE_BYTES)
    client = GuardedClient(outbound_policy(settings), limits, agent=agent)
    return ProviderContext(settings, client, clock, random.random, credential)


def _create(factory: ProviderFactory, context: ProviderContext, invalid: _Invalid) -> ModelProvider:
    if not _takes_context(factory) and context.settings.options:
        name = next(iter(context.settings.options))
        raise invalid((name,), f"unknown member; the type {context.settings.type} has no options of its own")
    try:
        provider = factory(context) if _takes_context(factory) else cast("Callable[[], ModelProvider]", factory)()
    except InvalidProviderSettings as error:
        raise invalid(error.path, error.message) from None
    except Exception as error:
        text = _without_key(explain_error(error, factory.__module__), context.credential())
        raise invalid((), f"the provider could not be created: {text}") from None
    if problem := _shape_problem(provider):
        raise invalid((), f"{problem}; see docs/how-to/write-a-provider.md")
    return provider


def _without_key(text: str, key: str | None) -> str:
    return text.replace(key, "[key]") if key else text


def _takes_context(factory: Callable[..., Any]) -> bool:
    """Whether a factory is called with the context: it has a parameter without a default, or one named `context`."""
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):
        return True
    positional = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    return any(each.default is each.empty or each.name == "context" for each in positional)


def _shape_problem(provider: Any) -> str:
    """What a provider lacks that the port requires; empty if nothing."""
    name = getattr(provider, "name", None)
    if not isinstance(name, str) or not PROVIDER_NAME.fullmatch(name):
        return "the provider needs a `name` of lowercase letters and digits, with dots, hyphens or underscores between"
    if not isinstance(getattr(provider, "default_model", None), str) or not provider.default_model:
        return "the provider needs a `default_model`, the name of the model for requests that name none"
    generate = getattr(provider, "generate", None)
    if not callable(generate) or inspect.iscoroutinefunction(generate):
        return "the provider needs an async generator `generate(self, request)`: async def with yield, without return"
    return ""
