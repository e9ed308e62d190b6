"""The pictures of the page in the documentation: one of each state and size, each small."""

import struct

from tools.page_pictures import DOCUMENT, FOLDER, MAX_BYTES, SIZES, render_document

from tests.adapters.http.page.page_states import ABOUT, STATES
from tests.harness.cases import each_case


def test_each_state_has_its_pictures() -> None:
    assert list(ABOUT) == list(STATES)
    names = {f"{name}-{size}.png" for name in STATES for size in SIZES}
    assert {each.name for each in FOLDER.iterdir()} == names
    assert DOCUMENT.read_text("utf-8") == render_document()


@each_case("size", *SIZES)
def test_each_picture_is_small_and_as_wide_as_its_screen(size: str) -> None:
    for name in STATES:
        picture = (FOLDER / f"{name}-{size}.png").read_bytes()
        width, height = struct.unpack(">II", picture[16:24])
        assert len(picture) <= MAX_BYTES, name
        assert width == SIZES[size][0], name
        assert height >= SIZES[size][1], name
