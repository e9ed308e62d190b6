"""Scopes that grant more than an operation, and the error for a key that lacks a scope.

`wire.v1.routes` lists all scopes, and the scope of each operation. The scopes here extend what a key with the scope of
an operation can do. A refusal names the command that creates a key with the missing scope, for the tenant and the mode
of the caller.
"""

from typing import Final

from weftwork.protocol.errors import ClientFault

READ: Final = "runs:read"
RESPOND: Final = "approvals:respond"
DELEGATE: Final = "approvals:delegate"
"""Answers and links in the name of other people."""
OVERRIDE: Final = "approvals:override"
"""Decisions in place of the approvers that a gate names."""
DEBUG: Final = "runs:debug"
"""The answers of models as they arrived, before they were validated."""
DEFAULT_TENANT: Final = "default"

_ON_REQUEST: Final = frozenset({DELEGATE, OVERRIDE})
_USED_WITH: Final = {DELEGATE: (READ, RESPOND), OVERRIDE: (READ, RESPOND), DEBUG: (READ,)}
"""The scopes of the operations that each of these scopes extends. `weftwork answer` reads an interrupt first."""


def new_key_scopes(scopes: tuple[str, ...]) -> tuple[str, ...]:
    """auth-08 (host): the scopes of a key that is created without a list of scopes, out of all `scopes`.

    The holder of such a key answers as itself: acting for other people has to be granted explicitly.
    """
    return tuple([scope for scope in scopes if scope not in _ON_REQUEST])


def create_key_command(partition: str, scope: str) -> str:
    """auth-01: the command that creates a key with this scope, and with those that it extends."""
    mode, _, tenant = partition.partition(":")
    options = [f"--tenant {tenant}"] if tenant != DEFAULT_TENANT else []
    options += ["--test"] if mode == "test" else []
    options += [f"--scope {each}" for each in (*_USED_WITH.get(scope, ()), scope)]
    return " ".join(["weftwork keys create", *options])


def missing_scope(partition: str, scope: str, message: str = "") -> ClientFault:
    """auth-01 (OpenWOP auth): the 403 for a key that lacks a scope. It names the scope and the command to run."""
    text = message or f"This key lacks the scope {scope}."
    advice = f"On the machine of the host, create a key that has it: `{create_key_command(partition, scope)}`."
    return ClientFault("forbidden", f"{text} {advice}", {"scopeRequired": scope})
