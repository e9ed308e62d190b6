"""Whose answer it is: a key answers as itself, and as another person only with the scope approvals:delegate."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import node
from tests.live import Answer, Host, open_in_process, start_host, weftwork, write_workflows
from tests.live.steering import answer_over_http, flow, payloads
from tests.live.tokens import (
    ACCEPT,
    administer,
    answer_by_token,
    approval_workflow,
    create_link,
    created_link,
    key_with,
)
from weftwork.protocol.scopes import new_key_scopes
from weftwork.protocol.wire.v1.routes import SCOPES

NODES = """
import weftwork

@weftwork.node("acme.asks")
async def asks(ctx: weftwork.Context) -> dict[str, str]:
    return {"action": (await ctx.approve("pay", "May it?"))["action"]}
"""
DATA = {"artifactId": "a", "artifactType": "order", "title": "May it?", "actions": ["accept", "reject"]}
GATES = (
    approval_workflow("plain"),
    flow("interrupt", [node("gate", "core.interrupt", config={"kind": "approval", "data": DATA})]),
    flow("python", [node("gate", "acme.asks")]),
    approval_workflow("named", approversList=["ada", "bob"]),
    approval_workflow("pair", requiredApprovals=2),
    approval_workflow("override", override=True),
)
SCOPE_OPTIONS = "--scope runs:read --scope approvals:respond --scope approvals:delegate"
COMMAND = f"`weftwork keys create --tenant acme {SCOPE_OPTIONS}`"


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("host")
    (folder / "asking_nodes.py").write_text(NODES)
    flows = write_workflows(folder / "flows", *GATES)
    with start_host(folder, "--nodes", "asking_nodes", "--workflows", flows, cwd=folder) as host:
        yield host


def new_key(host: Host, label: str = "") -> tuple[str, str]:
    """A key that was created without a list of scopes, and its id."""
    made = administer(host, "keys.create", tenant="acme", label=label)
    return made["key"], made["keyId"]


def decided_by(host: Host, run_id: str) -> list[str]:
    return [each["decidedBy"] for each in payloads(host, run_id, "approval.received")]


Route = Callable[[Host, str, dict[str, Any], str], Answer]


def older_route(host: Host, run_id: str, value: dict[str, Any], key: str) -> Answer:
    return host.call("POST", f"/v1/runs/{run_id}/approvals/gate", value, key=key)


ROUTES: tuple[Route, ...] = (
    lambda host, run_id, value, key: answer_over_http(host, run_id, "gate", value, key),
    older_route,
    lambda host, run_id, value, key: older_route(host, run_id, {"resumeValue": value}, key),
)


@pytest.mark.rule("appr-03", "auth-01")
@each_case("workflow_id", "plain", "interrupt", "python", "named", "pair")
@each_case("claim", {"voter": "bob"}, {"decidedBy": "bob"}, {"voter": "ada", "decidedBy": "bob"})
def test_a_key_answers_only_as_itself(asking: Host, workflow_id: str, claim: dict[str, str]) -> None:
    key, _ = new_key(asking, "ada")
    run_id = asking.create(workflow_id)
    for answer in ROUTES:
        for action in ("accept", "reject"):
            refused = answer(asking, run_id, {"action": action, **claim}, key)
            assert (refused.status, refused.document["error"]) == (403, "forbidden")
            assert refused.document["details"] == {"scopeRequired": "approvals:delegate"}
            assert COMMAND in refused.document["message"]
    assert asking.snapshot(run_id)["status"] == "waiting-approval"
    assert not asking.snapshot(run_id)["interrupt"].get("votes")


@pytest.mark.rule("appr-03")
@each_case("workflow_id", "plain", "interrupt", "python")
@each_case("route", *ROUTES)
def test_the_sender_of_an_answer_is_recorded(asking: Host, workflow_id: str, route: Route) -> None:
    key, key_id = new_key(asking, "ada")
    for claim, name in (({}, key_id), ({"decidedBy": key_id}, key_id), ({"voter": "ada"}, "ada")):
        run_id = asking.create(workflow_id)
        assert route(asking, run_id, {**ACCEPT, **claim}, key).status == 200
        assert decided_by(asking, run_id) == [name]
    wide = key_with(asking, "approvals:respond", "approvals:delegate")
    run_id = asking.create(workflow_id)
    assert route(asking, run_id, {**ACCEPT, "decidedBy": "bob"}, wide).status == 200
    assert decided_by(asking, run_id) == ["bob"]


@pytest.mark.rule("appr-03")
def test_a_key_with_two_names_has_one_vote(asking: Host) -> None:
    key, key_id = new_key(asking, "ada")
    run_id = asking.create("pair")
    for claim in ({}, {"voter": "ada"}, {"voter": key_id}):
        vote = answer_over_http(asking, run_id, "gate", {**ACCEPT, **claim}, key)
        assert vote.document["status"] == "waiting-approval"
    assert asking.snapshot(run_id)["interrupt"]["votes"] == [{"voter": key_id, "action": "accept"}]
    assert answer_over_http(asking, run_id, "gate", ACCEPT, new_key(asking, "bob")[0]).document["status"] == "completed"


@pytest.mark.rule("appr-03")
def test_a_link_is_for_its_person_and_needs_the_scope(asking: Host) -> None:
    run_id = asking.create("plain")
    refused = create_link(asking, run_id, {"for": "bob"}, key=new_key(asking, "ada")[0])
    assert (refused.status, refused.document["details"]) == (403, {"scopeRequired": "approvals:delegate"})
    assert COMMAND in refused.document["message"]
    link = created_link(asking, run_id, {"for": "bob"}, key_with(asking, "approvals:respond", "approvals:delegate"))
    assert answer_by_token(asking, link["token"], {**ACCEPT, "decidedBy": "eve"}).status == 200
    assert decided_by(asking, run_id) == ["bob"]


@pytest.mark.rule("appr-03", "tok-05")
@fails_without("weftwork.engine.api.interrupts._attributed_names", lambda creator, intent, person: ())
async def test_a_key_has_one_vote_also_by_its_links() -> None:
    async with open_in_process(approval_workflow("pair", requiredApprovals=2)) as inside:

        async def new_caller(label: str) -> tuple[str, str]:
            key, row = await inside.host.keyring.create("acme", label=label)
            return key, row.key_id

        async def created(key: str) -> str:
            return (await inside.call("POST", "/v1/runs", {"workflowId": "pair"}, key=key)).document["runId"]

        async def link(key: str, run_id: str, document: dict[str, str]) -> str:
            path = f"/v1/host/weftwork/runs/{run_id}/interrupts/gate/links"
            return (await inside.call("POST", path, document, key=key)).document["token"]

        async def read(key: str, run_id: str) -> str:
            snapshot = (await inside.call("GET", f"/v1/runs/{run_id}", key=key)).document
            listed = (await inside.call("GET", f"/v1/runs/{run_id}/interrupts", key=key)).document["interrupts"][0]
            assert snapshot["interrupt"]["interruptToken"] != listed["interruptToken"]
            return listed["interruptToken"]

        async def vote(token: str) -> str:
            path = f"/v1/interrupts/{token}"
            return (await inside.call("POST", path, {"resumeValue": ACCEPT}, key="no key")).document["status"]

        async def shown(token: str) -> dict[str, Any]:
            return (await inside.call("GET", f"/v1/interrupts/{token}", key="no key")).document

        (ada, ada_id), (bob, _) = await new_caller("ada"), await new_caller("bob")
        links: list[dict[str, str]] = [{}, {"for": "ada"}, {"for": ada_id}]
        for first in links:
            run = await created(ada)
            assert await vote(await link(ada, run, first)) == "waiting-approval"
            tokens = [await read(ada, run) for _ in range(2)] + [await link(ada, run, each) for each in links]
            for token in tokens:
                assert (await shown(token)).get("voted") == "accept"
                assert await vote(token) == "waiting-approval", "the key has voted again"
            for claim in ({}, {"voter": "ada"}):
                path, body = f"/v1/runs/{run}/interrupts/gate", {"resumeValue": {**ACCEPT, **claim}}
                answered = await inside.call("POST", path, body, key=ada)
                assert answered.document["status"] == "waiting-approval", "the key has voted again"
            other = await read(bob, run)
            assert "voted" not in await shown(other)
            assert await vote(other) == "completed"


@pytest.mark.rule("appr-03")
@each_case("answers", "key", "link")
def test_a_link_claims_no_answer_that_its_key_may_have_given(asking: Host, answers: str) -> None:
    """An answer by the link is attributed to the key that created it, so the page cannot tell them apart."""
    narrow, _ = new_key(asking)
    run_id = asking.create("plain", key=narrow)
    token = created_link(asking, run_id, key=narrow)["token"]
    if answers == "key":
        assert answer_over_http(asking, run_id, "gate", ACCEPT, key=narrow).status == 200
    else:
        assert answer_by_token(asking, token, ACCEPT).status == 200
    page = asking.call("GET", f"/v1/interrupts/{token}", key=None, headers={"Accept": "text/html"}).body.decode()
    assert "This question was answered" in page
    assert "you, or the person who created this link" in page
    assert "You have answered this" not in page


def test_a_link_of_another_person_shows_no_id_of_a_key(asking: Host) -> None:
    wide = key_with(asking, "runs:read", "runs:create", "approvals:respond", "approvals:delegate")
    run_id = asking.create("plain", key=wide)
    token = created_link(asking, run_id, {"for": "bob"}, key=wide)["token"]
    assert answer_over_http(asking, run_id, "gate", ACCEPT, key=wide).status == 200
    page = asking.call("GET", f"/v1/interrupts/{token}", key=None, headers={"Accept": "text/html"}).body.decode()
    assert "someone with an API key" in page
    assert "key_" not in page


def test_the_command_line_answers_as_another_person_with_the_scope(asking: Host) -> None:
    run_id = asking.create("plain")
    narrow, wide = new_key(asking, "ada")[0], key_with(asking, "runs:read", "approvals:respond", "approvals:delegate")
    args = ("answer", run_id, "--approve", "--as", "bob", "--url", asking.address, "--key")
    refused = weftwork(asking.data, *args, narrow)
    assert refused.returncode == 7
    assert f"{COMMAND} (forbidden); then pass another key" in refused.stderr
    done = weftwork(asking.data, *args, wide)
    assert done.returncode == 0, done.stderr
    assert decided_by(asking, run_id) == ["bob"]


@pytest.mark.rule("auth-08")
@fails_without("weftwork.engine.api.keyring.new_key_scopes", lambda scopes: scopes)
async def test_a_new_key_cannot_act_for_others() -> None:
    async with open_in_process(approval_workflow("plain"), approval_workflow("override", override=True)) as inside:
        key, row = await inside.host.keyring.create("acme", label="ada")
        assert set(SCOPES) - set(row.scopes) == {"approvals:delegate", "approvals:override"}
        assert row.scopes == new_key_scopes(SCOPES)
        for workflow_id, more in (("plain", {"decidedBy": "bob"}), ("override", {"override": True, "reason": "now"})):
            run_id = (await inside.call("POST", "/v1/runs", {"workflowId": workflow_id}, key=key)).document["runId"]
            path = f"/v1/runs/{run_id}/interrupts/gate"
            for body in ({**ACCEPT, **more}, ACCEPT):
                answered = await inside.call("POST", path, {"resumeValue": body}, key=key)
                assert answered.status == (403 if body is not ACCEPT else 200), answered.body


@pytest.mark.rule("auth-07", "auth-08")
def test_keys_of_a_new_host(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The first key is one of those; a key that was given at the start has every scope."""
    folder = tmp_path_factory.mktemp("host")
    made = weftwork(folder, "keys", "create", "--json", "--data", folder / "data").stdout
    assert "runs:debug" in made
    assert "approvals:respond" in made
    assert "approvals:delegate" not in made
    with start_host(folder) as host:
        given = [row for row in administer(host, "keys.list")["keys"] if row["label"] == "given at start"]
        assert {tuple(row["scopes"]) for row in given} == {SCOPES}
