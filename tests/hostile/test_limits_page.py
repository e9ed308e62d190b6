"""The page about limits says the numbers that are enforced."""

import re
from pathlib import Path

import msgspec
import pytest

from weftwork.adapters.http import asset_upload, connection, door, head, outflow, server
from weftwork.adapters.outbound import client
from weftwork.engine import annotations
from weftwork.protocol import annotation, bulk, bundle, decode, diff, loops, options, outbound, weight, workflow
from weftwork.protocol.route import MAX_POLL_SECONDS
from weftwork.settings import Settings

PAGE = (Path(__file__).parents[2] / "docs" / "operate" / "limits.md").read_text("utf-8")

ROWS: dict[str, list[str]] = {
    "Head: request line": [f"{head.HEAD_BYTES // 1024} KiB"],
    "Headers |": [str(head.MAX_HEADERS)],
    "Target": [f"{head.TARGET_BYTES // 1024} KiB"],
    "What stands around": [f"{head.HEAD_BYTES // 1024} KiB", f"{connection.EXTRA_PER_BYTE} bytes"],
    "Body | 1 MiB": [f"{Settings().max_request_body_bytes // 2**20} MiB"],
    "Upload of an asset": [f"{Settings().max_upload_bytes // 2**20} MiB"],
    "Uploads of a tenant": [str(asset_upload.AT_ONCE)],
    "Media that stand in an event": [f"{Settings().max_inline_media_bytes // 1024} KiB"],
    "One image, sound or document": [f"{Settings().max_bytes_per_part // 2**20} MiB"],
    "Assets of a tenant": [f"{Settings().max_asset_bytes_per_tenant // 2**30} GiB"],
    "JSON": [str(decode.MAX_DEPTH), f"{decode.MAX_NODES:,}"],
    "Members of `inputs`": [f"{options.MAX_INPUTS:,}"],
    "Runs that are cancelled": [str(bulk.MAX_BULK)],
    "Metadata": [f"{options.MAX_METADATA_BYTES // 1024} KiB", f"{options.MAX_METADATA_DEPTH} levels"],
    "Texts of an annotation": [f"{annotation.MAX_TEXT:,} characters", f"{annotation.MAX_LABEL} characters"],
    "An annotation as it is kept": [f"{annotation.MAX_BYTES // 1024} KiB"],
    "Annotations of a run": [f"{annotation.MAX_ANNOTATIONS:,}"],
    "Events among which": [f"{annotations.EVENTS_SEARCHED:,}"],
    "Events that are compared": [f"{diff.MOST_EVENTS:,}"],
    "Differences of two runs": [f"{diff.EVENT_BYTES // 2**20} MiB", f"{diff.STATE_BYTES // 2**20} MiB"],
    "A debug bundle": [
        f"{bundle.MAX_BYTES // 10**6} MB",
        f"{bundle.RUN_BYTES // 10**6} MB",
        f"{bundle.MOST_SPANS:,}",
    ],
    "Expressions and conditions": [f"{workflow.MAX_EXPRESSIONS:,}"],
    "Loops of a definition": [str(loops.MAX_LOOPS)],
    "Rounds of a loop": [f"{workflow.MAX_ROUNDS:,}"],
    "A value that a node makes": [
        f"{weight.MAX_TEXT // 2**20} Mi characters",
        f"{weight.MAX_VALUES:,} values",
        f"{weight.MAX_DEPTH} levels",
    ],
    "Requests that wait": [str(connection.PIPELINED)],
    "First byte": [f"{connection.HEAD_SECONDS:g} s"],
    "Whole head": [f"{connection.HEAD_SECONDS:g} s"],
    "Body | 1 KiB/s": [
        f"{connection.BODY_RATE // 1024} KiB/s",
        f"{connection.BODY_GRACE_SECONDS:g} s",
        f"{connection.BODY_REST_SECONDS:g} s",
    ],
    "Connection on which": [f"{connection.IDLE_SECONDS:g} s"],
    "Client that does not read": [f"{outflow.STALL_SECONDS:g} s", f"{outflow.PIECE // 1024} KiB"],
    "Quiet stream": [f"{Settings().keepalive_seconds:g} s"],
    "Poll": [f"{MAX_POLL_SECONDS} s"],
    "Requests that are open": [f"{server.GRACE_SECONDS:g} s"],
    "Connections |": [f"{Settings().max_connections:,}"],
    "Open streams": [f"{Settings().max_streams:,}"],
    "Unfinished runs |": [f"{Settings().max_live_runs:,}"],
    "Nodes of a run": [str(Settings().max_parallel_nodes)],
    "Request to others": [f"{Settings().fetch_timeout_ms // 1000} s"],
    "Requests to others": [str(client.AT_ONCE)],
    "Redirects of": [str(outbound.MAX_REDIRECTS)],
    "Answer to": [f"{Settings().fetch_max_bytes // 2**20} MiB", f"{weight.MAX_TEXT // 2**20} MiB"],
    "Headers of": [str(outbound.MAX_HEADERS), f"{outbound.MAX_HEADER_BYTES // 1024} KiB"],
    "Workflows that a tenant": [f"{Settings().max_workflows_per_tenant:,}"],
    "Node executions": [f"{Settings().max_node_executions:,}"],
}


@pytest.mark.parametrize("row", ROWS)
def test_a_row_says_the_number(row: str) -> None:
    (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| {row}")]
    for number in ROWS[row]:
        assert re.search(rf"(?<![\d,.]){re.escape(number)}(?!\d|,\d)", line), number


def test_every_limit_that_can_be_set_is_there() -> None:
    names = [field.name for field in msgspec.structs.fields(Settings) if field.name.startswith("max_")]
    assert len(names) > 6
    assert not [name for name in names if f"`{name}`" not in PAGE]


def test_the_numbers_in_the_text_are_those_of_the_door() -> None:
    assert f"{door.SPARE} connections above the limit" in PAGE
    assert f"keeps {2 * door.SPARE + door.OTHER_FILES} of them" in PAGE
