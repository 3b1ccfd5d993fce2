"""Tables that Lake wrote, read by PyIceberg and by DuckDB's iceberg extension: rows, schema, statistics."""

import datetime
import decimal
import importlib.util
import json
import math
import os
import pathlib
import subprocess
import uuid

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFileContent, FileFormat, ManifestEntryStatus
from pyiceberg.schema import Schema
from pyiceberg.table import StaticTable
from pyiceberg.table.snapshots import Operation
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from conftest import BINARY, TIMEOUT, rows

UTC = datetime.timezone.utc
BOUND_WIDTH = 16


class Lake:
    """Runs the real program on one data directory."""

    def __init__(self, folder):
        self.folder = folder

    def run(self, *arguments):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LAKE_")}
        ended = subprocess.run(
            [BINARY, "--data-dir", self.folder / "lake-data", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
            env=environment,
        )
        assert ended.returncode == 0, f"{arguments}: {ended.returncode}\n{ended.stdout}{ended.stderr}"
        return ended.stdout

    def metadata_location(self, table):
        return json.loads(self.run("table", "show", table, "--json"))["metadata_location"]

    def read(self, table):
        """Returns the table as PyIceberg sees it, from its metadata file alone."""
        return StaticTable.from_metadata(self.metadata_location(table))


@pytest.fixture
def lake(tmp_path):
    lake = Lake(tmp_path)
    lake.run("namespace", "create", "n")
    return lake


@pytest.fixture
def duck():
    """DuckDB with the iceberg extension of the wheel; nothing is fetched from anywhere."""
    connection = duckdb.connect(
        config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    )
    for name in ("httpfs", "avro", "iceberg"):
        package = pathlib.Path(importlib.util.find_spec(f"duckdb_extension_{name}").origin).parent
        (extension,) = package.glob(f"extensions/*/{name}.duckdb_extension")
        connection.execute(f"load '{extension}'")
    yield connection
    connection.close()


def check_duckdb_rows(duck, metadata_location, sources):
    """Has DuckDB compare the rows of a table with those of the files they came from, as multisets."""
    table = f"select * from iceberg_scan('{metadata_location}')"
    source = f"select * from read_parquet({[str(path) for path in sources]})"
    assert duck.sql(f"select count(*) from ({table})").fetchone() == duck.sql(f"select count(*) from ({source})").fetchone()
    assert duck.sql(f"({table}) except all ({source})").fetchall() == []
    assert duck.sql(f"({source}) except all ({table})").fetchall() == []


COLUMNS = (
    "id long required",
    "flag boolean",
    "number int",
    "single float",
    "twofold double",
    "price decimal(9,2)",
    "amount decimal(18,4)",
    "huge decimal(38,10)",
    "day date",
    "clock time",
    "at timestamp",
    "at_tz timestamptz",
    "name string",
    "uid uuid",
    "blob binary",
    "place struct<x double, tags list<string>, inner struct<deep int>>",
    "scores map<string, long>",
    "parts list<struct<a string, b int>>",
)

# The columns first, then what is inside them: the order in which Iceberg numbers the fields of a new table.
SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "flag", BooleanType()),
    NestedField(3, "number", IntegerType()),
    NestedField(4, "single", FloatType()),
    NestedField(5, "twofold", DoubleType()),
    NestedField(6, "price", DecimalType(9, 2)),
    NestedField(7, "amount", DecimalType(18, 4)),
    NestedField(8, "huge", DecimalType(38, 10)),
    NestedField(9, "day", DateType()),
    NestedField(10, "clock", TimeType()),
    NestedField(11, "at", TimestampType()),
    NestedField(12, "at_tz", TimestamptzType()),
    NestedField(13, "name", StringType()),
    NestedField(14, "uid", UUIDType()),
    NestedField(15, "blob", BinaryType()),
    NestedField(
        16,
        "place",
        StructType(
            NestedField(19, "x", DoubleType()),
            NestedField(20, "tags", ListType(22, StringType(), element_required=False)),
            NestedField(21, "inner", StructType(NestedField(23, "deep", IntegerType()))),
        ),
    ),
    NestedField(17, "scores", MapType(24, StringType(), 25, LongType(), value_required=False)),
    NestedField(
        18,
        "parts",
        ListType(
            26,
            StructType(NestedField(27, "a", StringType()), NestedField(28, "b", IntegerType())),
            element_required=False,
        ),
    ),
    schema_id=0,
)

