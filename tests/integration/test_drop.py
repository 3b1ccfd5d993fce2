"""Dropping, purging and bringing back, by the real program."""

import json
import os
import pathlib
import signal

import pytest
from conftest import AT_FAILPOINT, CONFLICT, DONE, FAILED, UNKNOWN, tree, uuid7

# Where a drop with purge can be stopped, in the order in which it gets there.
BEFORE_THE_DROP = ["before-drop"]
AFTER_THE_DROP = ["after-drop", "before-purge-page", "before-purge-page@2", "before-purge-page@5", "before-purge-end"]


@pytest.fixture
def filled(orders):
    """`s.orders` with two versions that have rows, and a neighbour `s.orders2`."""
    orders.must("append", "s.orders", "orders.csv")
    orders.must("append", "s.orders", "orders.csv")
    orders.must("append", "s.orders2", "orders.csv", "--create")
    return orders


def shown(lake, table="s.orders"):
    return lake.must_json("table", "show", table, "--json")


def files_below(location):
    return [path for path in pathlib.Path(location).rglob("*") if path.is_file()]


def kill_when_stopped(process):
    """Waits until a process stops itself at its failpoint, and kills it."""
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), f"it ended instead: {status}\n{process.stderr.read()}"
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()


def with_action(failpoint, action):
    name, at, count = failpoint.partition("@")
    return f"{name}={action}{at}{count}"


def assert_purged(lake, location):
    """The next command that changes something has ended the purge, and the neighbour is whole."""
    lake.must("namespace", "create", "later")
    assert files_below(location) == []
    assert lake.must_json("table", "list", "--dropped", "--json") == []
    assert lake.must("table", "list") == "s.orders2\n"
    assert lake.count("s.orders2") == 3
    lake.must("check")


def test_a_purge_leaves_no_file_and_no_record(filled):
    location = shown(filled)["location"]
    assert files_below(location)
    answer = filled.must("table", "drop", "s.orders", "--purge")
    assert answer.startswith("dropped table=s.orders ") and "undrop" not in answer
    assert files_below(location) == []
    assert filled.must_json("table", "list", "--dropped", "--json") == []
    assert filled.count("s.orders2") == 3
    filled.must_fail(FAILED, "table", "undrop", "s.orders")


def test_a_drop_without_the_flag_keeps_every_file(filled):
    location = shown(filled)["location"]
    before = tree(pathlib.Path(location))
    assert filled.must_json("table", "drop", "s.orders", "--json")["purged"] is False
    assert tree(pathlib.Path(location)) == before


@pytest.mark.parametrize("action", ["exit", "error"])
@pytest.mark.parametrize("failpoint", BEFORE_THE_DROP)
def test_a_purge_whose_drop_was_not_committed_deletes_nothing(filled, failpoint, action):
    before = tree(filled.data_dir / "warehouse")
    ended = filled.run("table", "drop", "s.orders", "--purge", failpoints=f"{failpoint}={action}")
    assert ended.returncode == (AT_FAILPOINT if action == "exit" else FAILED), ended.stderr
    filled.must("namespace", "create", "later")
    assert tree(filled.data_dir / "warehouse") == before
    assert filled.count("s.orders") == 6
    filled.must("check")


@pytest.mark.parametrize("failpoint", AFTER_THE_DROP)
def test_a_purge_that_exits_is_ended_by_the_next_command(filled, failpoint):
    location = shown(filled)["location"]
    ended = filled.run("table", "drop", "s.orders", "--purge", failpoints=with_action(failpoint, "exit"))
    assert ended.returncode == AT_FAILPOINT, ended.stderr
    [dropped] = filled.must_json("table", "list", "--dropped", "--json")
    assert dropped["state"] == "purging" and dropped["kept_until"] is None
    assert_purged(filled, location)


@pytest.mark.parametrize("failpoint", AFTER_THE_DROP)
def test_a_purge_that_is_killed_while_stopped_is_ended_by_the_next_command(filled, failpoint):
    location = shown(filled)["location"]
    kill_when_stopped(filled.start("table", "drop", "s.orders", "--purge", failpoints=with_action(failpoint, "pause")))
    filled.must_fail(FAILED, "table", "show", "s.orders")
    assert_purged(filled, location)


