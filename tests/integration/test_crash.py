"""A writer that dies anywhere, and the same operation again: exactly once."""

import os
import re
import resource
import signal
import time

import pytest
from conftest import AT_FAILPOINT, CONFLICT, DONE, FAILED, UNKNOWN, uuid7

# Every place at which an append can be stopped, in the order in which it gets there.
APPEND_FAILPOINTS = ["during-stage", "after-stage", "before-reserve", "after-reserve", "after-engine-commit", "before-publish", "after-publish"]
# The places of a change that stages nothing.
CREATE_FAILPOINTS = [name for name in APPEND_FAILPOINTS if "stage" not in name]


def assert_exactly_once(lake, arguments, rows):
    """Repeats an operation and checks that it is done once."""
    again = lake.run(*arguments)
    assert again.returncode == DONE, again.stderr
    assert lake.count("s.orders") == rows
    assert "already done" in lake.must(*arguments)
    assert lake.count("s.orders") == rows
    assert lake.status()["pending"] == []
    lake.must("check")
    history = lake.must_json("table", "history", "s.orders", "--json")
    operation = arguments[arguments.index("--operation-id") + 1]
    assert [operation in entry["operations"] for entry in history].count(True) == 1


def kill_when_stopped(process):
    """Waits until a process stops itself at its failpoint, and kills it."""
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), f"it ended instead: {status}\n{process.stderr.read()}"
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL


@pytest.mark.parametrize("failpoint", APPEND_FAILPOINTS)
def test_an_append_that_exits_is_done_once(orders, failpoint):
    arguments = ["append", "s.orders", "orders.csv", "--operation-id", uuid7()]
    orders.must("append", "s.orders", "orders.csv")
    assert orders.run(*arguments, failpoints=f"{failpoint}=exit").returncode == AT_FAILPOINT
    assert_exactly_once(orders, arguments, 6)


@pytest.mark.parametrize("failpoint", APPEND_FAILPOINTS)
def test_an_append_that_is_killed_while_stopped_is_done_once(orders, failpoint):
    arguments = ["append", "s.orders", "orders.csv", "--operation-id", uuid7()]
    kill_when_stopped(orders.start(*arguments, failpoints=f"{failpoint}=pause"))
    assert_exactly_once(orders, arguments, 3)


@pytest.mark.parametrize("failpoint", APPEND_FAILPOINTS)
def test_an_append_that_fails_tells_the_truth_and_is_done_once(orders, failpoint):
    arguments = ["append", "s.orders", "orders.csv", "--operation-id", uuid7()]
    ended = orders.run(*arguments, failpoints=f"{failpoint}=error")
    assert ended.returncode in (FAILED, UNKNOWN), ended.stderr
    assert ended.stderr.startswith("lake: ")
    if ended.returncode == UNKNOWN:
        assert arguments[-1] in ended.stderr
    else:
        # What is reported as failed is not visible, and leaves no data files.
        assert orders.count("s.orders") == 0
        assert list(orders.data_dir.rglob("*.parquet")) == []
    assert_exactly_once(orders, arguments, 3)


def test_a_killed_writer_leaves_a_pending_record_that_does_not_block_others(orders):
    operation = uuid7()
    arguments = ["append", "s.orders", "orders.csv", "--operation-id", operation]
    kill_when_stopped(orders.start(*arguments, failpoints="after-engine-commit=pause"))
    (pending,) = orders.status()["pending"]
    assert pending["operation"] == operation and pending["kind"] == "append" and pending["tables"] == ["s.orders"]
    assert operation in orders.must("status")
    # Somebody else's append settles it first: its files were complete, so it took place.
    orders.must("append", "s.orders", "orders.csv")
    assert orders.status()["pending"] == []
    assert orders.count("s.orders") == 6
    assert "already done" in orders.must(*arguments)
    assert orders.count("s.orders") == 6


@pytest.mark.parametrize("first", ["after-reserve", "after-engine-commit"])
def test_a_settler_that_dies_is_followed_by_another(orders, first):
    arguments = ["append", "s.orders", "orders.csv", "--operation-id", uuid7()]
    assert orders.run(*arguments, failpoints=f"{first}=exit").returncode == AT_FAILPOINT
    for action in ("exit", "exit"):
        assert orders.run(*arguments, failpoints=f"before-settle={action}").returncode == AT_FAILPOINT
    kill_when_stopped(orders.start(*arguments, failpoints="before-settle=pause"))
    assert_exactly_once(orders, arguments, 3)


