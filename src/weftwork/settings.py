"""Settings: merges the command line, the environment, a TOML file and defaults, in this order of precedence."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, get_args
from urllib.parse import urlsplit

import msgspec

from weftwork.protocol.json.values import is_object
from weftwork.protocol.limits import ExpressionLimits, Limits
from weftwork.protocol.models.provider_settings import InvalidProviderSettings, ProviderSettings, parse_provider
from weftwork.protocol.net.outbound import FetchLimits
from weftwork.protocol.net.target import OutboundPolicy
from weftwork.protocol.people.organisation import InvalidOrganisation, Organisation, parse_organisation
from weftwork.protocol.spelling import did_you_mean
from weftwork.protocol.wire.embedding import is_origin
from weftwork.protocol.wire.served_hosts import is_allowed_host, served_hosts
from weftwork.settings_file import SettingPath, SettingsFile, UnreadableSettings, read_settings_file


class SettingsError(Exception):
    """A setting is invalid. The message names the setting, its source, and the values that are allowed."""


StoreKind = Literal["sqlite", "memory", "postgres"]
_URL_SCHEMES: Final = ("postgres://", "postgresql://")


def store_kind(text: str) -> StoreKind | None:
    """The kind of store that a value of the setting `store` selects; None if the value is invalid."""
    if text in ("sqlite", "memory"):
        return text
    return "postgres" if text.startswith(_URL_SCHEMES) else None


def default_data_folder(environ: Mapping[str, str]) -> Path:
    base = environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "weftwork"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All settings of a host. Names are those of the command-line options, with underscores. `providers`,
    `organisation` and `file` come from the settings file only."""

    host: str = "127.0.0.1"
    port: int = 8787
    data: str = ""
    store: str = "sqlite"
    store_schema: str = "weftwork"
    store_connections: int = 8
    migrate: bool = False
    workflows: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    envelope_kinds: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    universal_kinds_in_prompts: bool = True
    model_script: str = ""
    local_model: str = ""
    provider: tuple[str, ...] = ()
    providers: tuple[ProviderSettings, ...] = ()
    organisation: Organisation = Organisation()
    model_substitution: bool = True
    api_key: tuple[str, ...] = ()
    conformance: bool = False
    conversation: bool = True
    surfaces: bool = True
    test_seams: bool = False
    allow_private_network: bool = False
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    max_node_executions: int = Limits().max_node_executions
    max_run_duration_ms: int = Limits().max_run_duration_ms
    max_run_state_bytes: int = Limits().max_run_state_bytes
    max_run_log_bytes: int = Limits().max_run_log_bytes
    max_log_bytes_per_tenant: int = Limits().max_log_bytes_per_tenant
    max_request_body_bytes: int = Limits().max_request_body_bytes
    max_body_bytes_in_memory: int = Limits().max_body_bytes_in_memory
    max_body_bytes_in_memory_per_key: int = Limits().max_body_bytes_in_memory_per_key
    reserved_share_percent: int = Limits().reserved_share_percent
    max_parallel_nodes: int = Limits().max_parallel_nodes
    max_live_runs: int = Limits().max_live_runs
    max_live_children: int = Limits().max_live_children
    max_live_runs_per_tenant: int = Limits().max_live_runs_per_tenant
    max_nodes_per_tenant: int = Limits().max_nodes_per_tenant
    max_loop_iterations: int = Limits().max_loop_iterations
    max_expression_work: int = Limits().expressions.entry_work
    max_condition_work: int = Limits().expressions.condition_work
    expression_workers: int = 2
    max_run_depth: int = Limits().max_run_depth
    max_descendants: int = Limits().max_descendants
    max_children_per_second: int = Limits().max_children_per_second
    max_streams: int = Limits().max_streams
    max_connections: int = Limits().max_connections
    max_workflows_per_tenant: int = Limits().max_workflows_per_tenant
    max_node_threads: int = Limits().max_node_threads
    max_inline_media_bytes: int = Limits().max_inline_media_bytes
    max_bytes_per_part: int = Limits().max_bytes_per_part
    max_upload_bytes: int = Limits().max_upload_bytes
    max_asset_bytes_per_tenant: int = Limits().max_asset_bytes_per_tenant
    upload_days: int = Limits().upload_days
    max_abandoned_threads: int = 32
    fetch_timeout_ms: int = FetchLimits().timeout_ms
    fetch_max_bytes: int = FetchLimits().max_bytes
    fetch_ports: tuple[int, ...] = (443,)
    fetch_http: bool = False
    keepalive_seconds: float = 10.0
    retention_days: int = 0
    allowed_hosts: tuple[str, ...] = ()
    embed_origins: tuple[str, ...] = ()
    public_url: str = ""
    media_url: str = ""
    media_reach: Literal["same-origin", "same-site", "cross-origin"] = "same-site"
    blobs: str = ""
    interrupt_link_days: int = 7
    shutdown_grace_seconds: float = Limits().shutdown_grace_seconds
    file: SettingsFile = SettingsFile()
    """The file that was read, for the places in messages."""

    def provider_error(self, name: str, path: SettingPath, message: str) -> SettingsError:
        """An error in a table `[providers.NAME]`, with the file and the line."""
        return _provider_error(self.file, name, path, message)

    def organisation_error(self, member: str, message: str) -> SettingsError:
        """An error in the table `[organisation]`, with the file and the line."""
        return _organisation_error(self.file, member, message)

    @property
    def store_kind(self) -> StoreKind:
        return store_kind(self.store) or "sqlite"

    @property
    def data_folder(self) -> Path:
        return Path(self.data)

    def media_base(self, port: int | None = None) -> str:
        """The base of asset URLs: `media_url`, else `public_url`, else the address on which the host listens."""
        address = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "[::]": "[::1]"}.get(self.host, self.host)  # noqa: S104
        host = f"[{address}]" if ":" in address and not address.startswith("[") else address
        return self.media_url or self.public_url or f"http://{host}:{self.port if port is None else port}"

    def served_hosts(self) -> frozenset[str] | None:
        """The names for which the host answers: `allowed_hosts`, and those of its URLs; None for every name."""
        return served_hosts(self.allowed_hosts, (self.public_url, self.media_url))

    def fetch_limits(self) -> FetchLimits:
        return FetchLimits(self.fetch_timeout_ms, self.fetch_max_bytes)

    def fetch_policy(self) -> OutboundPolicy:
        return OutboundPolicy(frozenset(self.fetch_ports), self.fetch_http, self.allow_private_network)

    def limits(self) -> Limits:
        """The limits of the host: settings where there are any, defaults for the others."""
        named = {name: getattr(self, name) for name in Limits.__struct_fields__ if name in _FIELDS}
        return Limits(**named, expressions=ExpressionLimits(self.max_expression_work, self.max_condition_work))


