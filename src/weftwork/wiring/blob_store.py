"""Builds the store for the bytes of assets: a folder, memory, or an S3 bucket."""

import os
import re
from collections.abc import Mapping

from weftwork.adapters.blobs.local import LocalBlobs
from weftwork.adapters.blobs.memory import MemoryBlobs
from weftwork.ports.clock import Clock
from weftwork.ports.ids import Ids
from weftwork.ports.storage.blobs import Blobs
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.settings import Settings, SettingsError

ASSETS_FOLDER = "assets"

_S3_URL = re.compile(r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(/(?P<prefix>[A-Za-z0-9._/-]*))?", re.ASCII)
_ENDPOINT_VARIABLES = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")


def build_blobs(settings: Settings, clock: Clock, ids: Ids, environ: Mapping[str, str] = os.environ) -> Blobs:
    """The blob store that `blobs` and `store` select. Raises SettingsError."""
    if settings.blobs:
        return _build_object_blobs(settings, ids, environ)
    if settings.store_kind == "memory":
        return MemoryBlobs(clock, ids)
    return LocalBlobs(settings.data_folder / ASSETS_FOLDER, clock, ids)


def _build_object_blobs(settings: Settings, ids: Ids, environ: Mapping[str, str]) -> Blobs:
    url = _S3_URL.fullmatch(settings.blobs)
    prefix = (url["prefix"] or "").strip("/") if url is not None else ""
    if url is None or any(step in ("", ".", "..") for step in prefix.split("/") if prefix):
        raise SettingsError("blobs must be empty (assets are in the data folder) or a URL like s3://bucket/prefix")
    allow_http = environ.get("AWS_ALLOW_HTTP", "").lower() in ("1", "true", "yes", "on")
    plain = [name for name in _ENDPOINT_VARIABLES if environ.get(name, "").lower().startswith("http:")]
    if plain and not allow_http:
        raise SettingsError(
            f"{plain[0]} is an http URL; use https, or set AWS_ALLOW_HTTP=true to send assets without TLS"
        )
    try:
        # The library is an optional dependency, which only hosts with assets on S3 install.
        from weftwork.adapters.blobs.object_storage import ObjectBlobs
    except ModuleNotFoundError:
        raise SettingsError("blobs on s3:// needs optional packages; run: pip install 'weftwork[blobs]'") from None
    folder = None if settings.store_kind == "memory" else settings.data_folder
    try:
        return ObjectBlobs(url["bucket"], prefix, ids, folder, allow_http)
    except StoreUnavailable as fault:
        raise SettingsError(f"blobs: {fault}; check the environment variables that begin with AWS_") from None
