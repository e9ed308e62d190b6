"""The settings of a model provider: one table `[providers.NAME]` of the settings file.

Sources: none; the settings are the host's own.
"""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

import msgspec

from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.models.model_catalogue import (
    INPUT_CAPABILITIES,
    MODALITIES,
    RESERVED_CAPABILITIES,
    Modality,
    ModelInfo,
    ModelPrice,
    is_capability,
)
from weftwork.protocol.net.address import is_allowed, parse_address
from weftwork.protocol.net.target import OutboundPolicy, OutboundRefused, RequestTarget, parse_target
from weftwork.protocol.spelling import did_you_mean

SCRIPTED_TYPE: Final = "scripted"
OPENAI_COMPATIBLE_TYPE: Final = "openai-compatible"

MAX_MODEL_NAME: Final = 256
MAX_TIMEOUT_SECONDS: Final = 3600.0
MAX_OUTPUT_TOKENS: Final = 10_000_000

PROVIDER_NAME: Final = re.compile(r"[a-z][a-z0-9]*+(?:[._-][a-z0-9]++)*+")
_CREDENTIAL: Final = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]*)")
_KEY_NAMES: Final = frozenset({"key", "api_key", "apikey", "token", "secret", "password", "authorization"})

SettingPath = tuple[str | int, ...]
"""The members and positions that lead to a value in a table."""


class InvalidProviderSettings(Exception):
    """A setting of a provider is invalid. `path` leads to it from the table of the provider. The message says what to
    write, and does not quote the value, which can be a key."""

    def __init__(self, path: SettingPath, message: str) -> None:
        super().__init__(message)
        self.path = path
        self.message = message


