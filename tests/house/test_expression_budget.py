"""Node types evaluate expressions only where the host can bound and postpone the evaluation.

`scope.evaluate` and `scope.render` spend from the budget of the node entry, wherever they are called, and nothing else
that a node can import evaluates an expression. If an evaluation has to wait, they raise an exception that ends the
function that called them: an instant node as a whole, and in a waiting node the function that was passed to
`NodeContext.compute`. A waiting node that calls them elsewhere would fail whenever the event loop is busy.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import weftwork

SOURCE = Path(weftwork.__file__).parent
NODE_FOLDERS = ("adapters", "conformance", "engine/sdk", "testing", "templates")
SCOPE_METHODS = ("evaluate", "render")
EVALUATING_NAMES = frozenset(
    """
    Expression Template WorkBudget FoldEvaluator check_evaluator evaluate_condition matches parse_expression
    parse_template perform_job cel
    """.split()
)
"""What can evaluate an expression or search with a pattern, in `protocol/expressions`."""
EVALUATING_MODULES = {
    "adapters/expressions/worker.py": "a job in a worker, with the rest of the budget of an entry",
    "engine/nodes/entry_expressions.py": "the budget of an entry",
    "protocol/fold/data_flow.py": "the evaluator of the entry",
    "protocol/fold/facts.py": "ports of nodes with long waits, which get one slice together",
    "protocol/fold/traversal.py": "the conditions behind a node, which get one slice together",
    "protocol/workflow/definition.py": "holds the expressions of a definition",
    "protocol/workflow/node_config.py": "parses the expressions of a definition",
    "wiring/dependencies.py": "constant expressions, at the start",
}
"""The modules outside of `protocol/expressions` that import one of them, and what bounds their evaluations."""


def modules(*folders: str, word: str = "") -> dict[str, ast.Module]:
    """The modules in these folders that contain a word, by path."""
    texts = {path: path.read_text() for folder in folders for path in sorted((SOURCE / folder).rglob("*.py"))}
    return {path.relative_to(SOURCE).as_posix(): ast.parse(text) for path, text in texts.items() if word in text}


def is_scope_method(node: ast.AST) -> bool:
    """Whether this is `scope.evaluate` or `….scope.render`."""
    if not isinstance(node, ast.Attribute) or node.attr not in SCOPE_METHODS:
        return False
    owner = node.value
    return (isinstance(owner, ast.Name) and owner.id == "scope") or (
        isinstance(owner, ast.Attribute) and owner.attr == "scope"
    )


Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions_of(tree: ast.Module) -> list[Function]:
    return [node for node in ast.walk(tree) if isinstance(node, Function)]


def methods_of(tree: ast.Module) -> set[str]:
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return {each.name for node in classes for each in node.body if isinstance(each, Function)}


def own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run when the function is called: without those of the functions in it."""
    for node in ast.iter_child_nodes(function):
        if not isinstance(node, Function | ast.Lambda):
            yield node
            yield from own_nodes(node)


