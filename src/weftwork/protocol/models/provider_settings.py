"""The settings of a model provider: one table `[providers.NAME]` of the settings file.

Sources: none; the settings are the host's own.
"""

from typing import Final

import msgspec

from weftwork.protocol.models.model_catalogue import ModelInfo

SCRIPTED_TYPE: Final = "scripted"
OPENAI_COMPATIBLE_TYPE: Final = "openai-compatible"

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
    options: dict[str, object] = {}
    """Members that only the type of the provider knows, such as `script` of the scripted provider."""

    def model(self, name: str) -> ModelInfo | None:
        """The model with that name; the default model for an empty name. None if the settings do not list it."""
        if not name:
            return self.models[0] if self.models else None
        return next((each for each in self.models if each.name == name), None)
