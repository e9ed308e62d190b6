"""`weftwork bundle open`: a bundle that somebody has passed on, shown without any host."""

import json
from typing import TYPE_CHECKING, Any, Final

import click

from weftwork.cli.plain import say, shown

if TYPE_CHECKING:
    from weftwork.cli.bundle_file import BundleFile

MOST: Final = 50
"""Spans and media that are shown without --all."""


@click.command("open")
@click.argument("file", metavar="FILE")
@click.option(
    "--type",
    "types",
    multiple=True,
    metavar="TYPE",
    help="Only events of this type, or of this family: node is every node.*. Repeatable.",
)
@click.option("--node", "nodes", multiple=True, metavar="ID", help="Only events of this node. Repeatable.")
@click.option("--last", type=click.IntRange(0), metavar="N", help="Only the last N of them; 0 for none.")
@click.option("--all", "every", is_flag=True, help=f"Show every span and all media, not just {MOST} of each.")
@click.option("--json", "as_json", is_flag=True, help="Print what the bundle says of itself as JSON.")
def open_bundle(
    file: str, types: tuple[str, ...], nodes: tuple[str, ...], last: int | None, every: bool, as_json: bool
) -> None:
    """Show a bundle that is saved in FILE, without any host; - is standard input.

    Shows the run and why it failed, its events as `weftwork events` does, its spans, and its media with their URLs,
    which only the host can open. What is missing or not as it should be is said on standard error.

    \b
    Examples:
      weftwork bundle open bundle.json
      weftwork bundle open bundle.json --type node --type run --last 20
    """
    # Imported late: `weftwork --help` needs none of it.
    from weftwork.cli.bundle_file import read_bundle

    found = read_bundle(file)
    kept = _chosen(found.events, types, nodes)
    if as_json:
        say(json.dumps({**found.summary(), "shown": len(kept)} if types or nodes else found.summary(), indent=2))
        return
    _tell(found, kept if last is None else kept[len(kept) - min(last, len(kept)) :], None if every else MOST)
    for line in found.problems:
        say(f"warning: {line}", err=True)


def _tell(found: "BundleFile", kept: list[Any], most: int | None) -> None:
    from weftwork.cli.bundle_sheet import event_lines, head_lines, media_lines, span_lines

    for line in head_lines(found):
        say(line)
    if kept:
        left = f", {len(kept)} of {len(found.events)}" if len(kept) < len(found.events) else ""
        say(f"\nevents{left}")
        for line in event_lines(found, kept):
            say(line)
    for title, lines in (("spans", span_lines(found, most)), ("media", media_lines(found, most))):
        if lines:
            say(f"\n{title}")
        for line in lines:
            say(line)


def _chosen(events: list[Any], types: tuple[str, ...], nodes: tuple[str, ...]) -> list[Any]:
    from weftwork.protocol.json_value import is_object

    def fits(event: Any) -> bool:
        known: dict[str, Any] = event if is_object(event) else {}
        kind = str(known.get("type", ""))
        of_type = not types or any(kind == each or kind.startswith(f"{each.rstrip('.*')}.") for each in types)
        return of_type and (not nodes or known.get("nodeId") in nodes)

    kept = [event for event in events if fits(event)]
    if events and not kept:
        say(f"no event fits; there are {len(events)}, as of {shown(str(events[0].get('type')), 60)}", err=True)
    return kept
