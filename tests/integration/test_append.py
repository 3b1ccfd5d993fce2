"""Appends from every kind of input, and the same operation again."""

import json
import subprocess

import pytest
from conftest import DONE, FAILED, ORDERS_CSV, USAGE, uuid7


def test_csv_rows_match_columns_by_name(orders):
    orders.write("mixed.csv", "price,id\n9.99,7\n")
    answer = orders.must_json("append", "s.orders", "mixed.csv", "--json")
    assert answer["rows"] == 1 and answer["files"] == 1 and answer["replayed"] is False
    assert orders.sql("select id, name, price from s.orders") == [{"id": 7, "name": None, "price": 9.99}]


def test_json_rows_match_columns_by_name(orders):
    orders.write("rows.json", '[{"id": 1, "name": "a"}, {"price": 2.5, "id": 2}]')
    orders.write("rows.ndjson", '{"id": 3}\n{"id": 4}\n')
    assert orders.must_json("append", "s.orders", "rows.json", "rows.ndjson", "--json")["rows"] == 4
    assert orders.sql("select id from s.orders order by id") == [{"id": n} for n in (1, 2, 3, 4)]


def test_a_query_result_goes_back_in_as_parquet(orders):
    orders.must("append", "s.orders", "orders.csv")
    orders.must("sql", "select * from s.orders", "--output", "parquet", "copy.parquet")
    assert orders.must_json("append", "s.orders", "copy.parquet", "--json")["rows"] == 3
    assert orders.count("s.orders") == 6


def test_standard_input_is_read_with_a_format(orders):
    orders.must("append", "s.orders", "-", "--format", "csv", stdin=ORDERS_CSV)
    assert orders.count("s.orders") == 3
    assert "--format" in orders.must_fail(USAGE, "append", "s.orders", "-", stdin=ORDERS_CSV)


def test_several_files_become_one_version(orders):
    orders.write("more.csv", "id\n10\n")
    assert orders.must_json("append", "s.orders", "orders.csv", "more.csv", "--json")["rows"] == 4
    assert len(orders.must_json("table", "history", "s.orders", "--json")) == 1


def test_create_makes_the_table_once(lake):
    lake.write("x.csv", "a,b\n1,x\n")
    assert "--create" in lake.must_fail(FAILED, "append", "s.t", "x.csv")
    lake.must("append", "s.t", "x.csv", "--create")
    lake.must("append", "s.t", "x.csv", "--create")
    assert lake.count("s.t") == 2
    assert "namespace create gone" in lake.must_fail(FAILED, "append", "gone.t", "x.csv", "--create")


def test_the_same_operation_again_is_answered_from_its_record(orders):
    operation = uuid7()
    first = orders.must_json("append", "s.orders", "orders.csv", "--operation-id", operation, "--json")
    files = sorted(orders.data_dir.rglob("*.parquet"))
    again = orders.must_json("append", "s.orders", "orders.csv", "--operation-id", operation, "--json")
    assert again["replayed"] is True
    assert (again["snapshot"], again["epoch"]) == (first["snapshot"], first["epoch"])
    assert "already done" in orders.must("append", "s.orders", "orders.csv", "--operation-id", operation)
    assert sorted(orders.data_dir.rglob("*.parquet")) == files
    assert orders.count("s.orders") == 3


def test_the_same_bytes_under_another_path_are_the_same_operation(orders):
    operation = uuid7()
    orders.must("append", "s.orders", "orders.csv", "--operation-id", operation)
    orders.write("copy.csv", ORDERS_CSV)
    assert "already done" in orders.must("append", "s.orders", "copy.csv", "--operation-id", operation)
    assert "already done" in orders.must("append", "s.orders", "-", "--format", "csv", "--operation-id", operation, stdin=ORDERS_CSV)


def test_changes_of_metadata_are_operations_too(lake):
    operation = uuid7()
    for _ in range(2):
        lake.must("table", "create", "s.t", "--column", "a int", "--operation-id", operation)
    drop = uuid7()
    for _ in range(2):
        lake.must("table", "drop", "s.t", "--operation-id", drop)
    create = uuid7()
    for _ in range(2):
        lake.must("namespace", "create", "n", "--operation-id", create)


def test_many_processes_append_at_once(orders):
    writers = [orders.start("append", "s.orders", "orders.csv", "--wait", "100") for _ in range(6)]
    for writer in writers:
        output, errors = writer.communicate(timeout=100)
        assert writer.returncode == DONE, output + errors
    assert orders.count("s.orders") == 18
    assert len(orders.must_json("table", "history", "s.orders", "--json")) == 6


def test_a_pipe_is_an_input(orders):
    reader = subprocess.run(
        ["bash", "-c", '"$LAKE" append s.orders <(cat orders.csv) --format csv --json'],
        env=orders.environment(LAKE=orders.command([])[0]),
        cwd=orders.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert reader.returncode == DONE, reader.stderr
    assert json.loads(reader.stdout)["rows"] == 3


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_an_append_without_rows_is_recorded_and_makes_no_version(orders, kind):
    if kind == "parquet":
        orders.must("sql", "select * from s.orders", "--output", "parquet", "none.parquet")
    else:
        orders.write(f"none.{kind}", "id,name,price\n" if kind == "csv" else "[]")
    operation = uuid7()
    before = orders.must_json("table", "show", "s.orders", "--json")
    line = orders.must("append", "s.orders", f"none.{kind}", "--operation-id", operation)
    assert line.startswith("appended rows=0 files=0 table=s.orders snapshot=none ")
    assert orders.must_json("table", "show", "s.orders", "--json") == before
    assert orders.must("append", "s.orders", f"none.{kind}", "--operation-id", operation).startswith("already done")


def test_a_null_struct_has_no_required_fields(lake):
    lake.must("table", "create", "s.n", "--column", "id long required", "--column", "p struct<x long required, y string>")
    lake.write("rows.json", '{"id": 1, "p": null}\n{"id": 2, "p": {"x": 7, "y": null}}\n')
    lake.must("append", "s.n", "rows.json")
    lake.must("sql", "from s.n", "--output", "parquet", "rows.parquet")
    lake.must("append", "s.n", "rows.parquet")
    rows = lake.sql("select id, p is null as missing, p.x as x from s.n order by all")
    assert rows == [{"id": 1, "missing": True, "x": None}] * 2 + [{"id": 2, "missing": False, "x": 7}] * 2
    lake.write("bad.json", '{"id": 3, "p": {"y": "no x"}}\n')
    assert "column p: a required field" in lake.must_fail(FAILED, "append", "s.n", "bad.json")
    lake.must("check")


def test_reading_commands_can_be_repeated_for_ever(orders):
    """A store is opened by each; what an opening leaves behind must not add up."""
    orders.must("append", "s.orders", "orders.csv")
    for _ in range(5):
        orders.must("status")
    files = len(list((orders.data_dir / "metastore").iterdir()))
    for _ in range(20):
        orders.must("status")
    assert len(list((orders.data_dir / "metastore").iterdir())) <= files
