"""Programs of the scripted provider: queues by tenant and node, bounded, and what is remembered of calls."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adapters.providers.provider_calls import generate_text, model_request, run
from tests.harness.definitions import example_count
from weftwork.adapters.providers.script import EMPTY_ENTRY, Script, ScriptEntry
from weftwork.adapters.providers.scripted import MAX_NODES, ScriptedProvider
from weftwork.conformance.endpoints import model_programs
from weftwork.conformance.endpoints.model_programs import ScriptedPrograms
from weftwork.testing import ManualClock


@pytest.mark.rule("model-19")
def test_tenants_have_programs_of_their_own() -> None:
    programs = ScriptedPrograms()
    provider = ScriptedProvider(ManualClock(), programs)
    programs.program("acme", "n", ["for acme"])
    assert run(generate_text(provider, model_request(partition="other", max_tokens=5))).startswith("(scripted) ")
    assert run(generate_text(provider, model_request(partition="acme", max_tokens=6))) == "for acme"
    assert [programs.last_budget(name, "n") for name in ("acme", "other", "third")] == [6, 5, None]
    programs.program("other", "n", ["for other"])
    programs.program("acme", "n", ["for acme"])
    programs.reset("acme")
    assert run(generate_text(provider, model_request(partition="other"))) == "for other"
    assert run(generate_text(provider, model_request(partition="acme"))).startswith("(scripted) ")
    assert programs.last_budget("acme", "n") == model_programs.DEFAULT_BUDGET


def test_budgets_are_not_kept_for_ever_and_prompts_not_at_all() -> None:
    programs = ScriptedPrograms()
    for count in range(3):
        ScriptedProvider(ManualClock(), programs).generate(model_request("a-prompt", max_tokens=count))
    assert programs.last_budget("", "n") == 2
    assert "a-prompt" not in str(vars(programs))
    for count in range(MAX_NODES):
        ScriptedProvider(ManualClock(), programs).generate(model_request(node=f"other{count}"))
        programs.program("", f"other{count}", [])
    assert programs.last_budget("", "n") is None


def test_programs_are_kept_while_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_programs, "MAX_PROGRAM_BYTES", 2500)
    programs = ScriptedPrograms()
    for name in ("a", "b", "a", "c"):
        programs.program("", name, ["x" * 1000])
    said = [
        run(generate_text(ScriptedProvider(ManualClock(), programs), model_request(node=name)))[:3]
        for name in ("a", "b", "c")
    ]
    assert said == ["xxx", "(sc", "xxx"]


def test_without_the_bound_everything_would_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        model_programs, "put_recent", lambda kept, place, value: kept.update({place: value})
    )  # sabotage
    programs = ScriptedPrograms()
    for count in range(MAX_NODES + 1):
        ScriptedProvider(ManualClock(), programs).generate(model_request(node=f"other{count}", max_tokens=1))
    assert programs.last_budget("", "other0") == 1


Operation = st.one_of(
    st.tuples(
        st.just("program"), st.sampled_from("ab"), st.sampled_from("xy"), st.lists(st.text(max_size=3), max_size=3)
    ),
    st.tuples(st.just("call"), st.sampled_from("ab"), st.sampled_from("xy"), st.just([])),
    st.tuples(st.just("reset"), st.sampled_from(["a", "b", ""]), st.just(""), st.just([])),
)


@pytest.mark.rule("model-12")
@settings(max_examples=example_count(100, 4_000), deadline=None)
@given(st.lists(Operation, max_size=20))
def test_programs_are_queues(operations: list[tuple[str, str, str, list[str]]]) -> None:
    programs = ScriptedPrograms(Script(default=ScriptEntry(content="(script)")))
    model: dict[tuple[str, str], list[str]] = {}
    for name, partition, node, texts in operations:
        if name == "program":
            assert programs.program(partition, node, texts) == len(texts)
            model[partition, node] = list(texts)
        elif name == "reset":
            programs.reset(partition or None)
            model = {place: left for place, left in model.items() if partition and place[0] != partition}
        else:
            said = programs.take(model_request(node=node, partition=partition))
            left = model.get((partition, node))
            wanted = "(script)" if left is None else left.pop(0) if left else ""
            assert said.text == wanted
            assert left is None or wanted or said in (EMPTY_ENTRY, ScriptEntry(content=""))


def test_without_taking_a_program_would_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    programs = ScriptedPrograms()
    programs.program("", "n", ["one", "two"])
    provider = ScriptedProvider(ManualClock(), programs)
    monkeypatch.setattr(programs, "take", lambda request: programs._queues["", "n"][0])  # sabotage
    assert [run(generate_text(provider, model_request())) for _ in range(2)] == ["one", "one"]
