"""Namespaces and tables on the command line."""

import json

from conftest import CONFLICT, DONE, FAILED, USAGE


def test_a_newcomer_gets_from_nothing_to_an_answer(bare_lake):
    bare_lake.write("fruit.csv", "name,price\napple,0.5\npear,1.25\n")
    bare_lake.must("namespace", "create", "shop")
    assert bare_lake.must("append", "shop.fruit", "fruit.csv", "--create").startswith("appended rows=2 files=1 table=shop.fruit ")
    answer = bare_lake.must("sql", "select name, price from shop.fruit order by price desc")
    assert answer == "name   price\n-----  -----\npear    1.25\napple    0.5\n(2 rows)\n"


def test_namespaces_are_created_listed_shown_and_dropped(lake):
    lake.must("namespace", "create", "s.eu", "--property", "owner=ops", "--property", "note=a=b")
    lake.must("namespace", "create", 's."2026.q1"')
    assert lake.must("namespace", "list").splitlines() == ["s", 's."2026.q1"', "s.eu"]
    assert lake.must_json("namespace", "list", "s", "--json") == ['s."2026.q1"', "s.eu"]
    assert lake.must_json("namespace", "show", "s.eu", "--json") == {
        "namespace": "s.eu",
        "properties": {"owner": "ops", "note": "a=b"},
    }
    lake.must("namespace", "drop", "s.eu")
    assert lake.must("namespace", "list").splitlines() == ["s", 's."2026.q1"']
    assert "s.eu" in lake.must_fail(FAILED, "namespace", "show", "s.eu")


def test_a_dropped_table_comes_back_by_the_command_that_the_drop_names(orders):
    orders.must("append", "s.orders", "orders.csv")
    answer = orders.must("table", "drop", "s.orders")
    command = answer.split("lake ")[1].split(" brings")[0]
    orders.must(*command.split())
    assert orders.count("s.orders") == 3
    metadata = orders.must_json("table", "show", "s.orders", "--json")["metadata_location"]
    assert orders.must_json("table", "drop", "s.orders", "--json")["metadata_location"] == metadata


def test_what_exists_or_is_not_empty_is_a_conflict(orders):
    assert "next: " in orders.must_fail(CONFLICT, "namespace", "create", "s")
    orders.must_fail(CONFLICT, "table", "create", "s.orders", "--column", "a int")
    message = orders.must_fail(CONFLICT, "namespace", "drop", "s")
    assert "next: " in message and "lake table list s" in message


def test_a_table_is_shown_with_its_columns(orders):
    shown = orders.must_json("table", "show", "s.orders", "--json")
    assert shown["table"] == "s.orders"
    assert [(column["name"], column["type"], column["required"]) for column in shown["columns"]] == [
        ("id", "long", True),
        ("name", "string", False),
        ("price", "decimal(9,2)", False),
    ]
    assert shown["rows"] == 0 and shown["snapshot"] is None and shown["format_version"] == 2
    with open(shown["metadata_location"], encoding="utf-8") as file:
        assert json.load(file)["table-uuid"] == shown["uuid"]
    assert "decimal(9,2)" in orders.must("table", "show", "s.orders")


def test_nested_columns_are_created_and_shown_alike(lake):
    lake.must("table", "create", "s.t", "--column", "p struct<x: int required, y: list<string>>", "--column", "m map<string, double>")
    columns = lake.must_json("table", "show", "s.t", "--json")["columns"]
    assert [column["type"] for column in columns] == ["struct<x int required, y list<string>>", "map<string, double>"]


def test_a_table_like_a_file_has_its_columns(lake):
    lake.write("x.csv", "a,b\n1,2026-01-31\n")
    lake.must("table", "create", "s.t", "--like", "x.csv", "--property", "owner=ops")
    shown = lake.must_json("table", "show", "s.t", "--json")
    assert [(column["name"], column["type"]) for column in shown["columns"]] == [("a", "long"), ("b", "date")]
    assert shown["properties"]["owner"] == "ops"
    assert lake.count("s.t") == 0


def test_tables_are_listed_by_namespace(orders):
    orders.must("namespace", "create", "s.eu")
    orders.must("table", "create", "s.eu.t", "--column", "a int")
    assert orders.must("table", "list").splitlines() == ["s.orders", "s.eu.t"]
    assert orders.must_json("table", "list", "s", "--json") == ["s.orders"]
    assert "nope" in orders.must_fail(FAILED, "table", "list", "nope")