ARROW = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("flag", pa.bool_()),
        ("number", pa.int32()),
        ("single", pa.float32()),
        ("twofold", pa.float64()),
        ("price", pa.decimal128(9, 2)),
        ("amount", pa.decimal128(18, 4)),
        ("huge", pa.decimal128(38, 10)),
        ("day", pa.date32()),
        ("clock", pa.time64("us")),
        ("at", pa.timestamp("us")),
        ("at_tz", pa.timestamp("us", "UTC")),
        ("name", pa.string()),
        ("uid", pa.uuid()),
        ("blob", pa.binary()),
        (
            "place",
            pa.struct(
                [
                    ("x", pa.float64()),
                    ("tags", pa.list_(pa.string())),
                    ("inner", pa.struct([("deep", pa.int32())])),
                ]
            ),
        ),
        ("scores", pa.map_(pa.string(), pa.int64())),
        ("parts", pa.list_(pa.struct([("a", pa.string()), ("b", pa.int32())]))),
    ]
)


def example_row(i):
    return {
        "id": i,
        "flag": i % 3 == 0,
        "number": (-1) ** i * i * 1000,
        "single": i / 4,
        "twofold": -i / 8,
        "price": decimal.Decimal(i - 5).scaleb(-2),
        "amount": decimal.Decimal(i * 10**10 - 7).scaleb(-4),
        "huge": decimal.Decimal(10) ** 20 * (i - 5),
        "day": datetime.date(1969, 12, 25) + datetime.timedelta(days=i),
        "clock": datetime.time(i % 24, 59, 59, 999999 - i),
        "at": datetime.datetime(1969, 12, 31, 23, 59, 59, 999990) + datetime.timedelta(microseconds=i),
        "at_tz": datetime.datetime(2026, 3, 29, 0, 30, 0, i, tzinfo=UTC) + datetime.timedelta(hours=i),
        "name": f"ünïcode 🧊 № {i:02} of names that are longer than sixteen characters",
        "uid": uuid.UUID(int=(i + 1) << 100),
        "blob": bytes([i, 0, 255]) * (i + 1),
        "place": {"x": i / 2, "tags": ["a", None, "ü" * i], "inner": {"deep": -i}},
        "scores": [("k", i), ("ü", None)],
        "parts": [{"a": "x", "b": i}, {"a": None, "b": None}],
    }


def first_append():
    return [example_row(i) for i in range(10)]


def second_append():
    """Nulls everywhere, empty and null containers, the ends of the ranges."""
    extremes = example_row(11) | {
        "number": -(2**31),
        "single": float("-inf"),
        "twofold": float("inf"),
        "price": decimal.Decimal("-9999999.99"),
        "huge": decimal.Decimal("9" * 28 + "." + "9" * 10),
        "day": datetime.date(1, 1, 1),
        "clock": datetime.time(0, 0),
        "at": datetime.datetime(1, 1, 1),
        "at_tz": datetime.datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        "name": "",
        "uid": uuid.UUID(int=2**128 - 1),
        "blob": b"",
    }
    containers = example_row(12) | {
        "place": {"x": None, "tags": [], "inner": None},
        "scores": [],
        "parts": [None, {"a": "y", "b": None}],
    }
    nulls = [{name: None for name in ARROW.names} | {"id": i} for i in (13, 14)]
    return [extremes, containers, *nulls]


