"""`pytest --rule idem-04` runs the tests that prove one rule."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rule", metavar="ID", help="only tests marked with this rule of rules.toml")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = config.getoption("--rule")
    if wanted is None:
        return
    left_out = [item for item in items if not any(wanted in mark.args for mark in item.iter_markers("rule"))]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]
