"""Tables that PyIceberg wrote, decoded and encoded again by Lake, mean the same to PyIceberg."""

import datetime
import decimal
import json
import os
import subprocess
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import EqualTo, GreaterThan
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestWriterV2,
    write_manifest_list,
)
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import StaticTable
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.sorting import NullOrder, SortDirection, SortField, SortOrder
from pyiceberg.table.statistics import BlobMetadata, StatisticsFile
from pyiceberg.table.update import AddSnapshotUpdate, AssertTableUUID, SetSnapshotRefUpdate
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
    YearTransform,
)
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
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

from conftest import BUILD, TIMEOUT, canonical, rows, snapshot_meaning

CODECS = ("null", "deflate", "zstandard")


@pytest.fixture
def catalog(tmp_path):
    catalog = SqlCatalog(
        "golden", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/warehouse"
    )
    catalog.create_namespace("n")
    yield catalog
    catalog.close()


def local(location):
    return location.removeprefix("file://")


def rewrite(table, folder, codec):
    """Has Lake decode and encode the table again, and returns what PyIceberg makes of that."""
    folder.mkdir()
    ended = subprocess.run(
        [BUILD / "lake_golden_tool", table.metadata_location, folder, codec],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
        env=os.environ,
    )
    assert ended.returncode == 0, ended.stderr
    return StaticTable.from_metadata(ended.stdout.strip())


def raw_metadata(table):
    with open(local(table.metadata_location), encoding="utf-8") as file:
        metadata = canonical(json.load(file))
    metadata = {name: value for name, value in metadata.items() if value not in ([], {})}  # As good as missing.
    for snapshot in metadata.get("snapshots", []):
        del snapshot["manifest-list"]  # The one thing that has to differ.
    return metadata


def check_same(table, again, same_version=True):
    """Compares all that two tables say: metadata, manifest lists, manifests, and the rows of every snapshot."""
    if same_version:
        assert raw_metadata(again) == raw_metadata(table)
    assert [snapshot.snapshot_id for snapshot in again.snapshots()] == [
        snapshot.snapshot_id for snapshot in table.snapshots()
    ]
    for before, after in zip(table.snapshots(), again.snapshots(), strict=True):
        assert before.manifest_list != after.manifest_list
        assert snapshot_meaning(again, after) == snapshot_meaning(table, before)
        assert rows(again, snapshot_id=after.snapshot_id) == rows(table, snapshot_id=before.snapshot_id)
    assert again.schema() == table.schema()
    assert again.spec() == table.spec()
    assert again.sort_order() == table.sort_order()
    assert again.properties == table.properties


EVERY_TYPE = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "flag", BooleanType()),
    NestedField(3, "number", IntegerType(), doc="a comment with \"quotes\" and ünïcode"),
    NestedField(4, "single", FloatType()),
    NestedField(5, "twofold", DoubleType()),
    NestedField(6, "price", DecimalType(9, 2)),
    NestedField(7, "huge", DecimalType(38, 10)),
    NestedField(8, "day", DateType()),
    NestedField(9, "clock", TimeType()),
    NestedField(10, "at", TimestampType()),
    NestedField(11, "at_tz", TimestamptzType()),
    NestedField(12, "name", StringType()),
    NestedField(13, "uid", UUIDType()),
    NestedField(14, "hash", FixedType(4)),
    NestedField(15, "blob", BinaryType()),
    NestedField(
        16,
        "place",
        StructType(
            NestedField(17, "x", DoubleType(), required=False),
            NestedField(18, "tags", ListType(19, StringType(), element_required=False)),
            NestedField(20, "inner", StructType(NestedField(21, "deep", IntegerType(), required=False))),
        ),
    ),
    NestedField(22, "scores", MapType(23, StringType(), 24, LongType(), value_required=False)),
    NestedField(
        25,
        "rows",
        ListType(26, StructType(NestedField(27, "a", StringType()), NestedField(28, "b", IntegerType()))),
    ),
    schema_id=0,
    identifier_field_ids=[1],
)

UTC = datetime.timezone.utc


