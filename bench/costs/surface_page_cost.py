"""How long the module for pages takes to render a surface in Chromium, until its layout is computed."""

import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, Final

from tests.browser.chromium import Chromium, installed

from bench.plan import BenchError, Plan
from bench.subjects.host import weftwork
from weftwork.protocol.surfaces.limits import MAX_COMPONENTS, check_limits
from weftwork.protocol.wire.v1.paths import path_for

RENDERS: Final = 10
"""In each tab. The first one is counted apart: its code has not been compiled yet."""
WIDTH, HEIGHT = 1100, 900
MEASURE: Final = """
(async () => {{
  const {{ renderSurface }} = await import({module});
  const view = {view};
  const times = [];
  for (let number = 0; number < {renders}; number++) {{
    const element = document.createElement("div");
    document.body.replaceChildren(element);
    const began = performance.now();
    const form = renderSurface(element, view, {{ onAction: async () => {{}} }});
    const height = element.getBoundingClientRect().height;
    times.push(performance.now() - began);
    if (element.firstChild.dataset.state !== "open" || height < 1000) return [];
    form.destroy();
  }}
  return times;
}})()
"""

Progress = Callable[[str], None]


def surface_page_costs(plan: Plan, folder: Path, say: Progress) -> dict[str, float]:
    """A surface of 200 components of all types, of which 40 have options. Empty if there is no browser."""
    if installed() is None:
        say("a surface in a page: not measured, there is no Chromium")
        return {}
    first: list[float] = []
    later: list[float] = []
    with weftwork(folder / "host") as host, Chromium(folder / "profile") as browser:
        host.wait()
        module = f"http://127.0.0.1:{host.port}{path_for('getSurfaceModule')}"
        script = MEASURE.format(module=json.dumps(module), view=json.dumps(_view()), renders=RENDERS)
        for _ in range(plan.surface_tabs):
            tab = browser.tab()
            tab.screen(WIDTH, HEIGHT)
            said = tab.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
            times: list[float] = said["result"].get("value") or []
            if not times:
                raise BenchError(f"the surface was not rendered: {said}")
            first.append(times[0])
            later += times[1:]
            tab.close()
    found = {"surface_page_first_ms": median(first), "surface_page_ms": median(later)}
    say(
        f"a surface of {MAX_COMPONENTS} components is rendered in a page in {found['surface_page_ms']:.1f} ms, "
        f"the first one of a tab in {found['surface_page_first_ms']:.1f} ms"
    )
    return found


def _view() -> dict[str, Any]:
    """The view of a surface with as many components as the host accepts."""
    options = [{"value": f"v{number}", "label": f"Option {number}"} for number in range(10)]
    components: list[dict[str, Any]] = []
    for number in range(MAX_COMPONENTS // 5):
        components += [
            {"component": "heading", "text": f"Part {number}", "level": 2 + number % 3},
            {"component": "text", "text": "A sentence that explains what is asked below, and why it matters. " * 2},
            {"component": "field.text", "id": f"t{number}", "label": "Name", "placeholder": "Ada", "required": True},
            {"component": "field.select", "id": f"s{number}", "label": "Choice", "options": options},
            {"component": "field.date", "id": f"d{number}", "label": "Day"}
            if number % 2
            else {"component": "field.checkbox", "id": f"c{number}", "label": "Insured", "default": True},
        ]
    components[-1] = {"component": "action.button", "id": "send", "label": "Send", "action": {"target": "resume"}}
    payload = {"catalogVersion": "0.9.1", "surface": {"title": "A long form", "components": components}}
    if check_limits(payload):
        raise BenchError("the surface that is measured is not valid")
    return {
        "surfaceId": "env-1",
        "status": "open",
        "contentTrust": "trusted",
        "payload": payload,
        "actions": [{"id": "send", "label": "Send", "target": "resume"}],
        "render": True,
    }
