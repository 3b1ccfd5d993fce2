"""Which failpoint which command reaches, so that a run dies at every one of them."""

import os
import re
import subprocess

ACTIONS = ("exit", "pause", "error")

# A command that stages rows; one that makes a table; one that makes its table and fills it; one that finds what another left.
APPEND, CREATE, CREATE_AND_APPEND, SETTLE = "append", "create", "create-and-append", "settle"

REACHED_BY = {
    "during-stage": (APPEND, CREATE_AND_APPEND),
    "after-stage": (APPEND, CREATE_AND_APPEND),
    "before-reserve": (APPEND, CREATE, CREATE_AND_APPEND),
    "after-reserve": (APPEND, CREATE, CREATE_AND_APPEND),
    "after-engine-commit": (APPEND, CREATE, CREATE_AND_APPEND),
    "before-publish": (APPEND, CREATE, CREATE_AND_APPEND),
    "after-publish": (APPEND, CREATE, CREATE_AND_APPEND),
    "before-settle": (SETTLE,),
}
# A drop with purge reaches these; test_drop.py of the integration tests dies at each of them.
ELSEWHERE = ("before-drop", "after-drop", "before-purge-page", "before-purge-end")
# Where a death leaves a reservation for others to settle.
LEAVES_PENDING = ("after-reserve", "after-engine-commit", "before-publish")
# Reached twice by a command that makes its table and fills it.
REACHED_TWICE = ("before-reserve", "after-reserve", "after-engine-commit", "before-publish", "after-publish")


def names_in(binary):
    """Returns the failpoints that the program knows: it lists them when it refuses one that it does not know."""
    environment = {**os.environ, "LAKE_FAILPOINTS": "?=exit"}
    ended = subprocess.run([str(binary), "version"], env=environment, capture_output=True, text=True, timeout=60, check=False)
    listed = re.search(r"there is no such failpoint; there are ([a-z, -]+)", ended.stderr)
    if ended.returncode != 2 or listed is None:
        raise RuntimeError(f"{binary} does not list its failpoints: {ended.returncode} {ended.stderr}")
    return listed.group(1).split(", ")


def uncovered(names):
    """Returns what is wrong with REACHED_BY, given the failpoints that the program knows."""
    covered = {*REACHED_BY, *ELSEWHERE}
    unknown, gone = sorted(set(names) - covered), sorted(covered - set(names))
    wrong = [f"failpoint {name}: tests/crash/failpoints.py does not say which command reaches it" for name in unknown]
    return wrong + [f"failpoint {name}: the program does not know it" for name in gone]


def deck(rng):
    """Deals out every failpoint with every action, without end: a death at each of them, then the other kind of death, then an error."""
    names = sorted(REACHED_BY)
    while True:
        first = {name: rng.choice(("exit", "pause")) for name in names}
        for action_of in (first.get, lambda name: "pause" if first[name] == "exit" else "exit", lambda name: "error"):
            rng.shuffle(names)
            yield from ((name, action_of(name)) for name in names)