def every_type_rows(first, count):
    def row(i):
        if i % 7 == 3:
            return {"id": i}  # Everything else is null.
        return {
            "id": i,
            "flag": i % 2 == 0,
            "number": -i,
            "single": float("nan") if i % 5 == 0 else i / 4,
            "twofold": float("inf") if i % 5 == 1 else -i / 8,
            "price": decimal.Decimal(i).scaleb(-2),
            "huge": decimal.Decimal(10) ** 20 + i,
            "day": datetime.date(1969, 12, 25) + datetime.timedelta(days=i),
            "clock": datetime.time(23, i % 60, 59, 999999),
            "at": datetime.datetime(1969, 12, 31, 23, i % 60, 1, 123456),
            "at_tz": datetime.datetime(2026, 1, i % 28 + 1, 4, 5, 6, 7, tzinfo=UTC),
            "name": "ünïcode 🧊 that is longer than sixteen characters " * (i % 2) + str(i),
            "uid": uuid.UUID(int=i * 2**100).bytes,
            "hash": i.to_bytes(4, "big"),
            "blob": b"\xff" * (i % 30) + i.to_bytes(2, "big"),
            "place": {"x": i / 2, "tags": ["a", None, str(i)], "inner": {"deep": i}},
            "scores": [("k", i), ("ü", None)],
            "rows": [{"a": "x", "b": i}, {"a": None, "b": None}],
        }

    return [row(i) for i in range(first, first + count)]


def every_type_arrow(table, first, count):
    return pa.Table.from_pylist(every_type_rows(first, count), schema=table.schema().as_arrow())


@pytest.mark.parametrize("codec", CODECS)
def test_every_type_with_statistics_of_every_column(catalog, tmp_path, codec):
    table = catalog.create_table(
        "n.t",
        EVERY_TYPE,
        properties={"write.metadata.metrics.default": "full", "a property": "with ünïcode and \"quotes\""},
    )
    for first in (0, 20, 40):
        table.append(every_type_arrow(table, first, 20))
    again = rewrite(table, tmp_path / "again", codec)
    check_same(table, again)
    assert len(rows(again)) == 60


PARTITIONED = PartitionSpec(
    PartitionField(2, 1000, IdentityTransform(), "flag"),
    PartitionField(1, 1001, BucketTransform(4), "id_bucket"),
    PartitionField(12, 1002, TruncateTransform(3), "name_trunc"),
    PartitionField(6, 1003, TruncateTransform(10), "price_trunc"),
    PartitionField(10, 1004, HourTransform(), "at_hour"),
    PartitionField(8, 1005, MonthTransform(), "day_month"),
    PartitionField(11, 1006, DayTransform(), "at_tz_day"),
    PartitionField(13, 1007, BucketTransform(2), "uid_bucket"),
    PartitionField(3, 1008, IdentityTransform(), "a name with spaces"),
    spec_id=0,
)
BY_TIME = PartitionSpec(
    PartitionField(10, 1000, YearTransform(), "at_year"),
    PartitionField(8, 1001, DayTransform(), "day_day"),
    PartitionField(11, 1002, MonthTransform(), "at_tz_month"),
    PartitionField(1, 1003, TruncateTransform(5), "id_trunc"),
    spec_id=0,
)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("spec", [PARTITIONED, BY_TIME], ids=["everything", "time"])
def test_every_transform(catalog, tmp_path, spec, codec):
    table = catalog.create_table("n.t", EVERY_TYPE, partition_spec=spec)
    table.append(every_type_arrow(table, 0, 12))
    table.append(every_type_arrow(table, 3, 6))
    check_same(table, rewrite(table, tmp_path / "again", codec))


# One table for each type: a tuple of all would hide which one is wrong. PyArrow cannot group rows by uuid.
@pytest.mark.parametrize(
    "column", [field.name for field in EVERY_TYPE.fields if field.field_type.is_primitive and field.name != "uid"]
)
def test_identity_partitions_of_every_type(catalog, tmp_path, column):
    field = EVERY_TYPE.find_field(column)
    spec = PartitionSpec(PartitionField(field.field_id, 1000, IdentityTransform(), column), spec_id=0)
    table = catalog.create_table("n.t", EVERY_TYPE, partition_spec=spec)
    # PyIceberg cannot partition by NaN, which no value equals.
    arrow_rows = [row for row in every_type_rows(0, 8) if row.get(column) == row.get(column)]
    table.append(pa.Table.from_pylist(arrow_rows, schema=table.schema().as_arrow()))
    check_same(table, rewrite(table, tmp_path / "again", "deflate"))


SMALL = Schema(
    NestedField(1, "id", IntegerType(), required=False),
    NestedField(2, "name", StringType(), required=False),
    NestedField(3, "price", DecimalType(9, 2), required=False),
)


def small_arrow(first, count, **more):
    columns = {
        "id": pa.array(range(first, first + count), pa.int32()),
        "name": pa.array([f"name {i % 3}" for i in range(first, first + count)]),
        "price": pa.array([decimal.Decimal(i) for i in range(first, first + count)], pa.decimal128(9, 2)),
    }
    return pa.table(columns | more)