def third_append():
    """Not a number, where a bound would be wrong; and strings that no shorter string can bound from above."""
    nan = example_row(20) | {"single": float("nan"), "twofold": float("nan")}
    high = example_row(21) | {"name": "\U0010ffff" * 20, "blob": b"\xff" * 20}
    return [nan, high]


APPENDS = (first_append, second_append, third_append)


def as_pyiceberg_reads(row):
    """PyIceberg gives a null list of structs back as an empty one, whoever wrote it. DuckDB tells them apart."""
    return row | {"parts": row["parts"] or []}


def lay_down(path, table_rows):
    arrow = pa.Table.from_pylist(table_rows, schema=ARROW)
    pq.write_table(arrow, path)
    return arrow


@pytest.fixture
def filled(lake, tmp_path):
    """A table of every writable type with three appends, and their source files and rows."""
    columns = [part for column in COLUMNS for part in ("--column", column)]
    lake.run("table", "create", "n.t", *columns)
    sources = []
    for append in APPENDS:
        path = tmp_path / f"{append.__name__}.parquet"
        sources.append((path, lay_down(path, append())))
        lake.run("append", "n.t", path)
    return lake, sources


def test_pyiceberg_reads_the_schema(filled):
    lake, _ = filled
    table = lake.read("n.t")
    assert table.format_version == 2
    assert table.schema() == SCHEMA
    assert table.schema().schema_id == 0
    assert table.metadata.last_column_id == 28
    assert table.spec().is_unpartitioned()
    assert table.sort_order().is_unsorted


def test_pyiceberg_reads_the_rows_of_every_version(filled):
    lake, sources = filled
    table = lake.read("n.t")
    snapshots = table.snapshots()
    assert len(snapshots) == len(sources)
    for count, snapshot in enumerate(snapshots, start=1):
        expected = pa.concat_tables([arrow for _, arrow in sources[:count]])
        expected_rows = sorted(repr(as_pyiceberg_reads(row)) for row in expected.to_pylist())
        assert rows(table, snapshot_id=snapshot.snapshot_id) == expected_rows
        assert snapshot.sequence_number == count
        assert snapshot.parent_snapshot_id == (snapshots[count - 2].snapshot_id if count > 1 else None)
        assert snapshot.schema_id == 0
        summary = snapshot.summary
        assert summary.operation.value == "append"
        assert summary["added-records"] == str(sources[count - 1][1].num_rows)
        assert summary["added-data-files"] == "1"
        assert summary["total-records"] == str(expected.num_rows)
        assert summary["total-data-files"] == str(count)
    assert [entry.snapshot_id for entry in table.history()] == [snapshot.snapshot_id for snapshot in snapshots]


def test_pyiceberg_prunes_by_lakes_bounds(filled):
    """A bound that is too narrow loses rows here; one that is there at all saves files."""
    lake, sources = filled
    table = lake.read("n.t")
    everything = pa.concat_tables([arrow for _, arrow in sources])
    wanted = {
        "id = 13": lambda row: row["id"] == 13,
        "number < -2000": lambda row: row["number"] is not None and row["number"] < -2000,
        "name > 'ünïcode 🧊 № 20'": lambda row: row["name"] is not None and row["name"] > "ünïcode 🧊 № 20",
        "name = ''": lambda row: row["name"] == "",
        "price < -5000000": lambda row: row["price"] is not None and row["price"] < -5000000,
        "day < '1500-01-01'": lambda row: row["day"] is not None and row["day"].year < 1500,
        "single < -1000": lambda row: row["single"] is not None and row["single"] < -1000,
        "twofold > 1000": lambda row: row["twofold"] is not None and row["twofold"] > 1000,
        "uid is null": lambda row: row["uid"] is None,
        "name is null": lambda row: row["name"] is None,
    }
    for condition, matches in wanted.items():
        expected = sorted(repr(as_pyiceberg_reads(row)) for row in everything.to_pylist() if matches(row))
        assert rows(table, row_filter=condition) == expected, condition
        assert expected
    assert len(list(table.scan(row_filter="id = 13").plan_files())) == 1


