"""Bad input gets a clear error and its exit code, and changes nothing."""

import os
import shutil

import pytest
from conftest import CONFLICT, FAILED, USAGE, Lake, uuid7


def assert_unchanged(lake, action):
    """Runs `action`, and checks that no table, version, reservation or data file is there that was not there before."""

    def state():
        tables = lake.must_json("table", "list", "--json")
        return (
            lake.must_json("namespace", "list", "--json"),
            [lake.must_json("table", "show", table, "--json") for table in tables],
            lake.status()["pending"],
            sorted(lake.data_dir.rglob("*.parquet")),
        )

    before = state()
    result = action()
    assert state() == before
    return result


def test_an_unknown_column_type_is_named_with_those_there_are(lake):
    message = assert_unchanged(lake, lambda: lake.must_fail(USAGE, "table", "create", "s.t", "--column", "a jsonb"))
    assert "a jsonb" in message and "'jsonb'" in message and "timestamptz" in message and "map<" in message
    message = lake.must_fail(USAGE, "table", "create", "s.t", "--column", "a bigint")
    assert "called long" in message


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a..b", ".a", "a.", 'a."b', "a\nb", "a\x1bb", "a\x7fb", "a." + "x" * 256, '""', '"."', '".."'],
)
def test_a_bad_namespace_name_is_refused(lake, name):
    message = assert_unchanged(lake, lambda: lake.must_fail(USAGE, "namespace", "create", name))
    assert "\x1b" not in message


@pytest.mark.parametrize("name", ["orders", "s.", "s..t", 's."', "s.\x01", "s." + "ö" * 128])
def test_a_bad_table_name_is_refused(lake, name):
    lake.must_fail(USAGE, "table", "create", name, "--column", "a int")
    assert lake.must("table", "list") == ""


@pytest.mark.parametrize("name", ["a b", "/", "%", "ü" * 127, "x" * 255, "'; drop", '"a.b"', '"say ""hi"""', "名前"])
def test_an_unusual_name_is_taken(lake, name):
    lake.must("namespace", "create", name)
    (listed,) = [found for found in lake.must_json("namespace", "list", "--json") if found != "s"]
    # What is listed names the same namespace.
    assert lake.must_json("namespace", "show", listed, "--json")["namespace"] == listed
    lake.must_fail(CONFLICT, "namespace", "create", name)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("a,b\n1,2\n3\n", "line 3"),
        ("a,b\n1,2\n3,4,5\n", "line 3"),
        ('a,b\n"x,2\n3,4\n', "line 2"),
        ("a;b\n1;2\n3\n", "line 3"),
        ("a,b,a\n1,2,3\n", "the same name"),
        ("a,,c\n1,2,3\n", "no name"),
    ],
)
def test_a_csv_that_is_no_table_makes_none(lake, content, says):
    lake.write("ragged.csv", content)
    message = assert_unchanged(lake, lambda: lake.must_fail(FAILED, "append", "s.t", "ragged.csv", "--create"))
    assert "ragged.csv" in message and says in message
    assert_unchanged(lake, lambda: lake.must_fail(FAILED, "table", "create", "s.t", "--like", "ragged.csv"))


def test_a_failed_append_leaves_no_table_that_it_would_have_made(lake):
    lake.write("good.csv", "a,b\n1,2\n")
    lake.write("bad.csv", "a,b\n1,x\n")
    message = assert_unchanged(lake, lambda: lake.must_fail(FAILED, "append", "s.t", "good.csv", "bad.csv", "--create"))
    assert "bad.csv" in message and "column b" in message
    lake.must("append", "s.t", "good.csv", "--create")
    assert lake.count("s.t") == 1


def test_a_csv_whose_columns_do_not_match_says_which(orders):
    orders.write("bad.csv", "id,nmae,price\n1,x,2\n")
    message = assert_unchanged(orders, lambda: orders.must_fail(FAILED, "append", "s.orders", "bad.csv"))
    assert "bad.csv" in message and "nmae" in message


def test_a_csv_without_a_required_column_says_which(orders):
    orders.write("bad.csv", "name,price\nx,2\n")
    message = assert_unchanged(orders, lambda: orders.must_fail(FAILED, "append", "s.orders", "bad.csv"))
    assert "bad.csv" in message and "id" in message