DEFAULT_LOCAL_MODEL: Final = "smollm2"
"""The value of `local_model` for `--local-model` without a file."""
FILE_ONLY: Final = ("providers", "organisation", "file")
"""Members of Settings that neither an option nor the environment can set."""
_FIELDS = {field.name: field for field in msgspec.structs.fields(Settings) if field.name not in FILE_ONLY}
_NUMBERS = tuple[int, ...]
PROVIDERS: Final = "providers"
"""The table of the settings file with the tables of the providers."""
ORGANISATION: Final = "organisation"
"""The table of the settings file with what the pages behind links show of the organisation."""
_TABLES: Final = (PROVIDERS, ORGANISATION)
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_LISTS = frozenset(
    {
        "workflows",
        "nodes",
        "envelope_kinds",
        "prompts",
        "provider",
        "api_key",
        "fetch_ports",
        "allowed_hosts",
        "embed_origins",
    }
)
_RANGES = {
    "port": (0, 65_535),
    # Four have one purpose each, and at least one is for everything else.
    "store_connections": (5, 100),
    "max_node_executions": (1, 10_000_000),
    "max_run_duration_ms": (0, 10**12),
    "max_run_state_bytes": (65_536, 2**40),
    "max_run_log_bytes": (65_536, 2**40),
    "max_log_bytes_per_tenant": (0, 2**60),
    "max_request_body_bytes": (1024, 256 * 2**20),
    "max_body_bytes_in_memory": (1024, 2**40),
    "max_body_bytes_in_memory_per_key": (1024, 2**40),
    "reserved_share_percent": (0, 90),
    "max_parallel_nodes": (1, 10_000),
    "max_live_runs": (1, 10_000_000),
    "max_live_children": (1, 10_000_000),
    "max_live_runs_per_tenant": (0, 10_000_000),
    "max_nodes_per_tenant": (0, 10_000_000),
    "max_loop_iterations": (1, 10_000),
    # Higher values would let expressions occupy the host for longer than its other limits assume.
    "max_expression_work": (1_000, Limits().expressions.entry_work),
    "max_condition_work": (1_000, Limits().expressions.condition_work),
    "expression_workers": (1, 64),
    "max_run_depth": (1, 1000),
    "max_descendants": (1, 100_000_000),
    "max_children_per_second": (0, 1_000_000),
    "max_streams": (1, 1_000_000),
    "max_connections": (1, 1_000_000),
    "max_workflows_per_tenant": (1, 1_000_000),
    "max_node_threads": (1, 10_000),
    "max_abandoned_threads": (1, 10_000),
    "max_inline_media_bytes": (0, 2**20),
    "max_bytes_per_part": (1, 256 * 2**20),
    "max_upload_bytes": (1, 2**40),
    "max_asset_bytes_per_tenant": (0, 2**60),
    "upload_days": (1, 3_650),
    "fetch_timeout_ms": (1, 600_000),
    "fetch_max_bytes": (1, 256 * 2**20),
    "keepalive_seconds": (0.05, 14.0),
    "retention_days": (0, 36_500),
    "interrupt_link_days": (1, 3_650),
    "shutdown_grace_seconds": (0.0, 3600.0),
}


