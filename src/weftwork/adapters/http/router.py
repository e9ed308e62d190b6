"""The router: a tree of path segments made from the wire table."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from weftwork.protocol.wire.route import Route
from weftwork.protocol.wire.v1.routes import split_path


@dataclass(slots=True)
class _PathNode:
    fixed: "dict[str, _PathNode]" = field(default_factory=dict[str, "_PathNode"])
    param: "tuple[str, _PathNode] | None" = None
    routes: dict[str, dict[str, Route | None]] = field(default_factory=dict[str, dict[str, Route | None]])
    """verb -> method -> route; None marks a path that is known but not offered."""


class Router:
    """Finds the routes of a path. Fixed segments win over parameters; verbs follow the last colon."""

    def __init__(self, routes: Iterable[Route], unoffered: Iterable[str]) -> None:
        self._root = _PathNode()
        self._static_paths: dict[str, dict[str, Route | None]] = {}
        """Paths without parameters, found at once."""
        for route in routes:
            self._add_path(route.path)[route.method] = route
        for path in unoffered:
            self._add_path(path)["*"] = None

    def find(self, path: str) -> tuple[dict[str, Route | None], dict[str, str]] | None:
        """The routes of a path by method, and its parameters; None for a path that is not in the table."""
        plain = self._static_paths.get(path)
        if plain is not None:
            return plain, {}
        if not path.startswith("/"):
            return None
        found = None if path.endswith(":") else self._walk(*split_path(path))
        if found is None:
            # Only the id of a node, or what is no token, may hold a colon; elsewhere what follows one is a verb that we
            # do not know.
            found = self._walk(path.split("/")[1:], "")
            return found if found is not None and ("nodeId" in found[1] or "token" in found[1]) else None
        return found

    def _walk(self, segments: list[str], verb: str) -> tuple[dict[str, Route | None], dict[str, str]] | None:
        branch = self._root
        params: dict[str, str] = {}
        for text in segments:
            fixed = branch.fixed.get(text)
            if fixed is not None:
                branch = fixed
            elif branch.param is not None and text:
                name, branch = branch.param
                params[name] = text
            else:
                return None
        methods = branch.routes.get(verb)
        return (methods, params) if methods else None

    def _add_path(self, path: str) -> dict[str, Route | None]:
        segments, verb = split_path(path)
        branch = self._root
        plain = "{" not in path
        for text in segments:
            if text.startswith("{"):
                if branch.param is None:
                    branch.param = (text.strip("{}"), _PathNode())
                branch = branch.param[1]
            else:
                branch = branch.fixed.setdefault(text, _PathNode())
        methods = branch.routes.setdefault(verb, {})
        if plain:
            self._static_paths[path] = methods
        return methods
