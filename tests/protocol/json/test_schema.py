"""Schemas, ours and those of node authors: what they accept, where errors point, nothing fetched, nothing repeated."""

import copy
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonschema
import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from referencing import Registry, Resource

from tests.harness.cases import each_case
from tests.harness.definitions import for_all
from tests.protocol.envelopes.sample_envelopes import ABSENT, with_value
from weftwork.protocol.errors import ClientFault, HostFault
from weftwork.protocol.json import schema
from weftwork.protocol.run import events, header

EXAMPLES: dict[str, Any] = json.loads(Path(__file__).with_name("schema_examples.json").read_text("utf-8"))
DOCUMENTS: dict[str, list[Any]] = EXAMPLES["documents"]
PAYLOADS: dict[str, Any] = EXAMPLES["payloads"]
HERE = "the place that was edited"
CANARY = "canary-5e0f"


def places(document: Any, at: str = "") -> Iterator[str]:
    members = document.items() if isinstance(document, dict) else enumerate(document)
    for name, member in members:
        yield f"{at}/{name}"
        if isinstance(member, dict | list):
            yield from places(member, f"{at}/{name}")


def test_every_schema_is_valid_has_an_id_known_references_and_an_example_that_fits() -> None:
    assert sorted(DOCUMENTS) == schema.names()
    for name, documents in DOCUMENTS.items():
        for document in documents:
            assert schema.check(name, document) == [], name
    ids = {schema.document(name)["$id"] for name in schema.names()}
    for name in schema.names():
        document = schema.document(name)
        jsonschema_rs.meta.validate(document)
        published = f"https://openwop.dev/spec/v1/{name}.schema.json"
        assert document["$id"] in (published, f"urn:weftwork:schema:v1:{name}")
        for reference in references(document):
            target = reference.partition("#")[0]
            assert not target or any(each.endswith(target) for each in ids), reference


def references(document: Any) -> Iterator[str]:
    members = document.values() if isinstance(document, dict) else document
    for each in members:
        if isinstance(each, dict | list):
            yield from references(each)
    if isinstance(document, dict) and isinstance(document.get("$ref"), str):
        yield document["$ref"]


NODE, PORT, VOTES = "/nodes/0", "/nodes/0/inputs", "/channels/votes/access"
PROMPTS = "/defaults/promptRefs"


