"""The router: a tree of path segments, built from the table of routes."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from weftwork.protocol.wire.route import Route
from weftwork.protocol.wire.v1.routes import WITH_COLON, split_path


@dataclass(slots=True)
class _PathNode:
    fixed: "dict[str, _PathNode]" = field(default_factory=dict[str, "_PathNode"])
    param: "tuple[str, _PathNode] | None" = None
    routes: dict[str, dict[str, Route | None]] = field(default_factory=dict[str, dict[str, Route | None]])
    """verb -> method -> route; the method `*` with None marks a path of an optional feature that is not provided."""


class Router:
    """Finds the routes of a path. Fixed segments win over parameters; a verb follows the last colon."""

    def __init__(self, routes: Iterable[Route], unoffered: Iterable[str]) -> None:
        self._root = _PathNode()
        self._static_paths: dict[str, dict[str, Route | None]] = {}
        """Paths without parameters, which need no walk through the tree."""
        for route in routes:
            self._add_path(route.path)[route.method] = route
        for path in unoffered:
            self._add_path(path)["*"] = None

    def find(self, path: str) -> tuple[dict[str, Route | None], dict[str, str]] | None:
        """The routes of a path by method, and its parameters; None for a path that is not in the table."""
        methods = self._static_paths.get(path)
        if methods is not None:
            return methods, {}
        if not path.startswith("/"):
            return None
        match = None if path.endswith(":") else self._walk(*split_path(path))
        if match is None:
            # A colon can also be part of these parameters. Anywhere else it starts an unknown verb.
            match = self._walk(path.split("/")[1:], "")
            return match if match is not None and not WITH_COLON.isdisjoint(match[1]) else None
        return match

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
        is_static = "{" not in path
        for text in segments:
            if text.startswith("{"):
                if branch.param is None:
                    branch.param = (text.strip("{}"), _PathNode())
                branch = branch.param[1]
            else:
                branch = branch.fixed.setdefault(text, _PathNode())
        methods = branch.routes.setdefault(verb, {})
        if is_static:
            self._static_paths[path] = methods
        return methods
