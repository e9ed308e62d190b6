"""Variables of its run that a node reads and writes beside its ports: those that its config names."""

from collections.abc import Iterator
from typing import Any

from weftwork.protocol.decode import escape
from weftwork.protocol.definition import Node
from weftwork.protocol.json_value import is_array, is_object
from weftwork.protocol.pointer import tokens


def variables_read(node: Node) -> Iterator[str]:
    """The variable that such a node reads by its name, and those that it gives to a child run."""
    declaration = node.declaration
    if declaration.reads_variable:
        yield node.config[declaration.reads_variable]
    for pattern in declaration.maps_in:
        for _, mapped in matching(node.config, pattern):
            yield from mapped.values()


def variables_written(node: Node) -> Iterator[tuple[str, str]]:
    """The variable that such a node writes, and those that it takes from a child run, each with the pointer below the
    config at which it is named."""
    declaration = node.declaration
    if declaration.sets_variable:
        yield f"/{declaration.sets_variable}", node.config[declaration.sets_variable]
    for pattern in declaration.maps_out:
        for pointer, mapped in matching(node.config, pattern):
            yield from ((f"{pointer}/{escape(name)}", name) for name in mapped)


def matching(value: Any, pattern: str) -> Iterator[tuple[str, Any]]:
    """What stands at a pointer pattern, where `*` is any one member or item; absent members give nothing."""
    places = [("", value)]
    for step in tokens(pattern):
        below: list[tuple[str, Any]] = []
        for pointer, place in places:
            if is_array(place) and step == "*":
                below += [(f"{pointer}/{index}", item) for index, item in enumerate(place)]
            if not is_object(place):
                continue
            names = list(place) if step == "*" else [step] if step in place else []
            below += [(f"{pointer}/{escape(name)}", place[name]) for name in names]
        places = below
    yield from places