def statuses(table):
    """Returns every status that an entry of any snapshot has."""
    return {
        entry.status
        for snapshot in table.snapshots()
        for manifest in snapshot.manifests(table.io)
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False)
    }


def test_snapshots_that_delete_and_overwrite(catalog, tmp_path):
    table = catalog.create_table("n.t", SMALL)
    table.append(small_arrow(0, 10))
    table.append(small_arrow(10, 10))
    table.delete(EqualTo("id", 3))  # Part of a file: the rest is written anew.
    table.delete(GreaterThan("id", 9))  # A whole file.
    table.overwrite(small_arrow(100, 5), overwrite_filter=EqualTo("id", 5))
    table.append(small_arrow(200, 1))
    again = rewrite(table, tmp_path / "again", "deflate")
    check_same(table, again)
    assert statuses(again) == {ManifestEntryStatus.ADDED, ManifestEntryStatus.DELETED}



def test_merged_manifests(catalog, tmp_path):
    table = catalog.create_table(
        "n.t",
        SMALL,
        properties={"commit.manifest-merge.enabled": "true", "commit.manifest.min-count-to-merge": "2"},
    )
    for first in range(5):
        table.append(small_arrow(first, 1))
    again = rewrite(table, tmp_path / "again", "deflate")
    check_same(table, again)
    assert len(again.current_snapshot().manifests(again.io)) < 5
    assert ManifestEntryStatus.EXISTING in statuses(again)


@pytest.mark.parametrize("codec", ["gzip", "zstd", "null"])
def test_every_codec_that_pyiceberg_writes(catalog, tmp_path, codec):
    table = catalog.create_table("n.t", SMALL, properties={"write.avro.compression-codec": codec})
    table.append(small_arrow(0, 10))
    check_same(table, rewrite(table, tmp_path / "again", "null"))


def test_evolved_schemas_specs_and_sort_orders(catalog, tmp_path):
    table = catalog.create_table(
        "n.t",
        SMALL,
        partition_spec=PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "name"), spec_id=0),
        sort_order=SortOrder(
            SortField(1, IdentityTransform(), SortDirection.DESC, NullOrder.NULLS_LAST),
            SortField(3, TruncateTransform(2), SortDirection.ASC, NullOrder.NULLS_FIRST),
        ),
    )
    table.append(small_arrow(0, 6))
    with table.update_schema() as update:
        update.update_column("id", LongType())
        update.rename_column("price", "cost")
        update.add_column("more", StructType(NestedField(0, "x", DoubleType())), doc="added later")
    with table.update_schema() as update:
        update.move_first("cost")
        update.add_column(("more", "y"), StringType())
    with table.update_spec() as update:
        update.remove_field("name")
        update.add_field("id", BucketTransform(8), "id_bucket")
    table.append(
        pa.table(
            {
                "cost": pa.array([decimal.Decimal(1)], pa.decimal128(9, 2)),
                "id": pa.array([2**40], pa.int64()),
                "name": ["late"],
                "more": pa.array([{"x": 1.5, "y": "y"}], pa.struct([("x", pa.float64()), ("y", pa.string())])),
            }
        )
    )
    with table.update_schema() as update:
        update.delete_column("name")
    with table.update_sort_order() as update:
        update.asc("id", IdentityTransform(), NullOrder.NULLS_FIRST)
    again = rewrite(table, tmp_path / "again", "deflate")
    check_same(table, again)
    assert len(again.schemas()) == 4
    assert len(again.specs()) == 2
    assert len(again.sort_orders()) == 2


def test_refs_statistics_and_logs(catalog, tmp_path):
    table = catalog.create_table("n.t", SMALL, properties={"history.expire.max-ref-age-ms": "86400000"})
    table.append(small_arrow(0, 2))
    first = table.current_snapshot().snapshot_id
    table.append(small_arrow(2, 2))
    second = table.current_snapshot().snapshot_id
    (
        table.manage_snapshots()
        .create_tag(first, "a tag/with ünïcode", max_ref_age_ms=1000)
        .create_branch(first, "side", max_ref_age_ms=5, max_snapshot_age_ms=6, min_snapshots_to_keep=7)
        .commit()
    )
    blob = BlobMetadata(
        type="apache-datasketches-theta-v1",
        snapshot_id=second,
        sequence_number=2,
        fields=[1, 2],
        properties={"ndv": "4"},
    )
    statistics = StatisticsFile(
        snapshot_id=second,
        statistics_path="file:///warehouse/stats.puffin",
        file_size_in_bytes=413,
        file_footer_size_in_bytes=42,
        key_metadata=None,
        blob_metadata=[blob],
    )
    with table.update_statistics() as update:
        update.set_statistics(statistics)
    with table.transaction() as transaction:
        transaction.set_properties({"owner": "ünïcode", "empty": ""})
    again = rewrite(table, tmp_path / "again", "deflate")
    check_same(table, again)
    assert again.refs() == table.refs()
    assert again.refs()["side"].snapshot_ref_type == SnapshotRefType.BRANCH
    assert again.metadata.statistics == [statistics]
    assert again.history() == table.history()
    assert again.metadata.metadata_log == table.metadata.metadata_log