@pytest.mark.rule("schema-01")
@each_case("name, pointer, value, at, rule",
        ("create-run", "/workflowId", ABSENT, "", "required"),
        ("create-run", "/workflowId", "", HERE, "minLength"),
        ("create-run", "/inputs", [], HERE, "type"),
        ("create-run", "/residency", "eu", HERE, "unevaluatedProperties"),
        ("create-run", "/mode", "eval", "", "required"),
        ("create-run", "/mode", "trial", HERE, "enum"),
        ("create-run", "/tags", ["t"] * 101, HERE, "maxItems"),
        ("create-run", "/tags/0", "t" * 257, HERE, "maxLength"),
        ("create-run", "/configurable/temperature", 2.1, HERE, "maximum"),
        ("create-run", "/configurable/recursionLimit", 0, HERE, "minimum"),
        ("create-run", "/configurable/mockProvider/x", 1, HERE, "additionalProperties"),
        ("bulk-cancel", "/runIds", ABSENT, "", "required"),
        ("bulk-cancel", "/runIds", [], HERE, "minItems"),
        ("bulk-cancel", "/runIds/0", "", HERE, "minLength"),
        ("bulk-cancel", "/runIds/0", "r" * 129, HERE, "maxLength"),
        ("bulk-cancel", "/runIds/0", 1, HERE, "type"),
        ("bulk-cancel", "/reason", "r" * 513, HERE, "maxLength"),
        ("bulk-cancel", "/all", True, HERE, "additionalProperties"),
        ("bulk-cancel-response", "/results/0/status", "completed", HERE, "enum"),
        ("bulk-cancel-response", "/results/0/status", ABSENT, "/results/0", "required"),
        ("bulk-cancel-response", "/results/1/error", ABSENT, "/results/1", "required"),
        ("bulk-cancel-response", "/results/1/error/code", "gone", HERE, "enum"),
        ("cancel-run", "/reason", "r" * 513, HERE, "maxLength"),
        ("cancel-run", "/why", "r", HERE, "additionalProperties"),
        ("annotation-create", "/signal", ABSENT, "", "required"),
        ("annotation-create", "/signal/kind", "praise", HERE, "enum"),
        ("annotation-create", "/signal/kind", "label", "/signal", "required"),
        ("annotation-create", "/signal/rating", 6, HERE, "maximum"),
        ("annotation-create", "/signal/rating", 0, HERE, "minimum"),
        ("annotation-create", "/signal/rating", 4.5, HERE, "type"),
        ("annotation-create", "/signal/weight", 1, HERE, "additionalProperties"),
        ("annotation-create", "/target/runId", "run-2", HERE, "additionalProperties"),
        ("annotation-create", "/note", None, HERE, "type"),
        ("annotation", "/target/runId", ABSENT, "/target", "required"),
        ("annotation", "/signal/rating", ABSENT, "/signal", "required"),
        ("annotation", "/actor/tenant", "acme", HERE, "additionalProperties"),
        ("run-diff-response", "/eventDiffs/0/op", "moved", HERE, "enum"),
        ("run-diff-response", "/divergedAtSeq", -1, HERE, "minimum"),
        ("run-diff-response", "/eventDiffs/0/aEvent", None, HERE, "type"),
        ("error-envelope", "/correlationId", "c", HERE, "additionalProperties"),
        ("agent-ref", "/channel", "stable", HERE, "falseSchema"),
        ("a2ui-surface-delta-frame", "/patch", [], HERE, "minItems"),
        ("a2ui-surface-delta-frame", "/patch/0/op", "test", HERE, "enum"),
        ("a2ui-surface-delta-frame", "/patch/0/path", ABSENT, "/patch/0", "required"),
        ("a2ui-surface-delta-frame", "/patch/0/test", 1, HERE, "additionalProperties"),
        ("a2ui-surface-delta-frame", "/contentTrust", "trusted", HERE, "additionalProperties"),
        ("run-event", "/nodeId", None, HERE, "type"),
        ("run-event", "/sequence", -1, HERE, "minimum"),
        ("run-event", "/type", "NodeStarted", HERE, "pattern"),
        ("run-event", "/type", "core.mine", HERE, "not"),
        ("run-snapshot", "/status", "waiting-clarification", HERE, "enum"),
        ("run-snapshot", "/owner/email", "e", HERE, "additionalProperties"),
        ("run-snapshot", "/agent/agentId", "ab", HERE, "minLength"),
        ("poll", "/events/0/type", 1, HERE, "type"),
        ("capabilities", "/limits/maxThings", 1, HERE, "additionalProperties"),
        ("capabilities", "/fixtures", ["a", "a"], HERE, "uniqueItems"),
        ("workflow-definition", "/id", "Greeting", HERE, "pattern"),
        ("workflow-definition", "/id", "greeting\n", HERE, "pattern"),
        ("workflow-definition", "/nodes", [], HERE, "minItems"),
        ("workflow-definition", f"{NODE}/config", ABSENT, NODE, "required"),
        ("workflow-definition", f"{NODE}/retries", 1, HERE, "additionalProperties"),
        ("workflow-definition", f"{PORT}/who", "who", HERE, "type"),
        ("workflow-definition", f"{PORT}/who/type", "input", HERE, "enum"),
        ("workflow-definition", f"{PORT}/who/type", ABSENT, f"{PORT}/who", "required"),
        ("workflow-definition", f"{PORT}/who/variableName", "", HERE, "minLength"),
        ("workflow-definition", f"{PORT}/from/outputKey", ABSENT, f"{PORT}/from", "required"),
        ("workflow-definition", f"{PORT}/fixed/optional", True, HERE, "additionalProperties"),
        ("workflow-definition", "/edges/0/triggerRule", "always", HERE, "enum"),
        ("workflow-definition", "/channels/notes/access", "secret", HERE, "enum"),
        ("workflow-definition", "/channels/notes/access", 1, HERE, "type"),
        ("workflow-definition", f"{VOTES}/owners", [], HERE, "additionalProperties"),
        ("workflow-definition", f"{VOTES}/writers/0", "**", HERE, "pattern"),
        ("workflow-definition", "/channels/notes/ttlMs", 31536000001, HERE, "maximum"),
        ("workflow-definition", f"{PROMPTS}/system", "prompt:A", HERE, "pattern"),
        ("workflow-definition", f"{PROMPTS}/user/templateId", ABSENT, f"{PROMPTS}/user", "required"),
)  # fmt: skip
def test_a_violation_points_at_its_place(name: str, pointer: str, value: Any, at: str, rule: str) -> None:
    found = schema.check(name, with_value(DOCUMENTS[name][0], pointer, value))
    assert found[0].rule == rule
    assert {each.pointer for each in found} == {pointer if at == HERE else at}


