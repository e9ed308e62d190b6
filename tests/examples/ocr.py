"""Whether the packages of the extra `ocr` are installed. `make test` installs them (tools/ocr_lane.py)."""

from importlib.util import find_spec

import pytest

PACKAGES = ("onnxruntime", "PIL", "rapidocr")


def has_ocr() -> bool:
    return all(find_spec(name) is not None for name in PACKAGES)


def need_ocr() -> None:
    """Skip the tests of a module without them."""
    if not has_ocr():
        pytest.skip("the extra ocr is not installed; run make test", allow_module_level=True)
