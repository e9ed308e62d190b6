"""Each guard against a power loss is needed: without it some image is lost, torn or wrong, and the proof says so."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.harness.cases import each_case
from tests.power.image_proof import ImageCase, ImageProof
from tests.power.seeded_history import STORE, Recording, record
from tests.power.test_power_loss import TURNS, after_a_kill
from weftwork.adapters.sqlite import assets, idempotency, transactions
from weftwork.adapters.sqlite.database import connection
from weftwork.adapters.sqlite.database.connection import migrate
from weftwork.adapters.sqlite.database.worker import Task, TaskResult
from weftwork.adapters.sqlite.database.writer import SqliteWriter

IMAGES = 150
UNSOUND = (AssertionError, apsw.Error)


def first_fault(proof: ImageProof, cases: list[ImageCase] | None = None) -> str:
    """What is wrong with the first image that is."""
    with pytest.raises(UNSOUND) as caught:
        proof.run(cases or proof.sample(IMAGES))
    return str(caught.value)


@pytest.mark.parametrize("level", ["normal", "off"])
def test_without_a_sync_per_commit(monkeypatch: pytest.MonkeyPatch, level: str) -> None:
    def relaxed(opened: Any, migrations: Any) -> None:
        opened.pragma("synchronous", level)
        migrate(opened, migrations)

    with monkeypatch.context() as patch:
        patch.setattr(connection, "migrate", relaxed)
        proof = ImageProof(record(0, TURNS))
    lost, damaged = 0, 0
    for case in proof.sample(IMAGES):
        try:
            proof.run([case])
        except UNSOUND as error:
            lost += "is lost" in str(error) or ", now (" in str(error)
            damaged += "damaged" in str(error) or isinstance(error, apsw.Error)
        if lost and (damaged or level == "normal"):
            break
    assert lost > 0
    assert damaged > 0 or level == "normal"


def _settle_before_commit(writer: Any, tasks: list[Task], settle: Callable[[list[TaskResult]], None]) -> None:
    opened = writer._healthy_connection()
    opened.execute("BEGIN IMMEDIATE")
    settle([TaskResult(each.future, each.job(opened, *each.arguments, **each.named)) for each in tasks])
    opened.execute("COMMIT")


def _with_own_commit(write: Callable[..., None]) -> Callable[..., None]:
    def apart(opened: Any, *given: Any) -> None:
        opened.execute("COMMIT")
        opened.execute("BEGIN IMMEDIATE")
        write(opened, *given)

    return apart


@pytest.mark.parametrize(
    ("place", "name", "sabotage", "said"),
    [
        (SqliteWriter, "serve", _settle_before_commit, ""),
        (idempotency, "put_record", _with_own_commit(idempotency.put_record), "without its record"),
        (transactions, "add_references", _with_own_commit(assets.add_references), "other assets than it names"),
    ],
    ids=["an answer before the commit", "a record apart", "a reference apart"],
)
def test_what_belongs_to_one_commit(
    monkeypatch: pytest.MonkeyPatch, place: Any, name: str, sabotage: Any, said: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(place, name, sabotage)
        proof = ImageProof(record(0, TURNS))
    fault = first_fault(proof)
    assert fault
    assert said in fault


def test_names_that_are_never_synced() -> None:
    """SQLite syncs the folder when it has made a log; a disk that did not do so would lose the whole store."""
    recording = record(0, turns=5)
    last = len(recording.log)
    bare = [op for op in recording.log if op.kind != "folder"]
    gone = len(recording.log) - len(bare)
    assert gone >= 2
    proof = ImageProof(recording._replace(log=bare, acks=[ack._replace(point=0) for ack in recording.acks]))
    assert "is lost" in first_fault(proof, [ImageCase(last - gone, 0, "none")])


@cache
def whole_story() -> Recording:
    return record(0, TURNS)


def test_a_store_that_shows_what_a_killed_process_left(monkeypatch: pytest.MonkeyPatch) -> None:
    proof = ImageProof(whole_story())
    monkeypatch.setattr(connection, "sync_existing_wal", lambda _: None)
    with pytest.raises(AssertionError, match="was not durable"):
        after_a_kill(proof, proof.sample(4 * IMAGES))


@each_case(
    "damage, said",
    ("DELETE FROM events WHERE type = 'node.started' AND id & 1023 = 1", "gaps"),
    ("UPDATE events SET type = 'log.appended' WHERE type = 'run.completed'", "folded"),
    ("UPDATE events SET type = 'run.completed' WHERE type = 'run.started'", "ends at"),
    ("UPDATE events SET node_id = 'a' WHERE type = 'node.started'", "started twice"),
    ("UPDATE runs SET current_node = 'z'", "folded"),
    ("UPDATE runs SET status = 'running' WHERE status = 'completed'", "folded"),
    ("DELETE FROM hidden", "hidden input"),
    ("DELETE FROM hidden WHERE sequence >= 0", "hidden output"),
    ("DELETE FROM run_state WHERE kind = 'node'", "folded"),
    ("DELETE FROM run_tags", "with the tag"),
    ("DELETE FROM idempotency", "without its record"),
    ("DELETE FROM definitions", "definition"),
    ("DELETE FROM asset_refs", "other assets than it names"),
    ("INSERT INTO asset_refs SELECT 1, asset_no FROM assets WHERE refs = 0", "other assets than it names"),
    ("DELETE FROM assets", "other assets than it names"),
    ("DELETE FROM assets WHERE refs = 0; INSERT INTO asset_refs VALUES (1000, 1000)", "what is not there"),
    ("UPDATE assets SET refs = refs + 1", "counts its runs wrongly"),
    ("UPDATE asset_usage SET size = size + 1", "usage is wrong"),
    ("INSERT INTO doomed_blobs (key) SELECT key FROM assets", "doomed key has a row"),
    ("DELETE FROM runs", "is lost|without its run"),
)
def test_the_auditor_sees_damage(damage: str, said: str) -> None:
    """Each of its questions is asked: a store that is wrong in one way only is found out."""
    proof = ImageProof(whole_story())

    def look(case: ImageCase, folder: Path) -> None:
        opened = apsw.Connection(str(folder / STORE))
        opened.execute(damage)
        assert opened.changes() > 0
        opened.close()
        proof.check_sound(folder, case.point)

    with pytest.raises(AssertionError, match=said):
        proof.run([ImageCase(len(proof.recording.log))], look)
