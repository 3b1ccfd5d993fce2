"""A crash run notices what is wrong with a lake, and with a program: each test plants one fault."""

import os
import signal

import crash
import failpoints
import pytest
from conftest import BINARY
from model import State
from observe import Violation
from processes import DONE, Fate, uuid7
from rounds import Round

# Programs that do one thing wrong. The append that fills the fourth table is the first that is not undone.
REAL = str(BINARY)
IS_THE_APPEND = '[ "$1" = append ] && [ "$2" = c.t3 ]'
ANSWER = '{"table": "c.t3", "rows": 300, "files": 1, "snapshot": "1", "epoch": 999999, "operation": "%s", "replayed": false}\\n'


LAST_ARGUMENT = '"${@: -1}"'
PROGRAMS = {
    "acknowledges-and-does-nothing": (
        f"if {IS_THE_APPEND}; then printf '{ANSWER}' {LAST_ARGUMENT}; exit 0; fi\nexec {REAL} \"$@\"",
        "lost=1 duplicated=0",
    ),
    "does-and-reports-a-failure": (
        f'{REAL} "$@"; code=$?\nif {IS_THE_APPEND}; then echo "lake: no" >&2; exit 1; fi\nexit $code',
        "reported failed and is visible",
    ),
    "does-it-twice": (
        f"if {IS_THE_APPEND}; then {REAL} \"${{@:1:$#-1}}\" {uuid7()} >/dev/null; fi\nexec {REAL} \"$@\"",
        "lost=0 duplicated=1",
    ),
    "dies-by-itself": (f"if {IS_THE_APPEND}; then kill -SEGV $$; fi\nexec {REAL} \"$@\"", f"ended with {-signal.SIGSEGV}"),
    "fails-without-a-word": (f"if {IS_THE_APPEND}; then exit 1; fi\nexec {REAL} \"$@\"", "ended with 1 and said ''"),
    "finds-damage": (f'if [ "$1" = check ]; then echo "lake: damaged" >&2; exit 1; fi\nexec {REAL} "$@"', "lake check"),
    "answers-for-another-operation": (
        f"if {IS_THE_APPEND}; then set -- \"${{@:1:$#-1}}\" {uuid7()}; fi\nexec {REAL} \"$@\"",
        "was answered with",
    ),
    "has-a-failpoint-more": (
        f'if [ "$LAKE_FAILPOINTS" = "?=exit" ]; then {REAL} "$@" 2>&1 | sed "s/there are /there are a-new-one, /" >&2; exit 2; fi\n'
        f'exec {REAL} "$@"',
        "failpoint a-new-one: tests/crash/failpoints.py does not say which command reaches it",
    ),
    "ignores-failpoints": (
        f'[ "$LAKE_FAILPOINTS" = "?=exit" ] || unset LAKE_FAILPOINTS\nexec {REAL} "$@"',
        "nobody died at",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_that_does_one_thing_wrong_is_found_out(name, tmp_path, monkeypatch, capfd):
    script, expected = PROGRAMS[name]
    program = tmp_path / "lake"
    program.write_text(f"#!/bin/bash\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(crash.tempfile, "tempdir", None)
    monkeypatch.setattr(crash, "ROUNDS_THAT_COVER", 3)
    assert crash.main(["--lake", str(program), "--rounds", "3", "--seed", "5"]) == 1
    out, err = capfd.readouterr()
    assert out == "" and "crash FAILED" in err and "seed=5" in err
    assert expected in err
    # What it was run on is there to be looked at.
    folder = err.split("directory=")[1].split()[0]
    assert os.path.isfile(os.path.join(folder, "journal.txt"))
    assert name == "has-a-failpoint-more" or os.path.isdir(os.path.join(folder, "lake-data"))


def living_table(run):
    """Returns the name of a table that has rows."""
    for name, uuid in run.tables.items():
        if any(append.home == uuid and append.state is State.ACKED for append in run.workload.appends):
            return name
    raise AssertionError("no table has rows")


def acked(run, table):
    return next(one for one in run.workload.appends if one.home == run.tables[table] and one.state is State.ACKED)


def secretly(run, *arguments):
    ended = run.lake.run(*arguments)
    assert ended.code == DONE, ended.err


def last_look(run):
    """Looks at everything without doing anything more."""
    Round(run, run.workload.rng).verify()


def test_rounds_end_with_nothing_to_complain_about(run):
    last_look(run)
    run.finish()
    assert (run.lost, run.duplicated) == (0, 0) and run.acked > 0


def test_a_data_file_that_is_gone_is_noticed(run):
    table = living_table(run)
    (lost, *_) = (run.lake.data_dir / "warehouse" / run.tables[table] / "data").glob("*.parquet")
    lost.unlink()
    with pytest.raises(Violation):
        last_look(run)


def test_the_same_rows_under_another_id_are_noticed(run):
    one = acked(run, living_table(run))
    secretly(run, *one.arguments[:-1], uuid7())
    with pytest.raises(Violation, match=f"append {one.number} .* has {2 * one.rows} of {one.rows} rows"):
        last_look(run)
    assert run.duplicated == 1


def test_an_acknowledgement_that_nothing_was_done_for_is_noticed(run):
    one = run.workload.append(living_table(run))
    one.state = State.ACKED
    with pytest.raises(Violation, match="was acknowledged and is nowhere"):
        last_look(run)
    assert run.lost == 1


def test_a_failure_that_took_place_is_noticed(run):
    one = run.workload.append(living_table(run))
    secretly(run, *one.arguments)
    one.state = State.FAILED
    with pytest.raises(Violation, match="reported failed and is visible"):
        last_look(run)


def test_a_row_that_was_changed_is_noticed(run):
    one = run.workload.append(living_table(run), rows=1)
    path = run.lake.folder / "changed.csv"
    path.write_text(f"id,op,payload\n{one.first},{one.number},other\n", encoding="utf-8")
    secretly(run, "append", one.name, path, "--json")
    one.state = State.ACKED
    with pytest.raises(Violation, match="good=0"):
        last_look(run)


def test_a_table_that_was_dropped_by_nobody_is_noticed(run):
    table = living_table(run)
    secretly(run, "table", "drop", table, "--json")
    with pytest.raises(Violation, match="never dropped"):
        last_look(run)


def test_rows_of_a_dropped_table_are_not_forgotten(run):
    table = living_table(run)
    final = Round(run, run.workload.rng)
    final.attempt(run.workload.drop(table))
    final.verify()
    uuid = next(uuid for uuid, (_, known) in run.graves.items() if known.seen)
    for file in (run.lake.data_dir / "warehouse" / uuid / "data").glob("*.parquet"):
        file.unlink()
    with pytest.raises(Violation, match=f"dropped table {uuid}"):
        run.finish()


def test_an_operation_that_stays_pending_is_noticed(run):
    one = run.workload.append(living_table(run))
    run.lake.run(*one.arguments, fate=Fate(failpoint="after-reserve", action="exit"))
    one.state = State.UNKNOWN
    with pytest.raises(Violation, match="pending"):
        last_look(run)


def test_an_epoch_that_goes_back_is_noticed(run):
    run.epoch += 1000
    with pytest.raises(Violation, match="epoch went back"):
        last_look(run)


def test_the_program_lists_the_failpoints_that_are_covered():
    assert failpoints.uncovered(failpoints.names_in(BINARY)) == []