def test_a_writer_can_die_again_and_again(orders):
    arguments = ["append", "s.orders", "orders.csv", "--operation-id", uuid7()]
    for failpoint in APPEND_FAILPOINTS:
        ended = orders.run(*arguments, failpoints=f"{failpoint}=exit")
        assert ended.returncode in (AT_FAILPOINT, DONE), ended.stderr
    assert_exactly_once(orders, arguments, 3)


@pytest.mark.parametrize("failpoint", CREATE_FAILPOINTS)
def test_a_table_creation_that_dies_is_done_once(lake, failpoint):
    arguments = ["table", "create", "s.t", "--column", "a int", "--operation-id", uuid7()]
    assert lake.run(*arguments, failpoints=f"{failpoint}=exit").returncode == AT_FAILPOINT
    lake.must(*arguments)
    lake.must(*arguments)
    assert lake.must("table", "list") == "s.t\n"
    assert lake.status()["pending"] == []
    lake.must_fail(CONFLICT, "table", "create", "s.t", "--column", "a int")


@pytest.mark.parametrize("hit", [1, 2], ids=["of-the-creation", "of-the-append"])
@pytest.mark.parametrize("failpoint", CREATE_FAILPOINTS)
def test_an_append_that_makes_its_table_and_dies_is_done_once(lake, failpoint, hit):
    lake.write("orders.csv", "id,name\n1,a\n2,b\n")
    arguments = ["append", "s.orders", "orders.csv", "--create", "--operation-id", uuid7()]
    assert lake.run(*arguments, failpoints=f"{failpoint}=exit@{hit}").returncode == AT_FAILPOINT
    assert_exactly_once(lake, arguments, 2)


@pytest.mark.parametrize("hit", [1, 2], ids=["of-the-creation", "of-the-append"])
@pytest.mark.parametrize("failpoint", CREATE_FAILPOINTS)
def test_an_append_that_makes_its_table_and_fails_tells_the_truth(lake, failpoint, hit):
    lake.write("orders.csv", "id,name\n1,a\n2,b\n")
    arguments = ["append", "s.orders", "orders.csv", "--create", "--operation-id", uuid7()]
    ended = lake.run(*arguments, failpoints=f"{failpoint}=error@{hit}")
    assert ended.returncode in (FAILED, UNKNOWN), ended.stderr
    tables = lake.must("table", "list")
    if ended.returncode == UNKNOWN:
        assert set(re.findall(r"[0-9a-f]{8}-[0-9a-f-]{27}", ended.stderr)) == {arguments[-1]}
    elif hit == 1:
        assert tables == "", ended.stderr
    else:
        assert tables == "s.orders\n" and "s.orders was made, and is empty" in ended.stderr
        assert lake.count("s.orders") == 0
    assert_exactly_once(lake, arguments, 2)


def test_a_creation_that_died_is_there_for_the_next_command(lake):
    lake.write("orders.csv", "id,name\n1,a\n2,b\n")
    create = ["table", "create", "s.orders", "--column", "id int", "--column", "name string"]
    assert lake.run(*create, failpoints="after-engine-commit=exit").returncode == AT_FAILPOINT
    lake.must("append", "s.orders", "orders.csv")
    assert lake.count("s.orders") == 2


def test_every_writer_has_an_epoch_of_its_own(orders):
    epochs = []
    for _ in range(3):
        epochs.append(orders.must_json("append", "s.orders", "orders.csv", "--json")["epoch"])
    orders.run("append", "s.orders", "orders.csv", failpoints="after-reserve=exit")
    epochs.append(orders.must_json("append", "s.orders", "orders.csv", "--json")["epoch"])
    assert epochs == sorted(set(epochs))
    assert epochs[3] == epochs[2] + 2


def test_a_log_that_cannot_be_written_ends_the_command_at_once(orders):
    """A metastore whose log fails answers that the outcome is unknown, and the directory is as good as after a kill."""
    name = "n" + uuid7().replace("-", "")
    arguments = ["namespace", "create", name, "--property", f"k={'v' * 6000}", "--operation-id", uuid7()]

    def no_file_beyond_a_page():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    started = time.monotonic()
    ended = orders.run(*arguments, preexec_fn=no_file_beyond_a_page)
    assert ended.returncode == UNKNOWN, ended.stderr
    assert time.monotonic() - started < 8, "it gives up long before the lease's own deadlines"
    assert "log of the metastore has failed" in ended.stderr and arguments[-1] in ended.stderr
    orders.must(*arguments)
    assert name in orders.must("namespace", "list")
