"""The tables of providers: what they mean, what is refused with which advice, and what never appears in a message."""

from typing import Any

import msgspec
import pytest

from tests.harness.cases import each_case, fails_without
from weftwork.protocol.models import provider_settings
from weftwork.protocol.models.model_catalogue import ModelInfo, ModelPrice
from weftwork.protocol.models.provider_settings import (
    InvalidProviderSettings,
    ProviderSettings,
    ProviderTimeouts,
    outbound_policy,
    parse_provider,
)
from weftwork.protocol.net.target import OutboundPolicy, OutboundRefused, parse_target

SECRET = "sk-live-4711"
COMPLETE: dict[str, Any] = {
    "type": "openai-compatible",
    "base_url": "http://127.0.0.1:9000/v1/",
    "credential": "env:LOCAL_KEY",
    "allow_private_network": True,
    "timeouts": {"connect": 5, "first_byte": 0.5},
    "other_models": True,
    "models": [
        {
            "name": "tiny",
            "capabilities": ["structured-output", "vision-input", "x-host-acme-maps"],
            "input": ["text", "image", "document"],
            "max_output_tokens": 4096,
            "price": {"input": 0.1, "output": 0.4, "cached_input": 0},
        },
        {"name": "plain"},
    ],
    "script": "a.toml",
}


@pytest.mark.rule("model-30")
def test_a_complete_table_is_read() -> None:
    found = parse_provider("local", COMPLETE)
    tiny = ModelInfo(
        "tiny",
        frozenset({"structured-output", "vision-input", "x-host-acme-maps"}),
        frozenset({"image", "document"}),
        4096,
        ModelPrice(0.1, 0.4, 0),
    )
    assert found == ProviderSettings(
        "local",
        "openai-compatible",
        "http://127.0.0.1:9000/v1",
        "env:LOCAL_KEY",
        True,
        ProviderTimeouts(5, 0.5),
        (tiny, ModelInfo("plain")),
        True,
        {"script": "a.toml"},
    )
    assert found.credential_variable == "LOCAL_KEY"
    assert parse_provider("a", {"type": "x"}) == ProviderSettings("a", "x")
    assert parse_provider("a", {"type": "x"}).credential_variable is None


@pytest.mark.rule("model-30")
@each_case(
    "capabilities, accepts, expected",
    (["vision-input"], None, ({"vision-input"}, {"image"})),
    (["audio-input"], None, ({"audio-input"}, {"audio"})),
    ([], ["image", "audio"], ({"vision-input", "audio-input"}, {"image", "audio"})),
    ([], ["text", "document"], (set(), {"document"})),
    ([], [], (set(), set())),
)
def test_capabilities_and_modalities_agree(capabilities: list[str], accepts: list[str] | None, expected: Any) -> None:
    table: dict[str, Any] = {"name": "m", "capabilities": capabilities}
    if accepts is not None:
        table["input"] = accepts
    (model,) = parse_provider("a", {"type": "x", "models": [table]}).models
    assert (model.capabilities, model.modalities) == expected


def changed(**members: Any) -> dict[str, Any]:
    return {**COMPLETE, **members}


def with_model(**members: Any) -> dict[str, Any]:
    return changed(models=[{"name": "m", **members}])


