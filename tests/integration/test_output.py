"""Where output goes when it cannot be written, and arguments that are no text."""

import os
import stat
import subprocess

import pytest
from conftest import CONFLICT, DONE, FAILED, TIMEOUT, UNKNOWN, USAGE, uuid7

READING = [
    ["namespace", "list"],
    ["table", "list"],
    ["table", "show", "s.orders"],
    ["table", "history", "s.orders"],
    ["sql", "from s.orders"],
    ["sql", "from s.orders", "--output", "csv"],
    ["sql", "from s.orders", "--output", "json"],
    ["status"],
    ["status", "--json"],
    ["check"],
    ["version"],
    ["--help"],
    ["append", "--help"],
]


def run_into(lake, output, *arguments):
    return subprocess.run(
        lake.command(arguments),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
        timeout=TIMEOUT,
        check=False,
        cwd=lake.folder,
        env=lake.environment(),
    )


@pytest.fixture
def full():
    with open("/dev/full", "w", encoding="utf-8") as file:
        yield file


@pytest.fixture
def closed_pipe():
    """The writing end of a pipe that nobody reads any more."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_a_result_that_cannot_be_written_is_a_failure(orders, full, arguments):
    ended = run_into(orders, full, *arguments)
    assert ended.returncode == FAILED
    assert ended.stderr.startswith("lake: standard output cannot be written: No space left on device"), ended.stderr


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_a_reader_that_is_gone_ends_a_reading_command_quietly(orders, closed_pipe, arguments):
    ended = run_into(orders, closed_pipe, *arguments)
    assert (ended.returncode, ended.stderr) == (FAILED, "")


def test_a_large_result_stops_when_its_reader_goes(lake):
    process = lake.start("sql", "select range from range(100000000000)", "--output", "csv")
    assert process.stdout.readline() == "range\n"
    process.stdout.close()
    assert process.wait(timeout=TIMEOUT) == FAILED
    assert process.stderr.read() == ""
    process.stderr.close()


@pytest.mark.parametrize("where", ["full", "closed_pipe"])
def test_a_change_whose_answer_cannot_be_written_is_not_reported_as_failed(orders, where, request):
    output = request.getfixturevalue(where)
    for number, arguments in enumerate(
        (
            ["append", "s.orders", "orders.csv"],
            ["append", "s.orders", "orders.csv", "--json"],
            ["table", "create", "s.t", "--column", "a int"],
            ["namespace", "create", "n"],
            ["namespace", "drop", "n"],
            ["table", "drop", "s.t"],
        )
    ):
        operation = uuid7()
        ended = run_into(orders, output, *arguments, "--operation-id", operation)
        assert ended.returncode == UNKNOWN, (number, ended.stderr)
        assert "the change was made" in ended.stderr and operation in ended.stderr
        # What the message advises.
        orders.must(*arguments, "--operation-id", operation)
    assert orders.count("s.orders") == 6
    assert orders.must("table", "list") == "s.orders\n"
    assert orders.must("namespace", "list") == "s\n"
    orders.must_fail(CONFLICT, "namespace", "create", "s")


def test_a_file_that_cannot_be_written_is_named(orders):
    for form in ("csv", "json", "table"):
        message = orders.must_fail(FAILED, "sql", "from s.orders", "--output", form, "--file", "/dev/full")
        assert "/dev/full" in message
        message = orders.must_fail(FAILED, "sql", "from s.orders", "--output", form, "--file", "gone/x")
        assert "gone/x" in message
    message = orders.must_fail(FAILED, "sql", "from s.orders", "--output", "parquet", "gone/x.parquet")
    assert "gone/x.parquet" in message
    message = orders.must_fail(FAILED, "sql", "from range(100000)", "--output", "parquet", "/dev/full")
    assert "/dev/full" in message
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode), "a device is never replaced by a file"


def test_a_failed_query_leaves_the_file_that_was_there(orders):
    orders.must("append", "s.orders", "orders.csv")
    for options in (("--output", "csv", "--file", "kept"), ("--output", "parquet", "kept")):
        (orders.folder / "kept").write_text("precious", encoding="utf-8")
        before = sorted(os.listdir(orders.folder))
        orders.must_fail(FAILED, "sql", "select error('boom') from s.orders", *options)
        assert (orders.folder / "kept").read_text(encoding="utf-8") == "precious"
        assert sorted(os.listdir(orders.folder)) == before
        orders.must("sql", "from s.orders", *options)
        assert (orders.folder / "kept").read_bytes() != b"precious"
        assert sorted(os.listdir(orders.folder)) == before


def test_nothing_is_written_below_the_data_directory(orders):
    for target in ("FORMAT", "metastore/CURRENT", "warehouse/x.csv"):
        path = os.path.join(orders.data_dir, target)
        for options in (("--output", "csv", "--file", path), ("--output", "parquet", path)):
            assert "data directory" in orders.must_fail(FAILED, "sql", "from s.orders", *options)
    orders.must("status")


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (USAGE, [b"namespace", b"create", b"\xff"]),
        (USAGE, [b"namespace", b"create", b"n", b"--property", b"k=\xff"]),
        (USAGE, [b"table", b"create", b"s.\xc3(", b"--column", b"a int"]),
        (USAGE, [b"table", b"create", b"s.t", b"--column", b"\xff int"]),
        (USAGE, [b"\xff"]),
        (USAGE, [b"status", b"--\xff"]),
        (FAILED, [b"--data-dir", b"\xff", b"namespace", b"create", b"s"]),
        (FAILED, [b"append", b"s.orders", b"\xff.csv"]),
        (FAILED, [b"table", b"create", b"s.t", b"--like", b"\xff.csv"]),
        (USAGE, [b"table", b"register", b"s.t", b"\xff.json"]),
        (USAGE, [b"sql", b"select '\xff'"]),
    ],
    ids=str,
)
def test_an_argument_that_is_no_text_is_refused_with_a_readable_message(orders, code, arguments):
    before = sorted(entry.name for entry in os.scandir(os.fsencode(orders.folder)))
    ended = subprocess.run(
        [os.fsencode(orders.command([])[0]), *arguments],
        capture_output=True,
        timeout=TIMEOUT,
        check=False,
        cwd=orders.folder,
        env=orders.environment(),
    )
    assert ended.returncode == code, ended.stderr
    assert ended.stdout == b""
    message = ended.stderr.decode("utf-8")
    assert message.startswith("lake: ")
    assert sorted(entry.name for entry in os.scandir(os.fsencode(orders.folder))) == before
    assert orders.must("table", "list") == "s.orders\n" and orders.must("namespace", "list") == "s\n"


def test_an_input_whose_name_is_not_utf8_is_refused(orders):
    path = os.fsencode(orders.folder) + b"/\xff.csv"
    with open(path, "wb") as file:
        file.write(b"id\n1\n")
    ended = subprocess.run(
        [os.fsencode(orders.command([])[0]), b"append", b"s.orders", path],
        capture_output=True, timeout=TIMEOUT, check=False, cwd=orders.folder, env=orders.environment(),
    )
    assert ended.returncode == FAILED, ended.stderr
    assert b"not valid UTF-8" in ended.stderr
    assert orders.count("s.orders") == 0


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_a_standard_stream_that_is_closed_is_nobody_elses_file(orders, closed):
    orders.must("append", "s.orders", "orders.csv")

    def close_them():
        for stream in closed:
            os.close(stream)

    for arguments in (["sql", "from s.orders"], ["sql", "from s.orders", "--output", "json"], ["status"], ["nonsense"]):
        ended = subprocess.run(
            orders.command(arguments), cwd=orders.folder, env=orders.environment(), timeout=TIMEOUT, check=False, preexec_fn=close_them
        )
        if 1 in closed:
            assert ended.returncode != DONE, arguments
    assert orders.count("s.orders") == 3
    orders.must("check")