def load_settings(
    options: Mapping[str, Any], environ: Mapping[str, str] = os.environ, config: str | None = None
) -> Settings:
    """Merge the four sources. `options` holds only the options that are present on the command line.

    Raises SettingsError.
    """
    env = {name: text for name in _FIELDS if (text := environ.get(f"WEFTWORK_{name.upper()}")) is not None}
    data = options.get("data") or env.get("data") or str(default_data_folder(environ))
    path = config or environ.get("WEFTWORK_CONFIG")
    file = Path(path) if path else Path(data) / "weftwork.toml"
    merged: dict[str, Any] = {"data": data}
    origin: dict[str, str] = {}
    settings_file = SettingsFile()
    if path or file.is_file():
        settings_file, keys = _from_file(file)
        merged |= {name: settings_file.document[key] for name, key in keys.items()}
        origin |= {name: f"{settings_file.place((key,))}: {name}" for name, key in keys.items()}
    providers, organisation = _parse_providers(settings_file), _parse_organisation(settings_file)
    for name, text in env.items():
        merged[name] = _from_text(name, text)
        origin[name] = f"WEFTWORK_{name.upper()}"
    merged |= options
    origin |= {name: f"--{name.replace('_', '-')}" for name in options}
    settings = _check(merged, origin)
    data = str(Path(settings.data).expanduser().absolute())
    return msgspec.structs.replace(
        settings, data=data, providers=providers, organisation=organisation, file=settings_file
    )


def misspelt_variables(environ: Mapping[str, str]) -> list[str]:
    """A warning for each environment variable WEFTWORK_... that weftwork does not read and that resembles a setting."""
    known = [f"WEFTWORK_{name.upper()}" for name in (*_FIELDS, "config", "faults", "url", "key")]
    unknown = (name for name in environ if name.startswith("WEFTWORK_") and name not in known)
    # Compared without the prefix, which would make any two names similar.
    hints = ((name, did_you_mean(name.removeprefix("WEFTWORK_"), [each[9:] for each in known])) for name in unknown)
    return [f"{name} is not a setting{hint.replace('mean ', 'mean WEFTWORK_')}" for name, hint in hints if hint]


def _from_file(file: Path) -> tuple[SettingsFile, dict[str, str]]:
    """The file, and its keys by the names of the settings, without the tables that have their own members."""
    try:
        settings_file = read_settings_file(file)
    except UnreadableSettings as error:
        raise SettingsError(str(error)) from None
    keys = {key.replace("-", "_"): key for key in settings_file.document if key not in _TABLES}
    unknown = sorted(set(keys) - set(_FIELDS))
    if unknown:
        names = [*_FIELDS, *_TABLES]
        hint = did_you_mean(unknown[0], names) or f"; the settings are {', '.join(sorted(names))}"
        raise SettingsError(f"{settings_file.place((keys[unknown[0]],))}: unknown setting {unknown[0]}{hint}")
    if is_object(settings_file.document.get("provider")):
        text = "provider is a list of MODULE:CLASS; the table of a provider is [providers.NAME]"
        raise SettingsError(f"{settings_file.place(('provider',)) or file}: {text}")
    return settings_file, keys


def _parse_providers(file: SettingsFile) -> tuple[ProviderSettings, ...]:
    """The tables `[providers.NAME]`, in the order of the file. Raises SettingsError."""
    tables = file.document.get(PROVIDERS, {})
    if not is_object(tables):
        place = file.place((PROVIDERS,)) or file.path
        raise SettingsError(f"{place}: providers must be tables; write [providers.NAME], with a name of your choice")
    providers: list[ProviderSettings] = []
    for name, table in tables.items():
        try:
            providers.append(parse_provider(name, table))
        except InvalidProviderSettings as error:
            raise _provider_error(file, name, error.path, error.message) from None
    return tuple(providers)


def _parse_organisation(file: SettingsFile) -> Organisation:
    """The table `[organisation]`. Raises SettingsError."""
    if ORGANISATION not in file.document:
        return Organisation()
    try:
        return parse_organisation(file.document[ORGANISATION])
    except InvalidOrganisation as error:
        raise _organisation_error(file, error.member, error.message) from None