@pytest.mark.parametrize("failpoint", ["before-purge-page", "before-purge-page@3", "before-purge-end"])
def test_a_purge_that_fails_says_so_and_the_same_command_goes_on(filled, failpoint):
    location = shown(filled)["location"]
    arguments = ["table", "drop", "s.orders", "--purge", "--operation-id", uuid7()]
    ended = filled.run(*arguments, failpoints=with_action(failpoint, "error"))
    assert ended.returncode == UNKNOWN, ended.stderr
    assert "is dropped, but its files are not all removed" in ended.stderr and arguments[-1] in ended.stderr
    for _ in range(2):
        again = filled.run(*arguments)
        assert again.returncode == DONE, again.stderr
        assert files_below(location) == []
    assert_purged(filled, location)


def test_a_purge_cannot_touch_the_table_that_has_the_name_next(filled):
    location = shown(filled)["location"]
    kill_when_stopped(filled.start("table", "drop", "s.orders", "--purge", failpoints="before-purge-page=pause@3"))
    filled.must("append", "s.orders", "orders.csv", "--create")
    filled.must("namespace", "create", "later")
    assert files_below(location) == []
    assert filled.count("s.orders") == 3
    filled.must("check")


def test_an_undropped_table_has_its_rows_and_takes_more(filled):
    before = shown(filled)
    filled.must("table", "drop", "s.orders")
    [dropped] = filled.must_json("table", "list", "s", "--dropped", "--json")
    assert dropped["table"] == "s.orders" and dropped["uuid"] == before["uuid"] and dropped["state"] == "dropped"
    assert dropped["metadata_location"] == before["metadata_location"]
    assert dropped["uuid"] in filled.must("table", "list", "--dropped")
    answer = filled.must_json("table", "undrop", "s.orders", "--json")
    assert answer["table"] == "s.orders" and answer["uuid"] == before["uuid"]
    assert shown(filled)["metadata_location"] == before["metadata_location"]
    filled.must("append", "s.orders", "orders.csv")
    assert filled.count("s.orders") == 9
    assert filled.must_json("table", "list", "--dropped", "--json") == []


def test_an_undrop_is_refused_while_the_name_is_taken(filled):
    first = shown(filled)["uuid"]
    filled.must("table", "drop", "s.orders")
    filled.must("append", "s.orders", "orders.csv", "--create")
    assert "next: " in filled.must_fail(CONFLICT, "table", "undrop", "s.orders")
    second = shown(filled)["uuid"]
    filled.must("table", "drop", "s.orders")
    assert filled.must_json("table", "undrop", "s.orders", "--json")["uuid"] == second
    filled.must("table", "drop", "s.orders")
    assert filled.must_json("table", "undrop", "s.orders", "--incarnation", first, "--json")["uuid"] == first
    assert filled.count("s.orders") == 6
    assert "lake table list --dropped" in filled.must_fail(FAILED, "table", "undrop", "s.nothing")


def test_a_registered_table_is_purged_by_what_it_names(filled):
    # A table of another lake, registered here where it is.
    other = shown(filled, "s.orders2")
    filled.must("table", "drop", "s.orders2")
    elsewhere = type(filled)(filled.folder / "b")
    elsewhere.folder.mkdir()
    elsewhere.must("namespace", "create", "s")
    elsewhere.must("table", "register", "s.foreign", other["metadata_location"])
    stray = pathlib.Path(other["location"]) / "notes.txt"
    stray.write_text("not the table's")
    nested = pathlib.Path(other["location"]) / "nested" / "metadata"
    nested.mkdir(parents=True)
    metadata = json.loads(pathlib.Path(other["metadata_location"]).read_text())
    metadata["table-uuid"] = "00000000-0000-4000-8000-000000000000"
    metadata["location"] = str(nested.parent)
    (nested / "1.metadata.json").write_text(json.dumps(metadata))
    elsewhere.must_fail(CONFLICT, "table", "register", "s.nested", nested / "1.metadata.json")
    before = tree(pathlib.Path(other["location"]))
    arguments = ["table", "drop", "s.foreign", "--purge", "--operation-id", uuid7()]
    message = elsewhere.must_fail(UNKNOWN, *arguments)
    assert "nested/metadata/1.metadata.json" in message
    assert tree(pathlib.Path(other["location"])) == before
    (nested / "1.metadata.json").unlink()
    elsewhere.must(*arguments)
    assert files_below(other["location"]) == [stray]
    assert filled.count("s.orders") == 6