@pytest.mark.rule("model-30")
@each_case(
    "table, path, advice",
    (SECRET, (), "write a table: [providers.local]"),
    ({"base_url": "https://a.example"}, (), 'add the type of the provider, such as type = "openai-compatible"'),
    (changed(type=1), ("type",), "write text in quotes"),
    (changed(credential=SECRET), ("credential",), "write env:NAME"),
    (changed(credential=f"env:{SECRET}"), ("credential",), "write env:NAME"),
    (changed(credential=[SECRET]), ("credential",), "write text in quotes"),
    (changed(allow_private_network="yes"), ("allow_private_network",), "write true or false, without quotes"),
    (changed(other_models=1), ("other_models",), "write true or false"),
    (changed(base_url="127.0.0.1:9000"), ("base_url",), "write a URL such as https://api.example.com/v1"),
    (changed(base_url=f"https://{SECRET}@a.example"), ("base_url",), "must not have credentials"),
    (changed(base_url=f"https://a.example/?key={SECRET}"), ("base_url",), "remove the query"),
    (changed(base_url="https://a.example/#x"), ("base_url",), "remove the query and the fragment"),
    (changed(base_url="ftp://a.example"), ("base_url",), "https or http"),
    (changed(base_url="https://a.example:99999"), ("base_url",), "1 to 65535"),
    (changed(allow_private_network=False), ("base_url",), "add allow_private_network = true"),
    (changed(base_url="http://localhost/v1", allow_private_network=False), ("base_url",), "on a private network; add"),
    (changed(base_url="https://[::1]/v1", allow_private_network=False), ("base_url",), "on a private network; add"),
    (changed(base_url="http://a.example", allow_private_network=False), ("base_url",), "unencrypted; write https"),
    (changed(timeouts=5), ("timeouts",), "write a table: timeouts = {"),
    (changed(timeouts={"conect": 5}), ("timeouts", "conect"), "unknown member; did you mean connect?"),
    (changed(timeouts={"idle": "5"}), ("timeouts", "idle"), "write a number, such as idle = 30, in seconds"),
    (changed(timeouts={"idle": 0}), ("timeouts", "idle"), "write a number from 0.001 to 3,600"),
    (changed(timeouts={"idle": True}), ("timeouts", "idle"), "write a number"),
    (changed(timeouts={"idle": float("nan")}), ("timeouts", "idle"), "write a number"),
    (changed(timeouts={"idle": 10**400}), ("timeouts", "idle"), "write a number from 0.001 to 3,600"),
    (changed(models={"name": "m"}), ("models",), "write one table [[providers.NAME.models]] per model"),
    (changed(models=["m"]), ("models", 0), "write a table with the name of the model"),
    (changed(models=[{}]), ("models", 0), 'name = "..."'),
    (changed(models=[{"name": ""}]), ("models", 0, "name"), 'name = "..."'),
    (changed(models=[{"name": "m"}, {"name": "m"}]), ("models", 1, "name"), "another model of this provider"),
    (with_model(capabilites=[]), ("models", 0, "capabilites"), "unknown member; did you mean capabilities?"),
    (with_model(capabilities="long-context"), ("models", 0, "capabilities"), 'capabilities = ["..."]'),
    (with_model(capabilities=["visoin-input"]), ("models", 0, "capabilities", 0), "did you mean vision-input?"),
    (with_model(capabilities=["a", SECRET]), ("models", 0, "capabilities", 0), "x-host-HOST-NAME"),
    (with_model(capabilities=["vision-input"], input=["text"]), ("models", 0, "input"), 'add "image", or remove'),
    (with_model(input=["text", "video"]), ("models", 0, "input", 1), "write text, image, audio, document"),
    (with_model(max_output_tokens=0), ("models", 0, "max_output_tokens"), "from 1 to 10,000,000"),
    (with_model(price=0.1), ("models", 0, "price"), "price = { input = 0.10, output = 0.40 }"),
    (with_model(price={"input": 1}), ("models", 0, "price"), "add the price for output"),
    (with_model(price={"input": 1, "output": 1, "cached": 1}), ("models", 0, "price", "cached"), "cached_input"),
    (with_model(price={"input": -1, "output": 1}), ("models", 0, "price", "input"), "from 0 to 1,000,000"),
)
def test_a_bad_table_is_refused_with_its_place_and_advice(table: Any, path: tuple[Any, ...], advice: str) -> None:
    with pytest.raises(InvalidProviderSettings) as caught:
        parse_provider("local", table)
    assert caught.value.path == path
    assert advice in caught.value.message
    assert SECRET not in caught.value.message


@pytest.mark.rule("model-30")
@each_case("name", "", "Local", "a b", "a--b", "-a", "1a", "a/b", "a" * 300)
def test_a_bad_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidProviderSettings, match="rename the table"):
        parse_provider(name, {"type": "x"})


@pytest.mark.rule("model-30")
@each_case(
    "member, advice",
    ("scrpit", "did you mean script?"),
    ("api_key", 'write credential = "env:NAME"'),
    ("something", "the members are allow_private_network, base_url, credential"),
)
def test_an_option_that_the_type_does_not_know_is_refused(member: str, advice: str) -> None:
    found = parse_provider("a", {"type": "x", member: SECRET})
    with pytest.raises(InvalidProviderSettings) as caught:
        found.check_options(("script",))
    assert caught.value.path == (member,)
    assert advice in caught.value.message
    assert SECRET not in caught.value.message
    found.check_options((member,))


@pytest.mark.rule("model-30")
@each_case(
    "table, member",
    ({"baseurl": "https://api.example.com/v1"}, "baseurl"),
    ({"base_url": "http://127.0.0.1:9000/v1", "allow_private_networks": True}, "allow_private_networks"),
)
def test_a_misspelt_member_is_reported_before_its_absence(table: dict[str, Any], member: str) -> None:
    with pytest.raises(InvalidProviderSettings, match="unknown member; did you mean") as caught:
        parse_provider("a", {"type": "openai-compatible", **table})
    assert caught.value.path == (member,)


URLS = [
    ("https://api.example.com/v1", {}, "https://api.example.com/v1/chat", "https://api.example.com:8443/"),
    ("https://api.example.com:8443", {}, "https://api.example.com:8443/", "http://api.example.com/"),
    ("", {}, "https://a.example/", "http://a.example/"),
]


@pytest.mark.rule("model-31")
@fails_without(
    provider_settings, "OutboundPolicy", lambda *arguments, **named: OutboundPolicy(private=True), errors=(KeyError,)
)
def test_a_provider_reaches_only_its_own_scheme_and_port() -> None:
    for url, more, allowed, blocked in URLS:
        policy = outbound_policy(parse_provider("a", {"type": "x", "base_url": url, **more}))
        assert parse_target(allowed, policy)
        with pytest.raises(OutboundRefused):
            parse_target(blocked, policy)
        assert not policy.private
    assert outbound_policy(parse_provider("a", COMPLETE)) == OutboundPolicy(frozenset({9000}), True, True)


def test_settings_are_a_value() -> None:
    found = parse_provider("local", COMPLETE)
    assert msgspec.structs.replace(found) == found
    assert found.model("plain") == ModelInfo("plain")
    assert found.model("") == found.models[0]
    assert found.model("other") is None