def entries(table):
    return [
        entry
        for manifest in table.current_snapshot().manifests(table.io)
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False)
    ]


def described(data_file):
    """Returns the fields of a data file in a form that compares by value; PyIceberg's lazy maps compare by identity."""
    return [dict(value.items()) if hasattr(value, "items") else repr(value) for value in data_file._data]


def leaf_ids(table, parquet):
    """Returns the field id of each column of a Parquet file, by position, told by the table's schema."""
    ids = []
    for position in range(parquet.metadata.num_columns):
        path = parquet.metadata.schema.column(position).path
        name = path.replace(".list.element", ".element").replace(".key_value.", ".")
        ids.append(table.schema().find_field(name).field_id)
    return ids


def arrow_field_ids(field):
    """Returns the field ids that an Arrow field and all inside it carry from its Parquet file, by name."""
    ids = {field.name: int(field.metadata[b"PARQUET:field_id"])}
    inner = field.type
    children = []
    if pa.types.is_struct(inner):
        children = [inner.field(i) for i in range(inner.num_fields)]
    elif pa.types.is_list(inner):
        children = [inner.value_field]
    elif pa.types.is_map(inner):
        children = [inner.key_field, inner.item_field]
    for child in children:
        ids |= {f"{field.name}.{name}": id for name, id in arrow_field_ids(child).items()}
    return ids


def row_groups(parquet, position):
    for group in range(parquet.metadata.num_row_groups):
        yield parquet.metadata.row_group(group).column(position)


def check_file(table, entry):
    """Compares what a manifest says of a data file with the file's own footer."""
    data_file = entry.data_file
    parquet = pq.ParquetFile(data_file.file_path)
    footer = parquet.metadata
    assert entry.status == ManifestEntryStatus.ADDED
    assert data_file.content == DataFileContent.DATA
    assert data_file.file_format == FileFormat.PARQUET
    assert data_file.record_count == footer.num_rows
    assert data_file.file_size_in_bytes == pathlib.Path(data_file.file_path).stat().st_size
    starts = []
    for group in range(footer.num_row_groups):
        first = footer.row_group(group).column(0)
        starts.append(first.dictionary_page_offset if first.has_dictionary_page else first.data_page_offset)
    assert list(data_file.split_offsets) == starts

    ids = leaf_ids(table, parquet)
    assert set(data_file.column_sizes) == set(ids)
    for position, id in enumerate(ids):
        sizes = sum(column.total_compressed_size for column in row_groups(parquet, position))
        assert data_file.column_sizes[id] == sizes, table.schema().find_column_name(id)
    return parquet, ids


def test_statistics_agree_with_the_footers(filled):
    lake, sources = filled
    table = lake.read("n.t")
    found = entries(table)
    assert len(found) == len(sources)
    for entry in found:
        parquet, ids = check_file(table, entry)
        nulls = dict(entry.data_file.null_value_counts)
        for position, id in enumerate(ids):
            counts = [
                column.statistics.null_count
                for column in row_groups(parquet, position)
                if column.statistics is not None and column.statistics.has_null_count
            ]
            if id in nulls and len(counts) == parquet.metadata.num_row_groups:
                assert nulls[id] == sum(counts), table.schema().find_column_name(id)
        names = {field.name: field.field_id for field in table.schema().fields}
        told = {}
        for field in parquet.schema_arrow:
            told |= arrow_field_ids(field)
        assert {name: told[name] for name in names} == names
        assert sorted(told.values()) == list(range(1, 29))


def code_points_above(text):
    """Returns the shortest bound above a string cut to the width of bounds, or nothing if there is none."""
    if len(text) <= BOUND_WIDTH:
        return text
    kept = text[:BOUND_WIDTH]
    while kept and kept[-1] == "\U0010ffff":
        kept = kept[:-1]
    return kept[:-1] + chr(ord(kept[-1]) + 1) if kept else None


