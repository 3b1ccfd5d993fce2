"""SQL on the command line."""

import csv
import io
import signal

import duckdb
from conftest import FAILED, USAGE


def test_a_table_is_aligned_and_counted(orders):
    orders.must("append", "s.orders", "orders.csv")
    assert orders.must("sql", "select id, name, price from s.orders order by id") == (
        "id  name   price\n--  -----  -----\n 1  apple   0.50\n 2  pear    1.25\n 3  NULL    NULL\n(3 rows)\n"
    )


def test_csv_is_what_others_read(orders):
    orders.must("append", "s.orders", "orders.csv")
    text = orders.must("sql", "select 'a\"b,' as \"x,y\", name from s.orders order by id", "--output", "csv")
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert rows == [["x,y", "name"], ['a"b,', "apple"], ['a"b,', "pear"], ['a"b,', ""]]


def test_json_keeps_types(lake):
    rows = lake.sql("select 1 as i, 1.5::decimal(5,2) as d, true as b, null as n, [1, 2] as l, {'a': 'x'} as s, 'nan'::double as f, '\"' as q")
    assert rows == [{"i": 1, "d": 1.5, "b": True, "n": None, "l": [1, 2], "s": {"a": "x"}, "f": rows[0]["f"], "q": '"'}]
    assert isinstance(rows[0]["f"], str)
    assert lake.must("sql", "select 1 as a where false", "--output", "json") == "[]\n"


def test_parquet_goes_to_a_file(orders):
    orders.must("append", "s.orders", "orders.csv")
    assert "3 rows" in orders.must("sql", "from s.orders", "--output", "parquet", "out.parquet")
    assert duckdb.sql(f"select count(*), sum(id) from '{orders.folder}/out.parquet'").fetchall() == [(3, 6)]
    orders.must_fail(USAGE, "sql", "from s.orders", "--output", "parquet")


def test_csv_and_json_go_to_a_file_too(orders):
    orders.must("append", "s.orders", "orders.csv")
    assert orders.must("sql", "select id from s.orders order by id", "--output", "csv", "--file", "out.csv") == ""
    assert (orders.folder / "out.csv").read_bytes() == b"id\r\n1\r\n2\r\n3\r\n"


def test_statements_are_separated_by_semicolons(lake):
    assert lake.must("sql", "select 1 as a; select ';' as b;", "--output", "csv") == 'a\r\n1\r\nb\r\n;\r\n'


def test_statements_come_from_standard_input(lake):
    assert lake.must("sql", "--output", "csv", stdin="select 1 as a;\n-- done\n") == "a\r\n1\r\n"


def test_an_error_points_at_its_place(lake):
    message = lake.must_fail(FAILED, "sql", "select 1 +")
    assert "syntax error" in message
    message = lake.must_fail(FAILED, "sql", "select 'x'::int")
    assert "x" in message


def test_everything_that_would_write_is_refused(orders):
    orders.must("append", "s.orders", "orders.csv")
    for statement in (
        "create table s.t (a int)",
        "create table t (a int)",
        "drop table s.orders",
        "insert into s.orders values (1, 'x', 1)",
        "delete from s.orders",
        "update s.orders set id = 1",
        "alter table s.orders add column z int",
        "copy s.orders to 'stolen.csv'",
        "create schema lake.x",
        "attach 'other.db'",
        "select 1; drop table s.orders",
    ):
        message = orders.must_fail(FAILED, "sql", statement)
        assert "internal error" not in message.lower(), statement
    assert orders.count("s.orders") == 3
    assert not (orders.folder / "stolen.csv").exists() and not (orders.folder / "other.db").exists()


def test_time_travel_by_version_and_by_time(orders):
    first = orders.must_json("append", "s.orders", "orders.csv", "--json")["snapshot"]
    time = orders.must_json("table", "history", "s.orders", "--json")[0]["time"]
    orders.must("append", "s.orders", "orders.csv")
    assert orders.count("s.orders") == 6
    assert orders.sql(f"select count(*) as n from s.orders at (version => {first})") == [{"n": 3}]
    assert orders.sql(f"select count(*) as n from s.orders at (timestamp => timestamptz '{time}')") == [{"n": 3}]
    assert "17" in orders.must_fail(FAILED, "sql", "from s.orders at (version => 17)")


def test_files_of_the_user_can_be_joined(orders):
    orders.must("append", "s.orders", "orders.csv")
    orders.write("labels.csv", "id,label\n1,one\n")
    rows = orders.sql("select label from s.orders join 'labels.csv' using (id)")
    assert rows == [{"label": "one"}]


def test_ctrl_c_ends_the_statement_and_the_command(lake):
    statement = "select sum(a.range * b.range) from range(10000000) a, range(10000000) b"
    # The first statement's answer is written before the second runs, so its arrival says that the second is running.
    process = lake.start("sql", f"select 'running' as state; {statement}", "--output", "csv")
    assert process.stdout.readline() == "state\n"
    assert process.stdout.readline() == "running\n"
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == FAILED, output + errors
    assert "lake: " in errors