def imports_of(tree: ast.Module) -> Iterator[tuple[str, str, str]]:
    """The module, the name in it and the local name of everything that is imported from the package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("weftwork."):
            module = (node.module or "").removeprefix("weftwork.").replace(".", "/")
            for each in node.names:
                yield module, each.name, each.asname or each.name


class Evaluating:
    """The functions of some modules that evaluate an expression when they are called, by module."""

    def __init__(self, trees: dict[str, ast.Module]) -> None:
        self._functions = {
            path: [
                (each, [node for node in own_nodes(each) if isinstance(node, ast.Call)]) for each in functions_of(tree)
            ]
            for path, tree in trees.items()
        }
        self._imports = {path: list(imports_of(tree)) for path, tree in trees.items()}
        self._methods = {path: methods_of(tree) for path, tree in trees.items()}
        self.names = {path: self._aliases(tree) for path, tree in trees.items()}
        self.methods: set[str] = set()
        while self._find_more():
            pass

    def _aliases(self, tree: ast.Module) -> set[str]:
        """The names and members that hold `scope.evaluate`."""
        targets = [
            each
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and is_scope_method(node.value)
            for each in node.targets
        ]
        return {each.attr if isinstance(each, ast.Attribute) else ast.unparse(each) for each in targets}

    def _find_more(self) -> bool:
        before = sum(map(len, self.names.values())) + len(self.methods)
        for path, functions in self._functions.items():
            names = self.names[path]
            names |= {
                local for module, name, local in self._imports[path] if name in self.names.get(f"{module}.py", ())
            }
            for function, calls in functions:
                if isinstance(function, ast.FunctionDef) and any(self.is_evaluation(path, each) for each in calls):
                    names.add(function.name)
                    self.methods |= {function.name} & self._methods[path]
        return sum(map(len, self.names.values())) + len(self.methods) > before

    def is_evaluation(self, path: str, call: ast.Call) -> bool:
        target, names = call.func, self.names[path]
        if isinstance(target, ast.Name):
            return target.id in names
        if not isinstance(target, ast.Attribute):
            return False
        if is_scope_method(target) or target.attr in self.methods:
            return True
        owner = target.value
        if not isinstance(owner, ast.Name):
            return False
        if owner.id == "self":
            return target.attr in names
        imported = (f"{module}/{name}.py" for module, name, local in self._imports[path] if local == owner.id)
        return any(target.attr in self.names.get(each, ()) for each in imported)

    def outside_compute(self) -> list[str]:
        """Where a coroutine evaluates by itself instead of passing a function to `compute`."""
        return [
            f"{path}:{call.lineno}: {function.name} evaluates; pass a function to context.compute"
            for path, functions in self._functions.items()
            for function, calls in functions
            if isinstance(function, ast.AsyncFunctionDef)
            for call in calls
            if self.is_evaluation(path, call)
        ]


def test_waiting_nodes_evaluate_only_in_compute() -> None:
    evaluating = Evaluating(modules(*NODE_FOLDERS, word="def "))
    for path, name in (
        ("call_inputs", "evaluate"),
        ("flow/map_body", "_port_inputs"),
        ("net/http_request", "_build_request"),
        ("people/conversation_gate", "_render_opening"),
        ("data/run_data", "evaluate"),
    ):
        assert name in evaluating.names[f"adapters/nodes/{path}.py"], "the scan finds less than there is"
    found = evaluating.outside_compute()
    assert not found, "\n".join(found)


OTHER = "def evaluate(call, source): return call.scope.evaluate(source)"
WAITING = """
from weftwork.nodes import other
from weftwork.nodes.other import evaluate as compute_now
def _through(call): return compute_now(call, 'x')
class Body:
    def __init__(self, call): self._kept = call.scope.evaluate
    def item(self): return self._kept('x')
    async def of(self): await self._context.compute(self.item)
async def run(call, context):
    await context.compute(partial(_through, call))
    await context.compute(lambda: call.scope.evaluate(source))
"""


@pytest.mark.parametrize(
    "statement",
    [
        "call.scope.evaluate(source)",
        "compute_now(call, source)",
        "other.evaluate(call, source)",
        "_through(call)",
        "x = [_through(call) for _ in items]",
        "await elsewhere(call.scope.render(text))",
        "body.item()",
        "await context.compute(_through(call))",
    ],
)
def test_an_evaluation_outside_compute_is_found(statement: str) -> None:
    def found(source: str) -> list[str]:
        trees = {"nodes/other.py": ast.parse(OTHER), "nodes/waiting.py": ast.parse(source)}
        return Evaluating(trees).outside_compute()

    assert not found(WAITING)
    assert len(found(f"{WAITING}    {statement}")) == 1


def test_every_module_that_can_evaluate_is_listed_with_its_bound() -> None:
    found = {
        path
        for path, tree in modules("", word="protocol.expressions").items()
        if not path.startswith("protocol/expressions/")
        for module, name, _ in imports_of(tree)
        if module.startswith("protocol/expressions") and name in EVALUATING_NAMES
    }
    assert found == set(EVALUATING_MODULES)
