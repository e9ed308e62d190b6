"""Artifacts are edited by fields, one for each part, and what is not edited comes back as it was."""

import copy
from typing import Any

import pytest
from hypothesis import example
from hypothesis import strategies as st

from tests.adapters.http.page.page_tree import answer, parse_form
from tests.adapters.http.page.sample_questions import approval
from tests.harness.definitions import for_all
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.forms import parts
from weftwork.protocol.forms.plan import page_plan


def test_an_artifact_is_edited_by_fields() -> None:
    question = approval()
    form = parse_form(question)
    labels = [each.text for each in form.form.named("label") if each.get("for").startswith("edit")]
    assert labels[:4] == ["Customer", "Lines 1, item", "Lines 1, count", "Lines 1, price"]
    assert answer(question, form, "edit-accept")["editedArtifactData"] == question["data"]["artifactData"]
    form.sent |= {"edit2": ["3"], "edit4": [""], "edit8": ["One.\nTwo."]}
    changed = copy.deepcopy(question["data"]["artifactData"])
    changed["lines"][0]["count"], changed["lines"][1]["item"], changed["note"] = 3, "", "One.\nTwo."
    assert answer(question, form, "edit-accept") == {"action": "edit-accept", "editedArtifactData": changed}
    form.sent["edit2"] = ["three"]
    with pytest.raises(ClientFault, match="Field 3 of “Your version” must be a number"):
        answer(question, form, "edit-accept")


# No artifact has NUL in a text or in the name of a member: every source of values refuses it (json-01).
CHARACTERS = st.characters(codec="utf-8", exclude_characters="\0")
ARTIFACTS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**50), 2**50)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(CHARACTERS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(CHARACTERS, max_size=8), inner, max_size=4),
    max_leaves=12,
)


@example(artifact={"\x01": None})
@for_all(200, artifact=ARTIFACTS)
def test_an_artifact_of_any_shape_comes_back_as_it_was(artifact: Any) -> None:
    question = approval(artifactData=artifact)
    form = parse_form(question)
    if "edit-accept" in [each.get("value") for each in form.form.named("button")]:
        expected = artifact if not isinstance(artifact, str) else artifact.replace("\r\n", "\n")
        try:
            assert answer(question, form, "edit-accept")["editedArtifactData"] == expected
        except ClientFault as fault:
            # An empty value has one field, which has to be filled in.
            assert "is still empty" in fault.message  # noqa: PT017
            assert artifact is None or artifact == "" or str(artifact).isspace()


def test_a_large_artifact_is_edited_as_json() -> None:
    for artifact in ({f"m{place}": place for place in range(parts.MAX_PARTS + 1)}, [[[[[[[[1]]]]]]]], {"empty": None}):
        assert parse_form(approval(artifactData=artifact)).form.named("textarea")[-2].get("class") == "json"
    assert len(page_plan(approval(artifactData=[*range(parts.MAX_PARTS)])).buttons[3].fields) == parts.MAX_PARTS
