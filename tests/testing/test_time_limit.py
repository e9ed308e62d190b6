"""A test over its time fails with the stacks of what it waits for; a table is tried to its end."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = """
import asyncio
import threading

import pytest

def test_blocks():
    threading.Event().wait()

async def test_awaits():
    async def never_comes():
        await asyncio.Event().wait()
    await asyncio.create_task(never_comes())

async def test_swallows_the_first_alarm():
    async def spins():
        while True:
            pass
    spinning = asyncio.create_task(spins())
    await asyncio.Event().wait()

@pytest.fixture
def stuck():
    threading.Event().wait()

def test_waits_for_its_fixture(stuck):
    pass

def test_is_quick():
    pass
"""
LIMIT = """
import pytest
from tests.harness import time_limit
time_limit.REPEAT_SECONDS = 0.2
from tests.harness.time_limit import *

@pytest.fixture
def anyio_backend():
    return "asyncio"
"""


@pytest.mark.slow
def test_the_suite_goes_on_after_a_test_that_does_not_end(tmp_path: Path) -> None:
    (tmp_path / "test_sample.py").write_text(TESTS)
    (tmp_path / "conftest.py").write_text(LIMIT)
    (tmp_path / "pytest.ini").write_text("[pytest]\nanyio_mode = auto\ntest_seconds = 1\n")
    options = f"-m pytest -p no:cacheprovider --rootdir {tmp_path} -c {tmp_path}/pytest.ini {tmp_path}".split()
    done = subprocess.run([sys.executable, *options], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert "3 failed, 1 passed, 1 error" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("not done after 1 s") >= 4
    assert "in never_comes" in done.stdout, "what a task awaits"
    assert "in test_blocks" in done.stdout, "where a thread is"