def test_all_violations_come_in_the_order_of_their_pointers() -> None:
    document = {"tags": ["", *["t"] * 9, ""], "inputs": 1, "extra": 1, "metadata": []}
    found = [each.pointer for each in schema.check("create-run", document)]
    assert found == ["", "/extra", "/inputs", "/metadata", "/tags/0", "/tags/10"]


@pytest.mark.rule("schema-02")
def test_a_refusal_names_the_first_violation_and_lists_at_most_twenty() -> None:
    schema.require("cancel-run", {})
    with pytest.raises(ClientFault) as caught:
        schema.require("create-run", {"workflowId": "w", "tags": [1] * 40})
    assert (caught.value.code, caught.value.status) == ("validation_error", 400)
    assert caught.value.message == "create-run: the value at the pointer must be of type string."
    details = caught.value.details or {}
    assert details["pointer"] == "/tags/0"
    assert details["violations"][19] == {"pointer": "/tags/19", "message": "must be of type string"}
    assert len(details["violations"]) == schema.MAX_REPORTED
    assert len(schema.check("create-run", {"workflowId": "w", "tags": [1] * 90})) == schema.MAX_VIOLATIONS


def test_a_large_document_gets_its_first_violation_only(monkeypatch: pytest.MonkeyPatch) -> None:
    document = {"workflowId": "w", "tags": [1] * 2 * schema.MAX_DETAILED}
    assert len(schema.check("create-run", document)) == 1
    assert schema.check("create-run", {"workflowId": "w", "inputs": {"x": document["tags"]}}) == []
    monkeypatch.setattr(schema, "MAX_DETAILED", 10 * schema.MAX_DETAILED)  # sabotage
    assert len(schema.check("create-run", document)) > 1


def _all_messages(name: str, document: Any) -> tuple[int, str]:
    found = schema.check(name, document)
    texts = [f"{each.rule} {each.message}" for each in found]
    try:
        schema.require(name, document)
    except ClientFault as fault:
        texts += [str(fault), *(each["message"] for each in (fault.details or {})["violations"])]
    return len(found), "\n".join(texts)


@for_all(100, st.data())
def test_no_message_repeats_what_was_sent(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(DOCUMENTS)))
    document = data.draw(st.sampled_from([each for each in DOCUMENTS[name] if each] or [{"x": 1}]))
    for pointer in data.draw(st.lists(st.sampled_from(list(places(document))), min_size=1, max_size=4)):
        value = data.draw(st.sampled_from([CANARY, [CANARY], {CANARY: CANARY}, CANARY * 60]))
        try:
            document = with_value(document, pointer, value)
        except (KeyError, IndexError, TypeError, ValueError):
            continue  # an earlier edit took this place away
    assert CANARY not in _all_messages(name, document)[1]


def test_the_canary_is_seen_when_the_text_of_the_validator_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    document = with_value(DOCUMENTS["create-run"][0], f"/{CANARY}", 1)
    count, text = _all_messages("create-run", document)
    assert count == 1
    assert CANARY not in text
    monkeypatch.setattr(schema, "explain_error", lambda error: [((), (), "x", error.message)])  # sabotage
    assert CANARY in _all_messages("create-run", document)[1]