def test_a_truncated_parquet_file_is_named(orders):
    orders.must("append", "s.orders", "orders.csv")
    orders.must("sql", "select * from s.orders", "--output", "parquet", "whole.parquet")
    whole = (orders.folder / "whole.parquet").read_bytes()
    for length in (0, 3, len(whole) // 2, len(whole) - 1):
        (orders.folder / "cut.parquet").write_bytes(whole[:length])
        message = assert_unchanged(orders, lambda: orders.must_fail(FAILED, "append", "s.orders", "cut.parquet"))
        assert "cut.parquet" in message, length


@pytest.mark.parametrize(
    ("row", "column"), [("abc,x,1", "id"), ("9223372036854775808,x,1", "id"), ("1,x,12345678.00", "price"), ("1,x,cheap", "price")],
)
def test_a_value_that_does_not_fit_is_refused(orders, row, column):
    orders.write("bad.csv", f"id,name,price\n{row}\n")
    message = assert_unchanged(orders, lambda: orders.must_fail(FAILED, "append", "s.orders", "bad.csv"))
    assert "bad.csv" in message and column in message


def test_a_null_in_a_required_column_is_refused(orders):
    orders.write("bad.csv", "id,name,price\n1,a,1\n,b,2\n")
    message = assert_unchanged(orders, lambda: orders.must_fail(FAILED, "append", "s.orders", "bad.csv"))
    assert "bad.csv" in message and "id" in message
    orders.write("bad.json", '[{"id": null, "name": "x"}]')
    message = assert_unchanged(orders, lambda: orders.must_fail(FAILED, "append", "s.orders", "bad.json"))
    assert "bad.json" in message and "id" in message


def test_one_missing_file_among_several_appends_nothing(orders):
    message = assert_unchanged(orders, lambda: orders.must_fail(FAILED, "append", "s.orders", "orders.csv", "gone.csv"))
    assert "gone.csv" in message
    assert orders.count("s.orders") == 0


def test_one_damaged_file_among_several_appends_nothing(orders):
    orders.write("bad.json", "{")
    message = assert_unchanged(orders, lambda: orders.must_fail(FAILED, "append", "s.orders", "orders.csv", "bad.json"))
    assert "bad.json" in message


def test_an_unknown_table_in_sql_suggests_near_names(orders):
    message = orders.must_fail(FAILED, "sql", "select * from s.order")
    assert "s.orders" in message or "orders" in message.split("order", 1)[1]
    message = orders.must_fail(FAILED, "sql", "select prise from s.orders")
    assert "price" in message


def test_standard_input_is_called_that_in_messages(orders):
    message = orders.must_fail(FAILED, "append", "s.orders", "-", "--format", "csv", stdin="id,nmae\n1,x\n")
    assert "standard input" in message and "/tmp" not in message


@pytest.mark.parametrize("operation", ["17", "0190c7b0-0000-4000-8000-000000000001", "0190c7b0-0000-7000-8000-00000000000"])
def test_an_operation_id_that_is_no_uuidv7_is_refused(orders, operation):
    message = assert_unchanged(
        orders, lambda: orders.must_fail(USAGE, "append", "s.orders", "orders.csv", "--operation-id", operation)
    )
    assert operation in message


@pytest.mark.parametrize("operation", ["0190c7b0-0000-7000-8000-000000000001", "0f90c7b0-0000-7000-8000-000000000001"])
def test_an_operation_id_too_old_or_from_the_future_is_refused(orders, operation):
    message = assert_unchanged(
        orders, lambda: orders.must_fail(FAILED, "append", "s.orders", "orders.csv", "--operation-id", operation)
    )
    assert operation in message


def test_an_operation_id_reused_for_something_else_is_refused(orders):
    operation = uuid7()
    orders.must("append", "s.orders", "orders.csv", "--operation-id", operation)
    orders.must("table", "create", "s.other", "--like", "orders.csv")
    orders.write("different.csv", "id\n99\n")
    for arguments in (
        ["append", "s.other", "orders.csv"],
        ["append", "s.orders", "different.csv"],
        ["append", "s.orders", "orders.csv", "orders.csv"],
        ["table", "create", "s.new", "--column", "a int"],
        ["table", "drop", "s.other"],
        ["namespace", "create", "new"],
    ):
        message = assert_unchanged(orders, lambda: orders.must_fail(FAILED, *arguments, "--operation-id", operation))  # noqa: B023
        assert operation in message, arguments


def test_a_directory_that_is_not_ours_is_left_alone(tmp_path):
    lake = Lake(tmp_path)
    lake.data_dir.mkdir()
    (lake.data_dir / "thesis.txt").write_text("mine", encoding="utf-8")
    for arguments in (["namespace", "create", "s"], ["status"], ["sql", "select 1"]):
        message = lake.must_fail(FAILED, *arguments)
        assert str(lake.data_dir) in message and "next: " in message
    assert [entry.name for entry in lake.data_dir.iterdir()] == ["thesis.txt"]


def test_a_file_in_place_of_the_directory_is_left_alone(tmp_path):
    lake = Lake(tmp_path)
    lake.data_dir.write_text("mine", encoding="utf-8")
    for arguments in (["namespace", "create", "s"], ["status"]):
        assert str(lake.data_dir) in lake.must_fail(FAILED, *arguments)
    assert lake.data_dir.read_text(encoding="utf-8") == "mine"


def test_an_empty_directory_becomes_ours(tmp_path):
    lake = Lake(tmp_path)
    lake.data_dir.mkdir()
    lake.must("namespace", "create", "s")
    assert lake.must("namespace", "list") == "s\n"


def test_a_directory_of_a_newer_format_is_refused(lake):
    (lake.data_dir / "FORMAT").write_text("lake 2\n", encoding="utf-8")
    for arguments in (["namespace", "create", "t"], ["status"], ["sql", "select 1"]):
        message = lake.must_fail(FAILED, *arguments)
        assert "newer" in message and str(lake.data_dir) in message


def test_a_copied_directory_is_read_and_never_written(orders):
    orders.must("append", "s.orders", "orders.csv")
    copy = orders.folder / "copy"
    shutil.copytree(orders.data_dir, copy)
    before = sorted(orders.data_dir.rglob("*.parquet"))
    for arguments in (["append", "s.orders", "orders.csv"], ["namespace", "create", "t"], ["table", "drop", "s.orders"]):
        message = orders.must_fail(CONFLICT, "--data-dir", str(copy), *arguments)
        assert str(copy) in message and str(orders.data_dir) in message
    assert sorted(orders.data_dir.rglob("*.parquet")) == before
    assert "s.orders" in orders.must("--data-dir", str(copy), "table", "list")
    assert orders.count("s.orders") == 3


def test_a_directory_that_cannot_be_written_is_refused(lake):
    # Root may write anything, so the command runs as somebody else then.
    other = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    for parent in (lake.folder, *list(lake.folder.parents)[:2]):
        os.chmod(parent, 0o755)
    os.chmod(lake.data_dir, 0o555)
    try:
        message = lake.must_fail(FAILED, "namespace", "create", "t", **other)
        assert str(lake.data_dir) in message and "ermission" in message
    finally:
        os.chmod(lake.data_dir, 0o755)
    assert lake.must("namespace", "list") == "s\n"


def damage(path, how):
    data = path.read_bytes()
    path.chmod(0o644)
    if how == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif how == "garbage":
        path.write_bytes(b"\x00\xff" * 100)
    else:
        path.unlink()


@pytest.mark.parametrize("how", ["cut", "garbage", "gone"])
def test_a_damaged_metadata_file_hurts_only_its_table(orders, how):
    orders.must("append", "s.orders", "orders.csv")
    orders.must("append", "s.healthy", "orders.csv", "--create")
    location = orders.must_json("table", "show", "s.orders", "--json")["metadata_location"]
    damage(orders.data_dir / location[location.index("warehouse/") :], how)
    for arguments in (
        ["table", "show", "s.orders"],
        ["table", "history", "s.orders"],
        ["append", "s.orders", "orders.csv"],
        ["sql", "select count(*) from s.orders"],
        ["check", "s.orders"],
    ):
        message = orders.must_fail(FAILED, *arguments)
        assert "s.orders" in message or location in message or "1 of 1 table damaged" in message, arguments
    assert orders.count("s.healthy") == 3
    orders.must("append", "s.healthy", "orders.csv")
    assert orders.count("s.healthy") == 6
    ended = orders.run("check")
    assert ended.returncode == FAILED
    assert "damaged  s.orders" in ended.stdout and "ok       s.healthy" in ended.stdout
    # Names are listed all the same, and the table can be dropped.
    assert orders.must("table", "list").splitlines() == ["s.healthy", "s.orders"]
    assert {row["name"] for row in orders.sql("show tables from lake.s")} >= {"healthy"}
    orders.must("table", "drop", "s.orders")
    assert orders.must("table", "list").splitlines() == ["s.healthy"]


def test_a_wrong_failpoint_is_a_usage_error(lake):
    for text in ("nowhere=exit", "after-stage", "after-stage=explode", "after-stage=exit@0"):
        assert "LAKE_FAILPOINTS" in lake.must_fail(USAGE, "status", failpoints=text)


def test_a_full_disk_fails_clearly_and_loses_nothing(orders):
    orders.must("append", "s.orders", "orders.csv")
    # A result that cannot be written is a failure, not a success.
    with open("/dev/full", "w", encoding="utf-8") as full:
        ended = __import__("subprocess").run(
            orders.command(["sql", "from s.orders"]), stdout=full, stderr=-1, text=True, env=orders.environment(), check=False
        )
    assert ended.returncode == FAILED and "standard output" in ended.stderr
    assert shutil.disk_usage(orders.folder).free > 0
