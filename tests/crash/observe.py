"""What a lake holds, seen through the program and, where nothing has a name any more, through another reader of Iceberg."""

import json

import duckdb
from model import SUMMARY, contents
from processes import DONE, TIMEOUT, UNDISTURBED
from pyiceberg.table import StaticTable
from workload import NAMESPACE


class Violation(Exception):
    """Something is not as it must be. Its text says what differs."""


def must(lake, *arguments):
    """Runs a command that nothing disturbs and that has to succeed."""
    ended = lake.run(*arguments, "--wait", f"{TIMEOUT:.0f}", fate=UNDISTURBED)
    if ended.code != DONE:
        raise Violation(f"lake {' '.join(ended.arguments)} ended with {ended.code}: {ended.out}{ended.err}")
    return ended.out


def documents(text):
    """Returns the JSON values that stand one behind another in a text."""
    decoder, found, at = json.JSONDecoder(), [], 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        value, at = decoder.raw_decode(text, at)
        found.append(value)
    return found


def table_names(lake):
    return json.loads(must(lake, "table", "list", NAMESPACE, "--json"))


def table_uuid(lake, name):
    return json.loads(must(lake, "table", "show", name, "--json"))["uuid"]


def living(lake, uuids):
    """Returns the contents of tables; `uuids` has their incarnations by name."""
    if not uuids:
        return []
    answers = documents(must(lake, "sql", "; ".join(SUMMARY.format(name) for name in uuids), "--output", "json"))
    return [contents(uuid, f"table {name}", True, rows) for (name, uuid), rows in zip(uuids.items(), answers, strict=True)]


def dropped(uuid, metadata_location):
    """Returns the contents of a table that has no name, read by PyIceberg."""
    where = f"dropped table {uuid}"
    return contents(uuid, where, False, _read(where, uuid, metadata_location))


def through_another_reader(lake, name):
    """Returns the contents of a table that has a name, read by PyIceberg all the same."""
    shown = json.loads(must(lake, "table", "show", name, "--json"))
    where = f"table {name} (by PyIceberg)"
    return contents(shown["uuid"], where, True, _read(where, shown["uuid"], shown["metadata_location"]))


def _read(where, uuid, metadata_location):
    try:
        table = StaticTable.from_metadata(metadata_location)
        rows = table.scan().to_arrow()  # noqa: F841  DuckDB finds it by its name.
    except OSError as error:
        raise Violation(f"PyIceberg cannot read {where}: {error}") from error
    if str(table.metadata.table_uuid) != uuid:
        raise Violation(f"{where}: {metadata_location} is of table {table.metadata.table_uuid}")
    relation = duckdb.sql(SUMMARY.format("rows"))
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def check(lake):
    """Checks that `lake check` finds every table sound and that nothing is pending. Returns the epoch."""
    for table in json.loads(must(lake, "check", "--json")):
        if not table["sound"] or table["problems"]:
            raise Violation(f"lake check: {table}")
    status = json.loads(must(lake, "status", "--json"))
    if status["pending"]:
        raise Violation(f"operations are pending though all were resolved: {status['pending']}")
    return status["epoch"]


def namespaces(lake):
    return set(json.loads(must(lake, "namespace", "list", NAMESPACE, "--json")))