def _organisation_error(file: SettingsFile, member: str, message: str) -> SettingsError:
    place = file.place((ORGANISATION, member) if member else (ORGANISATION,))
    shown = f"{ORGANISATION}.{member}" if _PLAIN_NAME.fullmatch(member) else ORGANISATION
    return SettingsError(f"{place}: {shown}: {message}" if place else f"{shown}: {message}")


def _provider_error(file: SettingsFile, name: str, path: SettingPath, message: str) -> SettingsError:
    place = file.place((PROVIDERS, name, *path))
    # Names from the file are shown as far as they are plain, because a message is one line.
    shown = [str(each) if isinstance(each, int) or _PLAIN_NAME.fullmatch(each) else "..." for each in (name, *path)]
    setting = ".".join((PROVIDERS, *shown))
    return SettingsError(f"{place}: {setting}: {message}" if place else f"{setting}: {message}")


def _from_text(name: str, text: str) -> Any:
    """Parse an environment variable: lists are separated by commas, flags are 1/true/yes/on or 0/false/no/off."""
    kind = _FIELDS[name].type
    if name in _LISTS:
        parts = [part for part in text.split(",") if part]
        return [int(part) if part.isdecimal() else part for part in parts] if kind == _NUMBERS else parts
    if kind is bool:
        lowered = text.strip().lower()
        if lowered in ("1", "true", "yes", "on"):
            return True
        if lowered in ("0", "false", "no", "off", ""):
            return False
        raise SettingsError(f"WEFTWORK_{name.upper()} must be true or false")
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            raise SettingsError(f"WEFTWORK_{name.upper()} must be a number") from None
    return text


def _check(merged: dict[str, Any], origin: Mapping[str, str]) -> Settings:
    for name, value in merged.items():
        try:
            msgspec.convert(value, _FIELDS[name].type)
        except msgspec.ValidationError:
            raise SettingsError(f"{origin.get(name, name)} must be {_expected(_FIELDS[name].type)}") from None
    settings = msgspec.convert(merged, Settings)
    for name, (low, high) in _RANGES.items():
        if not low <= getattr(settings, name) <= high:
            raise SettingsError(f"{origin.get(name, name)} must be between {low} and {high}")
    if not all(0 < port < 65_536 for port in settings.fetch_ports):
        raise SettingsError(f"{origin.get('fetch_ports', 'fetch_ports')} must be a list of ports between 1 and 65535")
    if 0 < settings.max_run_duration_ms < 1000:
        raise SettingsError(f"{origin.get('max_run_duration_ms', 'max_run_duration_ms')} must be 0 or at least 1000")
    if store_kind(settings.store) is None:
        # Without the value, which may contain a password.
        text = "sqlite, memory, or the URL of a PostgreSQL database, like postgres://weftwork@db.example.org/weftwork"
        raise SettingsError(f"{origin.get('store', 'store')} must be {text}")
    if not settings.host:
        raise SettingsError(f"{origin.get('host', 'host')} must be an address, such as 127.0.0.1 or 0.0.0.0")
    if not all(map(is_allowed_host, settings.allowed_hosts)):
        text = "a list of host names without scheme and port, like flows.example.org, or *"
        raise SettingsError(f"{origin.get('allowed_hosts', 'allowed_hosts')} must be {text}")
    if not all(map(is_origin, settings.embed_origins)):
        text = "a list of origins, like https://shop.example, or *"
        raise SettingsError(f"{origin.get('embed_origins', 'embed_origins')} must be {text}")
    for name in ("public_url", "media_url"):
        if getattr(settings, name) and not _is_base_url(getattr(settings, name)):
            text = "an http or https URL without query, like https://flows.example.org"
            raise SettingsError(f"{origin.get(name, name)} must be {text}")
    public, media = settings.public_url.rstrip("/"), settings.media_url.rstrip("/")
    return msgspec.structs.replace(settings, public_url=public, media_url=media)


def _is_base_url(text: str) -> bool:
    """Whether appending a path to this text gives a valid http or https URL."""
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018  raises
    except ValueError:
        return False
    plain = not (parts.query or parts.fragment or "@" in parts.netloc or re.search(r"[^!-~]|[?#\"'<>\\]", text))
    return parts.scheme in ("http", "https") and bool(parts.hostname) and plain


def _expected(kind: Any) -> str:
    plain = {int: "a whole number", float: "a number", bool: "true or false", str: "text", _NUMBERS: "a list of ports"}
    if kind in plain:
        return plain[kind]
    choices = [choice for choice in get_args(kind) if isinstance(choice, str)]
    return f"one of {', '.join(choices)}" if choices else "a list of strings"