class ProviderTimeouts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Seconds. `first_byte` is from the end of the request to the first byte of the response's body, `idle` between two
    pieces of it, `total` from the beginning of the call to its end."""

    connect: float = 5.0
    first_byte: float = 30.0
    idle: float = 30.0
    total: float = 300.0


class ProviderSettings(msgspec.Struct, frozen=True):
    """The settings of one provider. The first model is the default model of the provider."""

    name: str
    type: str
    base_url: str = ""
    credential: str = ""
    """Where the key comes from, such as `env:NAME`; empty: the provider needs no key. Never the key itself."""
    allow_private_network: bool = False
    timeouts: ProviderTimeouts = ProviderTimeouts()
    models: tuple[ModelInfo, ...] = ()
    other_models: bool = False
    """Whether requests can name models that are not in `models`. Without `models` they always can."""
    options: dict[str, object] = {}
    """Members that only the type of the provider knows, such as `script` of the scripted provider."""

    def model(self, name: str) -> ModelInfo | None:
        """The model with that name; the default model for an empty name. None if the settings do not list it."""
        if not name:
            return self.models[0] if self.models else None
        return next((each for each in self.models if each.name == name), None)

    @property
    def credential_variable(self) -> str | None:
        """The environment variable with the key; None if the provider needs no key."""
        match = _CREDENTIAL.fullmatch(self.credential)
        return match[1] if match else None

    def check_options(self, known: Iterable[str]) -> None:
        """Raises InvalidProviderSettings if there are options besides these. Every type calls it."""
        names = set(known)
        for name in self.options:
            if name not in names:
                raise _unknown_member((name,), name, [*_MEMBERS, *names])


def outbound_policy(settings: ProviderSettings) -> OutboundPolicy:
    """model-31 (host): the targets that a provider can reach: the scheme and port of its base URL, and private networks
    only if its settings allow them."""
    private = settings.allow_private_network
    if not settings.base_url:
        return OutboundPolicy(private=private)
    target = _parse_url(settings.base_url)
    return OutboundPolicy(frozenset({target.port}), target.scheme == "http", private)


def parse_provider(name: str, table: object) -> ProviderSettings:
    """model-30 (host): parse one table `[providers.NAME]`. The type of the provider checks the options.

    Raises InvalidProviderSettings.
    """
    if len(name) > MAX_MODEL_NAME or not PROVIDER_NAME.fullmatch(name):
        text = "the name of a provider has lowercase letters and digits, with single dots, hyphens or underscores"
        raise InvalidProviderSettings((), f"{text} between them; rename the table")
    if not is_object(table):
        raise InvalidProviderSettings((), f"write a table: [providers.{name}]")
    if "type" not in table:
        raise InvalidProviderSettings((), 'add the type of the provider, such as type = "openai-compatible"')
    for member in ("base_url", "allow_private_network"):
        # Without these two, the messages below would ask for a member that the table has, misspelt.
        misspelt = [] if member in table else [each for each in table if each not in _MEMBERS]
        if similar := [each for each in misspelt if did_you_mean(each, (member,))]:
            raise _unknown_member((similar[0],), similar[0], _MEMBERS)
    private = _flag(table, "allow_private_network")
    credential = _text(table, "credential")
    if credential and not _CREDENTIAL.fullmatch(credential):
        text = "write env:NAME, where NAME is the environment variable that holds the key"
        raise InvalidProviderSettings(("credential",), f"{text}; the key itself does not belong in the file")
    base_url = _text(table, "base_url").rstrip("/")
    if base_url:
        _check_base_url(base_url, private)
    return ProviderSettings(
        name,
        _text(table, "type"),
        base_url,
        credential,
        private,
        _timeouts(table.get("timeouts", {})),
        _models(table.get("models", [])),
        _flag(table, "other_models"),
        {key: value for key, value in table.items() if key not in _MEMBERS},
    )


def _unknown_member(path: SettingPath, name: str, known: Iterable[str]) -> InvalidProviderSettings:
    names = sorted(known)
    if name.lower() in _KEY_NAMES and "credential" in names:
        hint = '; write credential = "env:NAME", where NAME is the environment variable that holds the key'
    else:
        hint = did_you_mean(name, names) or f"; the members are {', '.join(names)}"
    return InvalidProviderSettings(path, f"unknown member{hint}")


def _text(table: Mapping[str, Any], name: str) -> str:
    value = table.get(name, "")
    if not isinstance(value, str):
        raise InvalidProviderSettings((name,), f'write text in quotes: {name} = "..."')
    return value


def _flag(table: Mapping[str, Any], name: str) -> bool:
    value = table.get(name, False)
    if not isinstance(value, bool):
        raise InvalidProviderSettings((name,), "write true or false, without quotes")
    return value


def _number(value: object, path: SettingPath, low: float, high: float, example: str) -> float:
    # An integer can be too large for a float, and so for isfinite; the range refuses it.
    is_number = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    if not isinstance(value, int | float) or isinstance(value, bool) or not is_number:
        raise InvalidProviderSettings(path, f"write a number, such as {example}")
    if not low <= value <= high:
        raise InvalidProviderSettings(path, f"write a number from {low:g} to {high:,.0f}")
    return float(value)


def _parse_url(url: str) -> RequestTarget:
    return parse_target(url, OutboundPolicy(private=True))


def _check_base_url(url: str, private: bool) -> None:
    path = ("base_url",)
    try:
        target = _parse_url(url)
    except OutboundRefused as refused:
        example = "write a URL such as https://api.example.com/v1"
        raise InvalidProviderSettings(path, f"{str(refused).rstrip('.')}; {example}") from None
    if "?" in url or "#" in url:
        raise InvalidProviderSettings(path, "remove the query and the fragment; the host adds the paths of the API")
    if private:
        return
    if _is_private(target):
        raise InvalidProviderSettings(
            path, "the server is on this machine or on a private network; add allow_private_network = true"
        )
    if target.scheme == "http":
        text = "http would send the key unencrypted; write https, or add allow_private_network = true"
        raise InvalidProviderSettings(path, f"{text} if the server is on a private network")


def _is_private(target: RequestTarget) -> bool:
    try:
        return not is_allowed(parse_address(target.host), False)
    except ValueError:
        return target.host.rpartition(".")[2] in ("localhost", "local", "internal")


def _timeouts(value: object) -> ProviderTimeouts:
    names = ProviderTimeouts.__struct_fields__
    if not is_object(value):
        raise InvalidProviderSettings(("timeouts",), "write a table: timeouts = { connect = 5, total = 300 }")
    for name in value:
        if name not in names:
            raise _unknown_member(("timeouts", name), name, names)
    seconds = {
        name: _number(each, ("timeouts", name), 0.001, MAX_TIMEOUT_SECONDS, f"{name} = 30, in seconds")
        for name, each in value.items()
    }
    return ProviderTimeouts(**seconds)


def _models(value: object) -> tuple[ModelInfo, ...]:
    if not is_array(value):
        raise InvalidProviderSettings(
            ("models",), 'write one table [[providers.NAME.models]] per model, with name = "..."'
        )
    models: dict[str, ModelInfo] = {}
    for at, table in enumerate(value):
        model = _model(table, ("models", at))
        if model.name in models:
            raise InvalidProviderSettings(("models", at, "name"), "another model of this provider has the same name")
        models[model.name] = model
    return tuple(models.values())


def _model(table: object, path: SettingPath) -> ModelInfo:
    if not is_object(table):
        raise InvalidProviderSettings(path, 'write a table with the name of the model: { name = "..." }')
    for name in table:
        if name not in _MODEL_MEMBERS:
            raise _unknown_member((*path, name), name, _MODEL_MEMBERS)
    name = table.get("name")
    if not isinstance(name, str) or not 0 < len(name) <= MAX_MODEL_NAME:
        at = (*path, "name") if "name" in table else path
        raise InvalidProviderSettings(
            at, f'write the name of the model, 1 to {MAX_MODEL_NAME} characters: name = "..."'
        )
    capabilities, modalities = _abilities(table, path)
    tokens = table.get("max_output_tokens")
    if tokens is not None:
        at = (*path, "max_output_tokens")
        tokens = int(_number(tokens, at, 1, MAX_OUTPUT_TOKENS, "max_output_tokens = 4096"))
    price = None if "price" not in table else _price(table["price"], (*path, "price"))
    return ModelInfo(name, capabilities, modalities, tokens, price)


def _abilities(table: Mapping[str, Any], path: SettingPath) -> tuple[frozenset[str], frozenset[Modality]]:
    """The capabilities and the modalities of a model. `vision-input` and `audio-input` follow from `input`, and the
    reverse if there is no `input`."""
    capabilities = _words(table.get("capabilities", []), (*path, "capabilities"))
    for at, name in enumerate(capabilities):
        if not is_capability(name):
            hint = did_you_mean(name, RESERVED_CAPABILITIES) or f"; write one of {', '.join(RESERVED_CAPABILITIES)}."
            text = f"unknown capability{hint} One of your own has the form x-host-HOST-NAME"
            raise InvalidProviderSettings((*path, "capabilities", at), text)
    if "input" not in table:
        derived: list[Modality] = [each for name, each in INPUT_CAPABILITIES.items() if name in capabilities]
        return frozenset(capabilities), frozenset(derived)
    words = _words(table["input"], (*path, "input"))
    for at, word in enumerate(words):
        if word not in ("text", *MODALITIES):
            raise InvalidProviderSettings(
                (*path, "input", at), f"unknown modality; write text, {', '.join(MODALITIES)}"
            )
    modalities = frozenset(cast("list[Modality]", [word for word in words if word != "text"]))
    for name, modality in INPUT_CAPABILITIES.items():
        if name in capabilities and modality not in modalities:
            raise InvalidProviderSettings((*path, "input"), f'add "{modality}", or remove the capability {name}')
    implied = {name for name, modality in INPUT_CAPABILITIES.items() if modality in modalities}
    return frozenset(capabilities) | implied, modalities


def _words(value: object, path: SettingPath) -> list[str]:
    if not is_array(value) or not all(isinstance(each, str) for each in value):
        raise InvalidProviderSettings(path, f'write a list of texts: {path[-1]} = ["..."]')
    return cast("list[str]", value)


def _price(value: object, path: SettingPath) -> ModelPrice:
    names = ModelPrice.__struct_fields__
    example = "price = { input = 0.10, output = 0.40 }, in US dollars per million tokens"
    if not is_object(value):
        raise InvalidProviderSettings(path, f"write a table: {example}")
    for name in value:
        if name not in names:
            raise _unknown_member((*path, name), name, names)
    for name in ("input", "output"):
        if name not in value:
            raise InvalidProviderSettings(path, f"add the price for {name}: {example}")
    return ModelPrice(**{name: _number(each, (*path, name), 0, 1e6, example) for name, each in value.items()})


_MEMBERS: Final = tuple(each for each in ProviderSettings.__struct_fields__ if each not in ("name", "options"))
_MODEL_MEMBERS: Final = ("name", "capabilities", "input", "max_output_tokens", "price")