def bytes_above(blob):
    if len(blob) <= BOUND_WIDTH:
        return blob
    kept = blob[:BOUND_WIDTH].rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None


def expected_bounds(field, values):
    """Returns the bounds of a column's values, or nothing where they cannot be told."""
    values = [value for value in values if value is not None]
    if not values or any(isinstance(value, float) and math.isnan(value) for value in values):
        return None, None
    low, high = min(values), max(values)
    if isinstance(field.field_type, StringType):
        return low[:BOUND_WIDTH], code_points_above(high)
    if isinstance(field.field_type, BinaryType):
        return low[:BOUND_WIDTH], bytes_above(high)
    return low, high


# What DuckDB tells no bounds of is left out; of everything else they are there.
MAY_LACK_BOUNDS = {"flag", "huge", "blob", "uid"}

EPOCH = datetime.datetime(1970, 1, 1)


def comparable(field, bound):
    """Turns what from_bytes gives for a column into the value that Python has for it."""
    kind = field.field_type
    if isinstance(kind, DateType):
        return (EPOCH + datetime.timedelta(days=bound)).date()
    if isinstance(kind, TimeType):
        return (EPOCH + datetime.timedelta(microseconds=bound)).time()
    if isinstance(kind, TimestampType):
        return EPOCH + datetime.timedelta(microseconds=bound)
    if isinstance(kind, TimestamptzType):
        return EPOCH.replace(tzinfo=UTC) + datetime.timedelta(microseconds=bound)
    if isinstance(kind, UUIDType) and isinstance(bound, bytes):
        return uuid.UUID(bytes=bound)
    return bound


def test_bounds_and_null_counts_are_those_of_the_rows(filled):
    lake, sources = filled
    table = lake.read("n.t")
    by_first_id = {entry.data_file.record_count: entry.data_file for entry in entries(table)}
    for path, arrow in sources:
        data_file = by_first_id[arrow.num_rows]
        for field in table.schema().fields:
            if not field.field_type.is_primitive:
                continue
            values = arrow.column(field.name).to_pylist()
            where = f"{field.name} of {path.name}"
            assert data_file.null_value_counts[field.field_id] == values.count(None), where
            if field.field_id in (data_file.value_counts or {}):
                assert data_file.value_counts[field.field_id] == len(values), where
            lower, upper = expected_bounds(field, values)
            for bounds, expected in ((data_file.lower_bounds, lower), (data_file.upper_bounds, upper)):
                stored = bounds.get(field.field_id)
                if stored is None:
                    assert expected is None or field.name in MAY_LACK_BOUNDS, where
                else:
                    assert comparable(field, from_bytes(field.field_type, stored)) == expected, where


def test_duckdb_reads_the_rows(filled, duck):
    lake, sources = filled
    check_duckdb_rows(duck, lake.metadata_location("n.t"), [path for path, _ in sources])


def test_duckdb_reads_manifests_and_snapshots(filled, duck):
    lake, sources = filled
    location = lake.metadata_location("n.t")
    table = lake.read("n.t")
    files = duck.sql(f"select file_path, record_count from iceberg_metadata('{location}')").fetchall()
    assert sorted(files) == sorted(
        (entry.data_file.file_path, entry.data_file.record_count) for entry in entries(table)
    )
    snapshots = duck.sql(f"select snapshot_id from iceberg_snapshots('{location}')").fetchall()
    assert sorted(id for (id,) in snapshots) == sorted(snapshot.snapshot_id for snapshot in table.snapshots())


def test_files_of_several_row_groups_may_be_split(lake, tmp_path, duck):
    count = 300_000
    path = tmp_path / "many.parquet"
    pq.write_table(pa.table({"id": pa.array(range(count)), "name": [f"name {i % 1000}" for i in range(count)]}), path)
    lake.run("append", "n.many", path, "--create")
    table = lake.read("n.many")
    (entry,) = entries(table)
    check_file(table, entry)
    assert len(entry.data_file.split_offsets) > 1
    assert table.scan().to_arrow().num_rows == count
    check_duckdb_rows(duck, lake.metadata_location("n.many"), [path])


