"""What the tests of crash runs share."""

import os
import pathlib

import pytest
from processes import Lake
from rounds import Run

BINARY = pathlib.Path(os.environ["LAKE_BINARY"])
SANITIZED = b"__asan_init" in BINARY.read_bytes()


@pytest.fixture
def run(tmp_path):
    """A run before its first round: one table has rows, two have been dropped, and everything is as it has to be."""
    lake = Lake(BINARY, tmp_path)
    run = Run(lake, seed=3)
    run.set_up()
    yield run
    lake.close()