def test_a_table_without_snapshots(catalog, tmp_path):
    table = catalog.create_table("n.t", EVERY_TYPE)
    again = rewrite(table, tmp_path / "again", "deflate")
    check_same(table, again)
    assert again.current_snapshot() is None


def test_a_table_of_version_1_is_upgraded(catalog, tmp_path):
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "name"), spec_id=0)
    table = catalog.create_table("n.t", SMALL, partition_spec=spec, properties={"format-version": "1"})
    assert table.format_version == 1
    table.append(small_arrow(0, 6))
    table.delete(EqualTo("id", 1))
    again = rewrite(table, tmp_path / "again", "deflate")
    assert again.format_version == 2
    check_same(table, again, same_version=False)


class DeleteManifestWriter(ManifestWriterV2):
    """PyIceberg reads manifests of delete files, but has no writer for them."""

    def content(self):
        return ManifestContent.DELETES

    @property
    def _meta(self):
        return {**super()._meta, "content": "deletes"}


def add_position_deletes(table, path, positions):
    """Deletes rows of the table's only data file, as another engine would."""
    parent = table.current_snapshot()
    (data_file,) = [task.file for task in table.scan().plan_files()]
    delete_schema = pa.schema(
        [
            pa.field("file_path", pa.string(), nullable=False, metadata={"PARQUET:field_id": "2147483546"}),
            pa.field("pos", pa.int64(), nullable=False, metadata={"PARQUET:field_id": "2147483545"}),
        ]
    )
    deletes = pa.table([[data_file.file_path] * len(positions), positions], schema=delete_schema)
    pq.write_table(deletes, path)
    snapshot_id = table.metadata.new_snapshot_id()
    sequence_number = table.metadata.next_sequence_number()
    metadata_folder = f"{table.location()}/metadata"
    delete_file = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES,
        file_path=f"file://{path}",
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=len(positions),
        file_size_in_bytes=path.stat().st_size,
    )
    delete_file.spec_id = 0
    output = table.io.new_output(f"{metadata_folder}/deletes-{snapshot_id}.avro")
    with DeleteManifestWriter(table.spec(), table.schema(), output, snapshot_id, "gzip") as writer:
        writer.add_entry(
            ManifestEntry.from_args(
                status=ManifestEntryStatus.ADDED, snapshot_id=snapshot_id, data_file=delete_file
            )
        )
    manifest = writer.to_manifest_file()
    list_path = f"{metadata_folder}/snap-{snapshot_id}.avro"
    with write_manifest_list(
        2, table.io.new_output(list_path), snapshot_id, parent.snapshot_id, sequence_number, "gzip"
    ) as manifest_list:
        manifest_list.add_manifests([manifest, *parent.manifests(table.io)])
    snapshot = Snapshot(
        snapshot_id=snapshot_id,
        parent_snapshot_id=parent.snapshot_id,
        sequence_number=sequence_number,
        manifest_list=list_path,
        summary=Summary(Operation.DELETE),
        schema_id=table.schema().schema_id,
    )
    table.catalog.commit_table(
        table,
        (AssertTableUUID(uuid=table.metadata.table_uuid),),
        (
            AddSnapshotUpdate(snapshot=snapshot),
            SetSnapshotRefUpdate(ref_name="main", type="branch", snapshot_id=snapshot_id),
        ),
    )
    table.refresh()


def test_position_deletes(catalog, tmp_path):
    table = catalog.create_table("n.t", SMALL)
    table.append(small_arrow(0, 10))
    add_position_deletes(table, tmp_path / "deletes.parquet", [2, 5, 7])
    assert len(rows(table)) == 7
    again = rewrite(table, tmp_path / "again", "deflate")
    check_same(table, again)
    assert {manifest.content for manifest in again.current_snapshot().manifests(again.io)} == {
        ManifestContent.DATA,
        ManifestContent.DELETES,
    }
