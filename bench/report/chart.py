"""The chart: a bar for every subject, for the rate and for the CPU time of a run, as SVG for light and dark pages."""

from typing import Any, Final
from xml.sax.saxutils import escape

from bench.report.statistics import subjects

WIDTH: Final = 760
LABEL: Final = 175
ROOM: Final = 70
"""For the number behind the longest bar."""
BAR: Final = 20
GAP: Final = 10

TITLES: Final = {
    "weftwork": "weftwork",
    "bare_memory": "bare (memory)",
    "bare_sqlite": "bare (SQLite)",
    "langgraph": "LangGraph",
    "dbos": "DBOS",
    "weftwork_postgres": "weftwork (PostgreSQL)",
    "dbos_postgres": "DBOS (PostgreSQL)",
}
OWN: Final = ("weftwork", TITLES["weftwork_postgres"])
PANELS: Final = (
    (("runs_per_s",), "Runs per second, 16 clients, one step: longer is better", "{:,.0f}"),
    (
        ("cpu_ms_per_run", "server_cpu_ms_per_run"),
        "CPU milliseconds per run, with the database server, 16 clients, one step: shorter is better",
        "{:.2f}",
    ),
)

_STYLE = """
    text { font: 13px system-ui, sans-serif; fill: #24292f }
    .head { font-weight: 600 }
    .page { fill: #ffffff }
    .bar { fill: #8c959f }
    .own { fill: #0b6bcb }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3 }
      .page { fill: #0d1117 }
      .bar { fill: #6e7681 }
      .own { fill: #58a6ff }
    }
"""


def chart(document: dict[str, Any]) -> str:
    """An SVG document. Its description states the same figures, for screen readers."""
    found = subjects(document)
    height = 20
    parts: list[str] = []
    said: list[str] = []
    for names, title, form in PANELS:
        values = {
            TITLES[name]: sum(one["clients16"]["one_step"][figure] for figure in names) for name, one in found.items()
        }
        parts += _panel(title, values, form, height)
        said.append(f"{title}. " + ", ".join(f"{name} {form.format(value)}" for name, value in values.items()) + ".")
        height += 40 + len(values) * (BAR + GAP)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'role="img" aria-labelledby="title desc">',
        '<title id="title">weftwork compared with a bare server, LangGraph and DBOS</title>',
        f'<desc id="desc">{escape(" ".join(said))}</desc>',
        f"<style>{_STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{height}" rx="6"/>',
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _panel(title: str, values: dict[str, float], form: str, top: int) -> list[str]:
    longest = max(values.values())
    parts = [f'<text class="head" x="16" y="{top + 14}">{escape(title)}</text>']
    for number, (name, value) in enumerate(values.items()):
        y = top + 28 + number * (BAR + GAP)
        length = max(1.0, (WIDTH - LABEL - ROOM) * value / longest)
        kind = "own" if name in OWN else "bar"
        parts += [
            f'<text x="{LABEL - 10}" y="{y + 15}" text-anchor="end">{escape(name)}</text>',
            f'<rect class="{kind}" x="{LABEL}" y="{y}" width="{length:.1f}" height="{BAR}" rx="2"/>',
            f'<text x="{LABEL + length + 8:.1f}" y="{y + 15}">{form.format(value)}</text>',
        ]
    return parts
