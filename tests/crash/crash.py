"""Kills the real program at random times and at every failpoint, and checks that nothing is lost and nothing doubled: `make crash`.

Rounds of appends, creations, drops and registrations run as processes on one data directory; processes die; after each round every
acknowledged append has to be visible exactly once, none that was reported failed visible, what is unknown resolved by the same operation
id, `lake check` clean, and every table ready for its next append. rounds.py says what a round does.

A failure ends the run with status 1, says what differs, and keeps the directory: lake-data is the data directory, journal.txt says what
was run and how it ended, inputs and outputs hold what the commands read and wrote. The same seed makes the same choices; the moments of
kills are parts of how long a command takes on the machine.
"""

import argparse
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time

import failpoints
from observe import Violation
from processes import Lake
from rounds import Run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# From so many rounds on, every failpoint must have been met.
ROUNDS_THAT_COVER = 24


def play(run, rounds, terminal):
    """Plays the rounds; raises Violation at the first thing that is wrong."""
    wrong = failpoints.uncovered(failpoints.names_in(run.lake.binary))
    if wrong:
        raise Violation("\n".join(wrong))
    run.set_up()
    begun = time.monotonic()
    for number in range(1, rounds + 1):
        run.round()
        if terminal or number % 50 == 0:
            seconds = time.monotonic() - begun
            line = f"round {number} of {rounds}: {run.acked} appends acknowledged, {run.unknown_resolved} unknown resolved, {seconds:.0f} s"
            print(f"\r{line}" if terminal else line, end="" if terminal else "\n", file=sys.stderr, flush=True)
    if terminal:
        print(file=sys.stderr)
    missed = run.finish()
    if missed and rounds >= ROUNDS_THAT_COVER:
        raise Violation(f"nobody died at {', '.join(missed)}")
    if missed:
        print(f"so few rounds did not reach {', '.join(missed)}", file=sys.stderr)


def counts(run):
    return f"rounds={run.rounds} acked={run.acked} lost={run.lost} duplicated={run.duplicated} unknown_resolved={run.unknown_resolved}"


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description="Kill the program at random times and at every failpoint, and check that nothing is lost or doubled.",
        epilog="Example: tests/crash/crash.py --rounds 200 --seed 7",
    )
    parser.add_argument("--rounds", type=int, default=200, help="how many (%(default)s)")
    parser.add_argument("--seed", type=int, default=None, help="makes the same choices again; a fresh one if none is given")
    parser.add_argument("--lake", default=str(ROOT / "build/release/lake"), help="the program (%(default)s)")
    parser.add_argument("--keep", action="store_true", help="keep the directory though nothing is wrong")
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error("--rounds has to be at least 1")
    if not os.access(options.lake, os.X_OK):
        sys.exit(f"crash: {options.lake} is not there: run make crash, or name the program with --lake")
    seed = random.SystemRandom().randrange(1_000_000) if options.seed is None else options.seed
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lake-crash."))
    print(f"seed {seed}, directory {folder}", file=sys.stderr)
    run = Run(Lake(options.lake, folder), seed)
    try:
        play(run, options.rounds, sys.stderr.isatty())
    except Violation as violation:
        options.keep = True
        run.lake.note(f"violation: {violation}")
        print(f"\n{violation}\ncrash FAILED in round {run.rounds}: seed={seed} directory={folder}\n{counts(run)}", file=sys.stderr)
        return 1
    except BaseException:
        options.keep = True
        print(f"\ncrash: stopped in round {run.rounds}: seed={seed} directory={folder}", file=sys.stderr)
        raise
    finally:
        run.lake.close()
        if not options.keep:
            shutil.rmtree(folder)
    print(f"crash ok: {counts(run)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