def test_event_types_are_those_of_the_catalogue() -> None:
    listed = schema.document("run-event")["$defs"]["RunEventType"]["enum"]
    assert len(listed) == len(set(listed))
    assert set(listed) == events.CATALOGUE


SEGMENT = st.sampled_from(["run", "core", "corex", "vendor", "acme", "a-b", "a_B", "A", "1", "", "é", "a b", "x\n"])


@given(st.lists(SEGMENT, min_size=1, max_size=4).map(".".join))
@settings(max_examples=200, deadline=None)
def test_vendor_types_are_those_of_the_pattern(name: str) -> None:
    pattern = {"pattern": events.VENDOR_PATTERN}
    by_pattern = jsonschema_rs.Draft202012Validator(pattern, offline=True).is_valid(name)
    fits = schema.check("run-event", {**DOCUMENTS["run-event"][0], "type": name}) == []
    assert fits == (by_pattern or name in events.CATALOGUE)


@pytest.mark.rule("evt-04")
def test_payloads_have_the_shape_of_their_type() -> None:
    definitions = schema.document("run-event-payloads")["$defs"]
    index = definitions["_typeIndex"]["properties"]
    assert sorted(index) == sorted(PAYLOADS)
    ours = {events.CANCEL_REQUESTED, events.PAUSE_REQUESTED, events.MAP_ITEM}
    assert set(index) - events.CATALOGUE == ours | {events.EFFECT_CLAIMED, events.EFFECT_RECORDED}
    for name, payload in PAYLOADS.items():
        words = name.replace("-", ".").split(".")
        camel = words[0] + "".join(word[0].upper() + word[1:] for word in words[1:])
        assert index[name] == {"$ref": f"#/$defs/{camel}"}
        assert schema.check_payload(name, payload) == []
        assert [each.rule for each in schema.check_payload(name, [])] == ["type"]
        for member in definitions[camel].get("required", ()):
            assert [each.rule for each in schema.check_payload(name, with_value(payload, f"/{member}", ABSENT))] == [
                "required"
            ]
    assert schema.check_payload("lease.acquired", ["anything"]) == []


def test_statuses_are_those_of_a_run() -> None:
    assert schema.document("run-snapshot")["$defs"]["RunStatus"]["enum"] == list(header.STATUSES)
    created = schema.document("create-run-response")["properties"]["status"]["enum"]
    cancelled = schema.document("cancel-run-response")["properties"]["status"]["enum"]
    assert set(created) == set(header.STATUSES) - header.TERMINAL_STATUSES - {"paused", "cancelling"}
    assert set(cancelled) == header.TERMINAL_STATUSES | {"cancelling"}


AGENT = "https://openwop.dev/spec/v1/agent-ref.schema.json"
SHAPES = {
    "oneOf": [
        {
            "type": "object",
            "required": ["type", "r"],
            "properties": {
                "type": {"const": "circle"},
                "r": {"type": "number"},
                "ink": {"enum": ["red", "blue"]},
            },
        },
        {
            "type": "object",
            "required": ["type"],
            "properties": {"type": {"enum": ["square"]}, "side": {"$ref": "#/$defs/side"}},
        },
        {"type": "string", "minLength": 2},
    ],
    "$defs": {"side": {"anyOf": [{"type": "integer", "minimum": 1}, {"const": "unit"}]}},
}  # fmt: skip


@each_case(
    "document, at, rule, message",
    ({"type": "circle", "r": "wide"}, "/r", "type", "must be of type number"),
    ({"type": "circle"}, "", "required", 'must have the member "r"'),
    ({"type": "circle", "r": 1, "ink": "teal"}, "/ink", "enum", 'must be one of: "red", "blue"'),
    ({"type": "square", "side": 0}, "/side", "minimum", "must be 1 or more"),
    ("x", "", "minLength", "must have 2 or more characters"),
    ({"type": "line"}, "", "oneOf", "must match exactly one of the allowed forms"),
    (7, "", "oneOf", "must match exactly one of the allowed forms"),
)
def test_a_choice_reports_the_form_that_was_meant(document: Any, at: str, rule: str, message: str) -> None:
    found = schema.check_inline(SHAPES, document, "/nodes/3/config")
    assert found == [schema.Violation(f"/nodes/3/config{at}", rule, message)]


