"""Who answers which request."""

import pytest

from tests.adapters.providers.provider_calls import generate_text, model_request, run
from weftwork.adapters.providers.registry import ProviderRegistry, default_providers
from weftwork.adapters.providers.scripted import ScriptedProvider
from weftwork.conformance.endpoints.model_programs import ScriptedPrograms
from weftwork.ports.models import ModelProvider, ProviderFault
from weftwork.settings import Settings
from weftwork.testing import ManualClock
from weftwork.wiring.models import build_providers


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        (Settings(), ("scripted",)),
        (Settings(test_seams=True), ("scripted", "mock")),
        (Settings(conformance=True), ("scripted", "mock")),
    ],
)
def test_the_alias_is_there_for_tests_alone(settings: Settings, names: tuple[str, ...]) -> None:
    models, _ = build_providers(settings, ManualClock())
    assert models.names == names


@pytest.mark.rule("model-15")
def test_a_request_goes_to_whom_it_names() -> None:
    programs = ScriptedPrograms()
    models = default_providers(ManualClock(), programs, testing=True)
    assert models.find(model_request()).name == "scripted"
    assert models.find(model_request(provider="scripted")).default_model == "scripted-1"
    mock = models.find(model_request(provider="mock"))
    assert (mock.name, mock.default_model) == ("mock", "mock-mini")
    programs.program("", "n", ["one", "two"])
    assert run(generate_text(mock, model_request())) == "one"
    assert run(generate_text(models.find(model_request()), model_request())) == "two"


@pytest.mark.rule("model-15")
def test_the_mock_of_a_run_comes_before_any_provider() -> None:
    models = default_providers(ManualClock())
    for provider in ("", "scripted", "gone"):
        found = models.find(model_request(provider=provider, mock={"id": "stream-text", "config": {"tokens": ["x"]}}))
        assert found.name == "stream-text"
        assert run(generate_text(found, model_request())) == "x"
    assert models.find(model_request(mock={"id": "error"})).default_model == "mock-error-v1"


@pytest.mark.rule("model-15")
def test_what_is_not_offered_is_a_fault() -> None:
    models = default_providers(ManualClock())
    for request in (model_request(provider="mock"), model_request(provider="acme"), model_request(mock={"id": "acme"})):
        with pytest.raises(ProviderFault) as caught:
            models.find(request)
        assert (caught.value.code, caught.value.retryable) == ("provider_not_supported", False)
        assert "acme" not in str(caught.value)
    with pytest.raises(ProviderFault) as caught:
        ProviderRegistry(ManualClock(), []).find(model_request())
    assert caught.value.code == "host_capability_missing"


def test_other_providers_come_first_and_need_no_more_than_to_be_given() -> None:
    vendor: ModelProvider = ScriptedProvider(ManualClock(), name="acme", default_model="acme-1")
    models = default_providers(ManualClock(), more=[vendor])
    assert models.names == ("acme", "scripted")
    assert models.find(model_request()) is vendor
