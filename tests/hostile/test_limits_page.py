"""The page about limits says the numbers that are enforced."""

import re
from pathlib import Path

import msgspec

from weftwork.adapters.http import response_writer, shared_bodies
from weftwork.adapters.http.routes import events
from weftwork.adapters.http.server import connection, http_server, limits, request_turns, write_turns
from weftwork.adapters.outbound import client
from weftwork.engine.api import annotations, assets
from weftwork.engine.host import admission, alarm, executor
from weftwork.engine.run import live_run, loop_share
from weftwork.protocol.json import decoder, values
from weftwork.protocol.net import outbound
from weftwork.protocol.review import annotations as annotation
from weftwork.protocol.review import bundled_run, debug_bundle, run_diff
from weftwork.protocol.run import projection
from weftwork.protocol.wire.route import MAX_POLL_SECONDS
from weftwork.protocol.workflow import plan, run_options, validation
from weftwork.settings import Settings

PAGE = (Path(__file__).parents[2] / "docs" / "operate" / "limits.md").read_text("utf-8")

ROWS: dict[str, list[str]] = {
    "Request head": [f"{limits.MAX_HEAD_BYTES // 1024} KiB"],
    "Headers |": [str(limits.MAX_HEADERS)],
    "Target": [f"{limits.MAX_TARGET_BYTES // 1024} KiB"],
    "Overhead of a chunked body": [
        f"{limits.MAX_HEAD_BYTES // 1024} KiB",
        f"{connection.OVERHEAD_PER_BODY_BYTE} bytes",
    ],
    "Body | 1 MiB": [f"{Settings().max_request_body_bytes // 2**20} MiB"],
    "Upload of an asset": [f"{Settings().max_upload_bytes // 2**20} MiB"],
    "Concurrent uploads of a tenant": [str(assets.MAX_CONCURRENT_UPLOADS)],
    "Media inside an event": [f"{Settings().max_inline_media_bytes // 1024} KiB"],
    "One image, audio file or document": [f"{Settings().max_bytes_per_part // 2**20} MiB"],
    "Values that a run holds": [f"{Settings().max_run_state_bytes // 2**20} MiB"],
    "Event log of a run": [f"{Settings().max_run_log_bytes // 2**20} MiB"],
    "Assets of a tenant": [f"{Settings().max_asset_bytes_per_tenant // 2**30} GiB"],
    "JSON": [str(decoder.MAX_DEPTH), f"{decoder.MAX_DOCUMENT_VALUES:,}"],
    "Members of `inputs`": [f"{run_options.MAX_INPUTS:,}"],
    "Runs cancelled with one request": [str(projection.MAX_BULK_CANCEL)],
    "Metadata": [f"{run_options.MAX_METADATA_BYTES // 1024} KiB", f"{run_options.MAX_METADATA_DEPTH} levels"],
    "Texts of an annotation": [f"{annotation.MAX_TEXT:,} characters", f"{annotation.MAX_LABEL} characters"],
    "Annotation as stored": [f"{annotation.MAX_BYTES // 1024} KiB"],
    "Annotations of a run": [f"{annotation.MAX_ANNOTATIONS:,}"],
    "Events that an annotation can refer to": [f"{annotations.MAX_EVENTS_SEARCHED:,}"],
    "Events that are compared": [f"{run_diff.MAX_COMPARED_EVENTS:,}"],
    "Size of a diff": [f"{run_diff.MAX_EVENT_BYTES // 2**20} MiB", f"{run_diff.MAX_STATE_BYTES // 2**20} MiB"],
    "Debug bundle": [
        f"{debug_bundle.MAX_BYTES // 10**6} MB",
        f"{bundled_run.MAX_RUN_BYTES // 10**6} MB",
        f"{debug_bundle.MAX_SPANS:,}",
    ],
    "Expressions and conditions": [f"{validation.MAX_EXPRESSIONS:,}"],
    "Loops of a definition": [str(plan.MAX_LOOPS)],
    "Rounds of a loop": [f"{validation.MAX_LOOP_ROUNDS:,}"],
    "One value from a node": [
        f"{values.MAX_VALUE_TEXT // 2**20} Mi characters",
        f"{values.MAX_VALUE_COUNT:,} values",
        f"{values.MAX_VALUE_DEPTH} levels",
    ],
    "Pipelined requests": [str(connection.MAX_PIPELINED)],
    "First byte": [f"{connection.HEAD_SECONDS:g} s"],
    "Complete request head": [f"{connection.HEAD_SECONDS:g} s"],
    "Body transfer rate": [
        f"{connection.MIN_BODY_RATE // 1024} KiB/s",
        f"{connection.BODY_GRACE_SECONDS:g} s",
        f"{connection.MAX_BODY_PAUSE_SECONDS:g} s",
    ],
    "Idle connection": [f"{connection.IDLE_SECONDS:g} s"],
    "Client that does not read": [f"{response_writer.STALL_SECONDS:g} s", f"{response_writer.CHUNK_BYTES // 1024} KiB"],
    "Idle stream": [f"{Settings().keepalive_seconds:g} s"],
    "Waiting time of a poll": [f"{MAX_POLL_SECONDS} s"],
    "Open requests at shutdown": [f"{http_server.GRACE_SECONDS:g} s"],
    "Connections |": [f"{Settings().max_connections:,}"],
    "Open streams": [f"{Settings().max_streams:,}"],
    "Snapshots of more than": [
        f"{projection.LARGE_STATE_BYTES // 1024} KiB",
        f"{events.LARGE_PAGE_BYTES // 1024} KiB",
        f"{shared_bodies.MAX_PENDING_BYTES // 2**20} MiB",
    ],
    "States of runs that are read": [f"{executor.MAX_CONCURRENT_STATE_READS} each"],
    "Work for streams": [f"{write_turns.TURNS} turns", f"{write_turns.TURN_BYTES // 2**20} MiB"],
    "Live runs |": [f"{Settings().max_live_runs:,}"],
    "Requests that are being processed": [str(request_turns.MAX_IN_PROGRESS)],
    "Nodes of a run": [str(Settings().max_parallel_nodes)],
    "Outbound request": [f"{Settings().fetch_timeout_ms // 1000} s"],
    "Concurrent outbound requests": [str(client.MAX_CONCURRENT_REQUESTS)],
    "Redirects of": [str(outbound.MAX_REDIRECTS)],
    "Response to an outbound request": [
        f"{Settings().fetch_max_bytes // 2**20} MiB",
        f"{values.MAX_VALUE_TEXT // 2**20} MiB",
    ],
    "Headers of an outbound request": [str(outbound.MAX_HEADERS), f"{outbound.MAX_HEADER_BYTES // 1024} KiB"],
    "Workflows that a tenant": [f"{Settings().max_workflows_per_tenant:,}"],
    "Node executions": [f"{Settings().max_node_executions:,}"],
}