@each_case("rules, document, at, message",
        ({"const": {"a": None}}, 1, "", 'must be one of: {"a":null}'),
        ({"enum": list(range(30))}, 99, "", "must be one of the 30 values that the schema lists"),
        ({"type": ["string", "null"]}, 1, "", "must be of type null or string"),
        ({"exclusiveMinimum": 1}, 1, "", "must be greater than 1"),
        ({"exclusiveMaximum": 1.5}, 2, "", "must be less than 1.5"),
        ({"multipleOf": 2}, 3, "", "must be a multiple of 2"),
        ({"minProperties": 1}, {}, "", "must have 1 or more members"),
        ({"maxProperties": 0}, {"a": 1}, "", "must have 0 or fewer members"),
        ({"contains": {"const": 1}}, [2], "", "has too few or too many items of the required kind"),
        ({"propertyNames": {"pattern": "^a"}}, {"b": 1}, "/b", "has a name that must match the pattern ^a"),
        ({"properties": {"a/b": False}}, {"a/b": 1}, "/a~1b", "is not allowed here"),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, "", 'must have the member "b"'),
        ({"prefixItems": [True], "unevaluatedItems": False}, [1, 2], "", "violates the keyword unevaluatedItems"),
        ({"oneOf": [True, {"minimum": 0}]}, 1, "", "must match exactly one of the allowed forms"),
        ({"anyOf": [{"minimum": 3}, {"multipleOf": 4}]}, 1, "", "must match one of the allowed forms"),
        ({"$ref": AGENT}, {}, "", 'must have the member "agentId"'),
)  # fmt: skip
def test_messages_say_what_is_right(rules: dict[str, Any], document: Any, at: str, message: str) -> None:
    (found,) = schema.check_inline(rules, document, "")
    assert (found.pointer, found.message) == (at, message)


def test_a_broken_schema_and_a_pattern_that_needs_backtracking_are_refused() -> None:
    with pytest.raises(HostFault, match="invalid JSON Schema at '/properties/a/type'"):
        schema.check_inline({"properties": {"a": {"type": "text"}}}, {}, "")
    for pattern in ("^(?=a)", r"(a)\1"):
        with pytest.raises(HostFault, match="invalid JSON Schema at '/pattern'"):
            schema.check_inline({"pattern": pattern}, "a", "")
    assert len(schema.check_inline({"pattern": "^(a+)+$"}, "a" * 5000 + "!", "")) == 1


@contextmanager
def trap() -> Iterator[tuple[str, list[int]]]:
    """A listening socket that counts who comes and hangs up at once."""
    visits: list[int] = []
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(10)

    def watch() -> None:
        while True:
            visitor, _ = server.accept()
            with visitor:
                if visitor.recv(1) == b"!":
                    return
                visits.append(1)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    address = server.getsockname()
    try:
        yield f"http://127.0.0.1:{address[1]}/string.json", visits
    finally:
        with socket.create_connection(address, timeout=10) as last:  # comes after all earlier visitors
            last.sendall(b"!")
        watcher.join(10)
        server.close()


def test_nothing_is_ever_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "string.json").write_text('{"type": "string"}')
    local = (tmp_path / "string.json").as_uri()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with trap() as (remote, visits):
        for keyword in ("$ref", "$dynamicRef"):
            for target in (remote, local, "prompt-kind.schema.json"):
                with pytest.raises(HostFault, match="invalid JSON Schema"):
                    schema.check_inline({"properties": {"a": {keyword: target}}}, {}, "")
    assert visits == []

    def online(rules: Any, **options: Any) -> Any:
        return jsonschema_rs.Draft202012Validator(rules, registry=options["registry"])

    monkeypatch.setattr(schema, "Draft202012Validator", online)  # sabotage
    assert len(schema.check_inline({"items": {"$ref": local}}, [1], "")) == 1
    with trap() as (remote, visits), pytest.raises(HostFault):
        schema.check_inline({"items": {"$ref": remote}}, [1], "")
    assert visits


