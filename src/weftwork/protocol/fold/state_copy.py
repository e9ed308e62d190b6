"""A copy of the state of a run, so that folding on does not change the original.

The fold changes structs, and the containers that are members of structs. It replaces JSON values and never changes them
in place. A copy therefore has its own structs and containers, and shares all values: it costs time and memory for the
number of nodes, interrupts and writes, and not for the size of their values.
"""

from functools import cache
from typing import Any, Final, cast

import msgspec

from weftwork.protocol.fold.state import RunState
from weftwork.protocol.fold.variable_views import VariableView
from weftwork.protocol.json.values import is_array, is_object

ENTRY_BYTES: Final = 96
"""Rough memory of an entry of a container."""
STRUCT_BYTES: Final = 1024
"""Rough memory of a struct with its empty containers."""
_PLAIN_TYPES: Final = (bool, int, str, int | None, str | None)


def copy_state(state: RunState) -> tuple[RunState, int]:
    """fold-01: a copy with the same future as the state, and the rough memory of its structs and containers."""
    copier = _Copier(state)
    return copier.copy_struct(state), len(copier.structs) * STRUCT_BYTES + copier.entries * ENTRY_BYTES


@cache
def _changing_members(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """The members of a struct that may hold a container or a struct."""
    annotations: dict[str, Any] = kind.__annotations__
    return tuple([name for name in kind.__struct_fields__ if annotations.get(name) not in _PLAIN_TYPES])


def _shallow_copy(struct: Any) -> Any:
    """A struct with the same members. Not `msgspec.structs.replace`, which would run `__post_init__`."""
    return struct.__copy__()


class _Copier:
    """Copies each struct and each table of writes once, so that a node that is in two members is still one node."""

    def __init__(self, state: RunState) -> None:
        self.entries = 0
        self.structs: dict[int, Any] = {id(state.plan): state.plan, id(state.header): state.header}
        self._tables: dict[int, Any] = {}

    def copy_struct(self, struct: Any) -> Any:
        found = self.structs.get(id(struct))
        if found is None:
            kind = cast(type[msgspec.Struct], type(struct))
            if kind.__struct_config__.frozen:
                return struct
            found = self.structs[id(struct)] = _shallow_copy(struct)
            for name in _changing_members(kind):
                setattr(found, name, self._copy_member(getattr(struct, name)))
        return found

    def _copy_member(self, member: Any) -> Any:
        """A member of a struct: the fold may change it if it is a container."""
        if is_object(member):
            self.entries += len(member)
            return {name: self._copy_entry(entry) for name, entry in member.items()}
        if is_array(member):
            self.entries += len(member)
            return list(member)
        return self._copy_entry(member)

    def _copy_entry(self, value: Any) -> Any:
        """An entry of a container: a JSON value, which stays as it is, or a struct, a view or a set."""
        if isinstance(value, msgspec.Struct):
            return self.copy_struct(value)
        if isinstance(value, VariableView):
            is_known = len(self._tables)
            found = value.copy_into(self._tables)
            if len(self._tables) > is_known:
                self.entries += found.write_count
            return found
        if isinstance(value, set):
            entries = cast(set[Any], value)
            self.entries += len(entries)
            return set(entries)
        return value
