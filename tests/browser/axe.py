"""The accessibility checker axe-core, run in a page."""

import importlib.util
import json
from functools import cache
from pathlib import Path
from typing import Any

from tests.browser.chromium import Tab

PACKAGE = "axe_core_python"


@cache
def source() -> str:
    """The script of the package. The package itself would import a driver of browsers, so it is not imported."""
    found = importlib.util.find_spec(PACKAGE)
    assert found is not None
    assert found.origin is not None
    return (Path(found.origin).parent / "axe.min.js").read_text("utf-8")


def findings(tab: Tab, selector: str) -> list[dict[str, Any]]:
    """The findings in an element: rule, impact and the elements. The policy of the page must allow inline styles."""
    if not tab.evaluate("'axe' in window"):
        # Without a value, because the result of the script cannot be copied.
        tab.evaluate(f"{source()};0")
    said = tab.call(
        "Runtime.evaluate",
        expression=f"axe.run({json.dumps(selector)}).then((found) => found.violations.map((each) => "
        "({rule: each.id, impact: each.impact, nodes: each.nodes.map((node) => node.html)})))",
        returnByValue=True,
        awaitPromise=True,
    )
    assert "exceptionDetails" not in said, said["exceptionDetails"]
    return said["result"]["value"]
