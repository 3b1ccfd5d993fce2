"""The short form of `make crash`."""

import re

import crash
from conftest import BINARY, SANITIZED

# About a minute on a machine with nothing else to do.
ROUNDS = 24 if SANITIZED else 60
SEED = 20


def test_a_short_run_loses_nothing_and_doubles_nothing(capfd):
    assert ROUNDS >= crash.ROUNDS_THAT_COVER
    status = crash.main(["--lake", str(BINARY), "--rounds", str(ROUNDS), "--seed", str(SEED)])
    out, err = capfd.readouterr()
    assert status == 0, err
    told = re.fullmatch(r"crash ok: rounds=(\d+) acked=(\d+) lost=0 duplicated=0 unknown_resolved=(\d+)\n", out)
    assert told is not None, out
    rounds, acked, unknown_resolved = map(int, told.groups())
    assert rounds == ROUNDS and acked >= 2 * ROUNDS and unknown_resolved >= ROUNDS / 4