def test_equal_schemas_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[Any] = []
    compile_schema = schema.compile_schema

    def counting(rules: Any) -> Any:
        compiled.append(rules)
        return compile_schema(rules)

    monkeypatch.setattr(schema, "compile_schema", counting)
    assert schema.check_inline({"type": "string", "maxLength": 4321}, "a", "") == []
    assert schema.check_inline({"maxLength": 4321, "type": "string"}, "b", "") == []
    assert len(compiled) == 1


SPARE_VALUES = st.one_of(
    st.sampled_from([None, True, 0, -1, 1, 1.0, 0.5, 100000]),
    st.sampled_from(["", "x", "X", "a.b", "core.b", "*", "eval", "public", "t" * 129, "t" * 257]),
    st.sampled_from([[], ["x", "x"], [1, 1.0], ["t"] * 101]),
    st.sampled_from([{}, {"type": "static"}, {"type": "variable", "variableName": "v"}]),
)
SPARE_NAMES = st.sampled_from(["extra", "type", "value", "version", "channel", "mode", "reason", "optional"])


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, Any]:
    name = draw(st.sampled_from(sorted(DOCUMENTS)))
    document = copy.deepcopy(draw(st.sampled_from(DOCUMENTS[name])))
    for _ in range(draw(st.integers(1, 3))):
        holder = draw(st.sampled_from(_containers(document)))
        if isinstance(holder, list):
            holder.append(copy.deepcopy(draw(SPARE_VALUES)))
        elif holder and draw(st.booleans()):
            member = draw(st.sampled_from(sorted(holder)))
            if draw(st.booleans()):
                del holder[member]
            else:
                holder[member] = copy.deepcopy(draw(SPARE_VALUES))
        else:
            holder[draw(SPARE_NAMES)] = copy.deepcopy(draw(SPARE_VALUES))
    return name, document


def _containers(document: Any) -> list[Any]:
    members = document.values() if isinstance(document, dict) else document
    below = [inner for each in members if isinstance(each, dict | list) for inner in _containers(each)]
    return [document, *below]


SCHEMAS = {name: schema.document(name) for name in schema.names()}
REGISTRY = Registry().with_resources((each["$id"], Resource.from_contents(each)) for each in SCHEMAS.values())
SECOND_OPINIONS = {name: jsonschema.Draft202012Validator(each, registry=REGISTRY) for name, each in SCHEMAS.items()}


@for_all(100, mutated())
def test_an_independent_validator_agrees(case: tuple[str, Any]) -> None:
    name, document = case
    assert (schema.check(name, document) == []) == SECOND_OPINIONS[name].is_valid(document)


@each_case(
    "name, document, pointer, meant",
    ("create-run", {"workflowId": "x", "input": {}}, "/input", "inputs"),
    ("workflow-definition", {"nodes": [{"positon": {}}]}, "/nodes/0/positon", "position"),
    ("workflow-definition", {"zzz": 1}, "/zzz", None),
)
def test_a_misspelt_member_gets_a_suggestion(name: str, document: Any, pointer: str, meant: str | None) -> None:
    found = next(each for each in schema.check(name, document) if each.pointer == pointer)
    assert found.message == f"is not a known member{f'; did you mean {meant}?' if meant else ''}"


def test_suggestions_are_bounded() -> None:
    given = {f"milisecond{number}": 1 for number in range(20)}
    closed = {"type": "object", "properties": {"milliseconds": {}}, "additionalProperties": False}
    found = schema.check_inline(closed, given, "/config")
    assert len([each for each in found if "did you mean" in each.message]) == schema.MAX_SUGGESTIONS
    fault = schema.violations_fault("config", found)
    assert fault.message == "config: the value at the pointer is not a known member; did you mean milliseconds?"
