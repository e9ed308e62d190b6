"""Which model is asked, and what a run may say about it."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.models import selection
from weftwork.protocol.models.selection import ModelSelection, check_selection, select_model

NODE = {"provider": "acme", "model": "acme-1", "temperature": 0.5, "maxTokens": 50}


@pytest.mark.rule("model-17")
@pytest.mark.parametrize(
    ("configurable", "config", "choice"),
    [
        ({}, {}, ModelSelection()),
        ({}, NODE, ModelSelection("acme", "acme-1", 0.5, 50)),
        ({"model": "m", "temperature": 0, "maxTokens": 9.0}, NODE, ModelSelection("acme", "m", 0, 9)),
        ({"ai.model": "a", "model": "m"}, NODE, ModelSelection("acme", "a", 0.5, 50)),
        ({"ai": {"model": "a"}, "model": "m"}, {}, ModelSelection("", "a")),
        ({"ai.provider": "other"}, NODE, ModelSelection("other", "", 0.5, 50)),
        ({"ai": {"provider": "other", "model": "o"}}, NODE, ModelSelection("other", "o", 0.5, 50)),
        ({"ai.provider": "acme"}, NODE, ModelSelection("acme", "acme-1", 0.5, 50)),
        ({"ai.provider": "other"}, {"model": "acme-1"}, ModelSelection("other")),
    ],
)
def test_the_run_wins_over_the_node(
    configurable: dict[str, Any], config: dict[str, Any], choice: ModelSelection
) -> None:
    assert select_model(configurable, config) == choice


@pytest.mark.rule("model-17")
@settings(max_examples=example_count(100), deadline=None)
@given(
    st.fixed_dictionaries({}, optional={"provider": st.sampled_from("ab"), "model": st.sampled_from("mn")}),
    st.fixed_dictionaries({}, optional={"provider": st.sampled_from("ab"), "model": st.sampled_from("mn")}),
)
def test_both_spellings_choose_the_same(asked: dict[str, str], config: dict[str, str]) -> None:
    flat = {f"ai.{name}": value for name, value in asked.items()}
    assert (
        select_model(flat, config) == select_model({"ai": asked}, config) == select_model({**flat, "ai": asked}, config)
    )
    assert select_model(flat, config).provider == asked.get("provider", config.get("provider", ""))


BAD: list[tuple[dict[str, Any], str]] = [
    ({"ai.provider": "gone"}, "/configurable/ai.provider"),
    ({"ai": {"provider": "gone"}}, "/configurable/ai/provider"),
    ({"ai": {"provider": "mock"}, "ai.provider": "scripted"}, "/configurable/ai.provider"),
    ({"ai.provider": 1}, "/configurable/ai.provider"),
    ({"ai": {"model": ""}}, "/configurable/ai/model"),
    ({"ai.model": "x" * 257}, "/configurable/ai.model"),
    ({"ai.model": None}, "/configurable/ai.model"),
    ({"ai": []}, "/configurable/ai"),
    ({"ai.credentialRef": {}}, "/configurable/ai.credentialRef"),
]


@pytest.mark.rule("model-18")
@pytest.mark.parametrize(("configurable", "pointer"), BAD)
def test_what_is_not_offered_is_refused_and_pointed_at(configurable: dict[str, Any], pointer: str) -> None:
    with pytest.raises(ClientFault) as caught:
        check_selection(configurable, ("scripted", "mock"))
    assert (caught.value.code, caught.value.details) == ("validation_error", {"pointer": pointer})


@pytest.mark.rule("model-18")
@pytest.mark.parametrize(
    "configurable",
    [
        {},
        {"ai.provider": "scripted"},
        {"ai": {"provider": "mock", "model": "m", "more": 1}},
        {"ai": {"provider": "mock"}, "ai.provider": "mock"},
        {"acme.provider": "gone", "aiProvider": 1},
    ],
)
def test_what_is_offered_may_be_asked_for(configurable: dict[str, Any]) -> None:
    check_selection(configurable, ("scripted", "mock"))


@pytest.mark.rule("model-18")
@pytest.mark.parametrize(
    ("configurable", "details"),
    [
        ({"ai.credentialRef": "cred-1"}, None),
        ({"ai": {"credentialRef": "cred-1", "provider": "mock"}}, {"provider": "mock"}),
    ],
)
def test_a_credential_is_for_those_that_take_one(configurable: dict[str, Any], details: Any) -> None:
    with pytest.raises(ClientFault) as caught:
        check_selection(configurable, ("mock",))
    assert (caught.value.code, caught.value.status, caught.value.details) == ("credential_forbidden", 403, details)
    assert "cred-1" not in str(caught.value)
    if details:
        check_selection(configurable, ("mock",), byok=("mock",))


def test_without_the_check_a_credential_would_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "_ai_option", lambda *_: None)  # sabotage
    check_selection({"ai.credentialRef": "cred-1"}, ("mock",))


def test_a_budget_is_a_number_that_every_reader_takes() -> None:
    assert select_model({"maxTokens": 1e308}, {}).max_tokens == selection.MAX_TOKENS