def test_history_lists_snapshots_with_epochs_and_operations(orders):
    ids = []
    for _ in range(2):
        ids.append(orders.must_json("append", "s.orders", "orders.csv", "--json")["operation"])
    history = orders.must_json("table", "history", "s.orders", "--json")
    assert [entry["sequence_number"] for entry in history] == [1, 2]
    assert [entry["rows_added"] for entry in history] == [3, 3]
    assert [entry["rows_total"] for entry in history] == [3, 6]
    assert [entry["operations"] for entry in history] == [[operation] for operation in ids]
    assert history[0]["epoch"] < history[1]["epoch"]
    assert all(operation in orders.must("table", "history", "s.orders") for operation in ids)


def test_a_dropped_table_keeps_its_files_and_can_be_registered_again(orders):
    orders.must("append", "s.orders", "orders.csv")
    shown = orders.must_json("table", "show", "s.orders", "--json")
    orders.must("table", "drop", "s.orders")
    orders.must_fail(FAILED, "table", "show", "s.orders")
    assert "s.orders" not in orders.must("table", "list")
    orders.must("table", "register", "s.again", shown["metadata_location"])
    assert orders.count("s.again") == 3
    assert orders.must_json("table", "show", "s.again", "--json")["uuid"] == shown["uuid"]
    for _ in range(2):
        orders.must("table", "drop", "s.again")
        orders.must("table", "register", "s.again", shown["metadata_location"])
    orders.must("append", "s.again", "orders.csv")
    assert orders.count("s.again") == 6


def test_check_finds_a_missing_data_file(orders):
    orders.must("append", "s.orders", "orders.csv")
    orders.must("append", "s.orders", "orders.csv")
    (report,) = orders.must_json("check", "s.orders", "--json")
    assert report == {
        "table": "s.orders", "sound": True, "snapshots": 2, "manifests": 2, "data_files": 2, "rows": 6, "problems": [],
    }
    location = orders.must_json("table", "show", "s.orders", "--json")["location"]
    victim = next(path for path in orders.data_dir.rglob("*.parquet"))
    assert location.endswith(victim.parent.parent.name)
    victim.unlink()
    ended = orders.run("check", "--json")
    assert ended.returncode == FAILED
    (report,) = json.loads(ended.stdout)
    assert not report["sound"] and any(victim.name in problem for problem in report["problems"])


def test_status_tells_the_state_of_the_directory(orders):
    status = orders.status()
    assert status["data_dir"] == str(orders.data_dir)
    assert status["format"] == 2
    assert status["epoch"] == 2
    assert status["released"] is True
    assert status["namespaces"] == 1 and status["tables"] == 1 and status["pending"] == []
    # Reading commands take no lease.
    assert orders.status()["epoch"] == 2
    text = orders.must("status")
    assert "epoch" in text and str(orders.data_dir) in text


def test_version_and_help_need_no_directory(bare_lake):
    assert bare_lake.must("version").startswith("lake ")
    assert bare_lake.must_json("version", "--json")["data_dir_format"] == 2
    assert "Example" in bare_lake.must("--help")
    assert not bare_lake.data_dir.exists()


def test_every_command_shows_an_example(bare_lake):
    commands = [
        *(["namespace", verb] for verb in ("create", "list", "show", "drop")),
        *(["table", verb] for verb in ("create", "list", "show", "history", "register", "drop")),
        *([name] for name in ("append", "sql", "status", "check", "version", "demo", "namespace", "table")),
    ]
    for command in commands:
        text = bare_lake.must(*command, "--help")
        assert "Example" in text and "lake " + " ".join(command) in text, command


def test_a_wrong_command_line_is_a_usage_error(bare_lake):
    for arguments in (["tabel"], ["table"], [], ["append", "s.t"], ["status", "--nope"], ["sql", "select", "1"]):
        message = bare_lake.must_fail(USAGE, *arguments)
        assert "next: " in message, arguments
    assert not bare_lake.data_dir.exists()


def test_a_reading_command_on_nothing_says_how_to_begin(bare_lake):
    message = bare_lake.must_fail(FAILED, "status")
    assert "namespace create" in message
    assert not bare_lake.data_dir.exists()


def test_a_name_that_is_a_command_is_still_a_name(lake):
    for name in ("table", "list", "status"):
        lake.must("namespace", "create", name)
        lake.must("table", "create", f"{name}.show", "--column", "a int")
    assert lake.run("table", "show", "table.show").returncode == DONE