def test_a_row_says_the_number() -> None:
    for row, numbers in ROWS.items():
        (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| {row}")]
        for number in numbers:
            assert re.search(rf"(?<![\d,.]){re.escape(number)}(?!\d|,\d)", line), (row, number)


def test_every_limit_that_can_be_set_is_there() -> None:
    names = [field.name for field in msgspec.structs.fields(Settings) if field.name.startswith("max_")]
    assert len(names) > 6
    assert not [name for name in names if f"`{name}`" not in PAGE]


def test_the_numbers_of_turns_are_those_of_the_host() -> None:
    assert "for three times its duration" in PAGE.replace("\n  ", " ")
    assert (loop_share.REST, live_run.FREE_BATCHES) == (3.0, 8)
    assert f"{loop_share.MIN_REST_S * 1000:g} to {loop_share.MAX_REST_S * 1000:g} ms" in PAGE
    assert f"none ends for {request_turns.STUCK_SECONDS * 1000:g} ms" in PAGE
    assert f"the next {alarm.CHOICE:,} of them" in PAGE
    assert f"batches of {alarm.WAKE_BATCH}" in PAGE
    assert f"{admission.SLOT_BYTES // 1024} KiB" in PAGE
    assert f"last {Settings().reserved_share_percent} % of the limit" in PAGE


def test_the_numbers_in_the_text_are_those_of_the_door() -> None:
    assert f"{limits.SPARE_CONNECTIONS} connections above the limit" in PAGE
    assert f"reserves {2 * limits.SPARE_CONNECTIONS + limits.RESERVED_FILES} of these" in PAGE