def test_types_of_files_become_types_of_iceberg(lake, tmp_path, duck):
    """Unsigned and small integers widen, so that each value has a place."""
    path = tmp_path / "numbers.parquet"
    duck.sql(
        f"""copy (select (-128)::tinyint a, 255::utinyint b, (-32768)::smallint c, 65535::usmallint d, 4294967295::uinteger e,
            18446744073709551615::ubigint f, 'x'::enum('x', 'y') g) to '{path}' (format parquet)"""
    )
    lake.run("append", "n.numbers", path, "--create")
    table = lake.read("n.numbers")
    assert [(field.name, field.field_type) for field in table.schema().fields] == [
        ("a", IntegerType()),
        ("b", IntegerType()),
        ("c", IntegerType()),
        ("d", IntegerType()),
        ("e", LongType()),
        ("f", DecimalType(20, 0)),
        ("g", StringType()),
    ]
    assert table.scan().to_arrow().to_pylist() == [
        {
            "a": -128,
            "b": 255,
            "c": -32768,
            "d": 65535,
            "e": 4294967295,
            "f": decimal.Decimal(18446744073709551615),
            "g": "x",
        }
    ]


def test_an_empty_table_is_read(lake, duck):
    lake.run("table", "create", "n.empty", "--column", "id long required", "--property", "owner=ünïcode")
    table = lake.read("n.empty")
    assert table.current_snapshot() is None
    assert table.properties["owner"] == "ünïcode"
    assert table.scan().to_arrow().num_rows == 0


def test_merged_manifests_hold_what_was_in_them(filled, duck):
    lake, sources = filled
    table = lake.read("n.t")
    before = {entry.data_file.file_path: entry for entry in entries(table)}
    ids = [snapshot.snapshot_id for snapshot in table.snapshots()]
    earlier = [(snapshot_id, rows(table, snapshot_id=snapshot_id)) for snapshot_id in ids]
    lake.run("table", "set", "n.t", "--property", "commit.manifest.min-count-to-merge=2")
    reported = json.loads(lake.run("maintain", "n.t", "--json"))
    assert [(table["manifests_merged"], table["manifests_written"]) for table in reported["tables"]] == [(3, 1)]
    table = lake.read("n.t")
    snapshot = table.current_snapshot()
    assert snapshot.summary.operation == Operation.REPLACE
    assert snapshot.parent_snapshot_id == earlier[-1][0]
    (manifest,) = snapshot.manifests(table.io)
    assert (manifest.added_files_count, manifest.existing_files_count, manifest.deleted_files_count) == (0, 3, 0)
    assert (manifest.sequence_number, manifest.min_sequence_number) == (4, 1)
    merged = {entry.data_file.file_path: entry for entry in entries(table)}
    assert merged.keys() == before.keys()
    for path, entry in merged.items():
        was = before[path]
        assert entry.status == ManifestEntryStatus.EXISTING
        assert (entry.snapshot_id, entry.sequence_number, entry.file_sequence_number) == (
            was.snapshot_id,
            was.sequence_number,
            was.file_sequence_number,
        )
        assert described(entry.data_file) == described(was.data_file)
    for snapshot_id, expected in earlier:
        assert rows(table, snapshot_id=snapshot_id) == expected
    assert rows(table) == earlier[-1][1]
    check_duckdb_rows(duck, lake.metadata_location("n.t"), [path for path, _ in sources])
    path = sources[0][0].parent / "after.parquet"
    lay_down(path, [example_row(40)])
    lake.run("append", "n.t", path)
    assert len(rows(lake.read("n.t"))) == len(earlier[-1][1]) + 1
    assert max(entry.sequence_number for entry in entries(lake.read("n.t"))) == 5
