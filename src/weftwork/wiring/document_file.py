"""Reads JSON files that the settings name: definitions, prompt templates, envelope kinds."""

from pathlib import Path
from typing import Any

from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json.decoder import decode


class DocumentFileError(Exception):
    """The file cannot be read as a JSON document. The message says why; the caller adds the name of the file."""


def read_document(file: Path, most: int) -> Any:
    """The document in a file of at most `most` bytes. Raises DocumentFileError."""
    try:
        if file.stat().st_size > most:
            raise DocumentFileError(f"is larger than {most} bytes")
        return decode(file.read_bytes())
    except OSError as error:
        raise DocumentFileError(error.strerror or "cannot be read") from None
    except ClientFault as fault:
        pointer = (fault.details or {}).get("pointer") or "/"
        raise DocumentFileError(f"{pointer}: {fault.message}") from None
