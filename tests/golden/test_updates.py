"""The commits of clients, applied by Lake and by PyIceberg, make the same table."""

import json
import os
import subprocess
import time
import uuid

import pytest
from pydantic import BaseModel, TypeAdapter
from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import CreateTableTransaction, StagedTable
from pyiceberg.table.metadata import TableMetadataUtil, new_table_metadata
from pyiceberg.table.sorting import NullOrder, SortDirection, SortField, SortOrder
from pyiceberg.table.update import TableRequirement, TableUpdate, update_table_metadata
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform
from pyiceberg.types import ListType, LongType, NestedField, StringType, TimestamptzType

from conftest import BUILD, TIMEOUT, canonical

UPDATES = TypeAdapter(list[TableUpdate])
REQUIREMENTS = TypeAdapter(list[TableRequirement])

# What Lake's clock says. PyIceberg's is the machine's, long before.
NOW = 4102444800000

COLUMNS = (
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "at", TimestamptzType()),
    NestedField(3, "name", StringType(), doc="what it is called"),
    NestedField(4, "tags", ListType(5, StringType(), element_required=True)),
)
DAY = PartitionField(2, 1000, DayTransform(), "at_day")
BUCKET = PartitionField(1, 1001, BucketTransform(16), "id_bucket")
BY_NAME = SortField(3, IdentityTransform(), SortDirection.DESC, NullOrder.NULLS_LAST)


def plain_table(version=2, **parts):
    made = {"schema": Schema(*COLUMNS[:3]), "partition_spec": PartitionSpec(), "sort_order": SortOrder(order_id=0)} | parts
    return new_table_metadata(
        location="s3://bucket/table",
        properties={"owner": "me", "format-version": str(version)},
        table_uuid=uuid.UUID("9c12d441-03fe-4693-9a96-a0705ddf69c1"),
        **made,
    ).model_copy(update={"last_updated_ms": 1000} | ({"next_row_id": 0} if version == 3 else {}))


def model(part):
    # Not the method of the part itself, which refuses to write version 3.
    return json.loads(BaseModel.model_dump_json(part, by_alias=True, exclude_none=True))


def snapshot(id, parent=None, sequence_number=None, **more):
    return {
        "snapshot-id": id,
        "parent-snapshot-id": parent,
        "sequence-number": id if sequence_number is None else sequence_number,
        "timestamp-ms": 1000 + 1000 * id,
        "manifest-list": f"s3://bucket/table/metadata/snap-{id}.avro",
        "summary": {"operation": "append", "added-records": "3"},
        "schema-id": 0,
    } | more


def add(*args, **more):
    return {"action": "add-snapshot", "snapshot": snapshot(*args, **more)}


def point(ref, id, type="branch", **more):
    return {"action": "set-snapshot-ref", "ref-name": ref, "snapshot-id": id, "type": type} | more


def statistics(id, path="s.puffin"):
    return {
        "action": "set-statistics",
        "snapshot-id": id,
        "statistics": {
            "snapshot-id": id,
            "statistics-path": path,
            "file-size-in-bytes": 100,
            "file-footer-size-in-bytes": 10,
            "blob-metadata": [
                {"type": "apache-datasketches-theta-v1", "snapshot-id": id, "sequence-number": id, "fields": [1]}
            ],
        },
    }


def partition_statistics(id, path="p.parquet"):
    file = {"snapshot-id": id, "statistics-path": path, "file-size-in-bytes": 100}
    return {"action": "set-partition-statistics", "partition-statistics": file}


def add_schema(columns, id):
    return {"action": "add-schema", "schema": model(Schema(*columns, schema_id=id))}


def add_spec(id, *fields):
    return {"action": "add-spec", "spec": model(PartitionSpec(*fields, spec_id=id))}


def add_sort_order(id, *fields):
    return {"action": "add-sort-order", "sort-order": model(SortOrder(*fields, order_id=id))}


def set_properties(**properties):
    return {"action": "set-properties", "updates": properties}


def three_snapshots(version=2):
    """A table whose history PyIceberg made: three snapshots, the first of them tagged."""
    metadata = plain_table(version)
    rows = {"first-row-id": 0, "added-rows": 0} if version == 3 else {}
    for id in (1, 2, 3):
        sequence_number = 0 if version == 1 else id
        commit = [add(id, id - 1 or None, sequence_number, **rows), point("main", id)]
        metadata = by_pyiceberg(metadata, commit, f"v{id - 1}.json")
    return by_pyiceberg(metadata, [point("first", 1, "tag")], "v3.json").model_copy(update={"last_updated_ms": 4500})


def by_pyiceberg(metadata, updates, location):
    parsed = tuple(UPDATES.validate_python(updates))
    return update_table_metadata(metadata, parsed, enforce_validation=True, metadata_location=location)


@pytest.fixture
def lake(tmp_path):
    """Has Lake commit to a table; gives the process that ended and the table's location."""

    def run(metadata, updates, requirements=()):
        location = "-"
        if metadata is not None:
            location = tmp_path / "base.metadata.json"
            location.write_text(json.dumps(model(metadata)), encoding="utf-8")
        files = []
        for name, content in (("requirements", list(requirements)), ("updates", updates)):
            files.append(tmp_path / f"{name}.json")
            files[-1].write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        ended = subprocess.run(
            [BUILD / "lake_update_tool", location, *files, str(NOW)],
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
            env=os.environ,
        )
        return ended, str(location)

    return run


def meaning(metadata, clock):
    """Returns what metadata says, with each time that a clock gave made the same."""
    metadata = canonical(metadata)
    if metadata["format-version"] == 1:
        for deprecated in ("schema", "partition-spec"):
            metadata.pop(deprecated, None)
    entries = [metadata, *metadata.get("snapshot-log", []), *metadata.get("metadata-log", [])]
    for entry in entries:
        for name in ("last-updated-ms", "timestamp-ms"):
            if name in entry and clock(entry[name]):
                entry[name] = "now"
    # PyIceberg forgets who the parent was when it removes a parent; the format lets it stand.
    known = {snapshot["snapshot-id"] for snapshot in metadata.get("snapshots", [])}
    for each in metadata.get("snapshots", []):
        if each.get("parent-snapshot-id") not in known:
            each.pop("parent-snapshot-id", None)
    if metadata.get("current-snapshot-id") == -1:
        del metadata["current-snapshot-id"]
    return {name: value for name, value in metadata.items() if value not in ([], {})}


def check_same(lake, metadata, updates):
    ended, location = lake(metadata, updates)
    assert ended.returncode == 0, ended.stderr
    before = time.time_ns() // 1_000_000
    theirs = by_pyiceberg(metadata, updates, location)
    after = time.time_ns() // 1_000_000
    ours = json.loads(ended.stdout)
    ours_say, theirs_say = meaning(ours, lambda at: at == NOW), meaning(model(theirs), lambda at: before <= at <= after)
    if ours.get("current-snapshot-id") == metadata.current_snapshot_id:
        # PyIceberg takes the time of a new snapshot for the table's although it is not the current one.
        assert ours_say["last-updated-ms"] == "now"
        theirs_say["last-updated-ms"] = "now"
    assert ours_say == theirs_say
    # What Lake writes is a table to PyIceberg, and the same one.
    read = TableMetadataUtil.parse_raw(ended.stdout)
    assert meaning(model(read), lambda at: at == NOW) == ours_say
    return ours


CHAINS = {
    "the first append": (
        lambda: plain_table(),
        [add(1), point("main", 1)],
    ),
    "an append to main with retention": (
        lambda: three_snapshots(),
        [add(4, 3), point("main", 4, **{"min-snapshots-to-keep": 3, "max-snapshot-age-ms": 5, "max-ref-age-ms": 6})],
    ),
    "an append on version 1": (
        lambda: three_snapshots(1),
        [add(4, 3, 0), point("main", 4)],
    ),
    "an append on version 3": (
        lambda: three_snapshots(3),
        [add(4, 3, **{"first-row-id": 0, "added-rows": 25}), point("main", 4)],
    ),
    "a snapshot that is only staged": (
        lambda: three_snapshots(),
        [add(4, 3)],
    ),
    "a branch and tags": (
        lambda: three_snapshots(),
        [
            add(4, 3),
            point("audit", 4),
            point("second", 2, "tag", **{"max-ref-age-ms": 86400000}),
            {"action": "remove-snapshot-ref", "ref-name": "first"},
            {"action": "remove-snapshot-ref", "ref-name": "never"},
        ],
    ),
    "a rollback": (
        lambda: three_snapshots(),
        [point("main", 2)],
    ),
    "main is removed": (
        lambda: three_snapshots(),
        [{"action": "remove-snapshot-ref", "ref-name": "main"}],
    ),
    "the oldest snapshots expire": (
        lambda: three_snapshots(),
        [statistics(1), statistics(3), {"action": "remove-snapshots", "snapshot-ids": [1, 2]}],
    ),
    "statistics come, change and go": (
        lambda: three_snapshots(),
        [
            statistics(1),
            statistics(2),
            statistics(1, "again.puffin"),
            {"action": "remove-statistics", "snapshot-id": 2},
            partition_statistics(1),
            partition_statistics(2),
            partition_statistics(1, "again.parquet"),
            {"action": "remove-partition-statistics", "snapshot-id": 2},
        ],
    ),
    "a column is added": (
        lambda: three_snapshots(),
        [add_schema(COLUMNS, 1), {"action": "set-current-schema", "schema-id": -1}],
    ),
    "a column is added and dropped again": (
        lambda: plain_table(),
        [
            add_schema(COLUMNS, 1),
            {"action": "set-current-schema", "schema-id": -1},
            {"action": "set-current-schema", "schema-id": 0},
        ],
    ),
    "schemas that nobody needs are removed": (
        lambda: plain_table(),
        [
            add_schema(COLUMNS, 1),
            add_schema(COLUMNS[:2], 2),
            {"action": "set-current-schema", "schema-id": -1},
            {"action": "remove-schemas", "schema-ids": [0, 1]},
        ],
    ),
    "partitioning evolves": (
        lambda: three_snapshots(),
        [
            add_spec(1, DAY),
            {"action": "set-default-spec", "spec-id": -1},
            add_spec(2, DAY, BUCKET),
            {"action": "set-default-spec", "spec-id": 2},
            {"action": "remove-partition-specs", "spec-ids": [1]},
        ],
    ),
    "rows are sorted, and then no more": (
        lambda: plain_table(),
        [
            add_sort_order(1, BY_NAME),
            {"action": "set-default-sort-order", "sort-order-id": -1},
            add_sort_order(2, SortField(1, IdentityTransform(), SortDirection.ASC, NullOrder.NULLS_FIRST), BY_NAME),
            {"action": "set-default-sort-order", "sort-order-id": 0},
        ],
    ),
    "properties and location": (
        lambda: three_snapshots(),
        [
            set_properties(a="1", owner="you"),
            {"action": "remove-properties", "removals": ["a"]},
            {"action": "set-location", "location": "s3://bucket/moved"},
            {"action": "assign-uuid", "uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1"},
        ],
    ),
    "a shorter metadata log": (
        lambda: three_snapshots(),
        [set_properties(**{"write.metadata.previous-versions-max": "2"})],
    ),
    "a metadata log of nothing keeps one": (
        lambda: three_snapshots(),
        [set_properties(**{"write.metadata.previous-versions-max": "0"})],
    ),
    "version 1 becomes version 2": (
        lambda: three_snapshots(1),
        [{"action": "upgrade-format-version", "format-version": 2}, add(4, 3, 1), point("main", 4)],
    ),
    "everything at once": (
        lambda: three_snapshots(),
        [
            set_properties(a="1"),
            add_schema(COLUMNS, 1),
            {"action": "set-current-schema", "schema-id": -1},
            add_spec(1, DAY, BUCKET),
            {"action": "set-default-spec", "spec-id": -1},
            add_sort_order(1, BY_NAME),
            {"action": "set-default-sort-order", "sort-order-id": -1},
            add(4, 3, **{"schema-id": 1}),
            point("main", 4),
            point("audit", 4),
            statistics(4),
            {"action": "remove-snapshots", "snapshot-ids": [1]},
        ],
    ),
}


@pytest.mark.parametrize("name", CHAINS)
def test_updates_have_the_same_effect(lake, name):
    make, updates = CHAINS[name]
    check_same(lake, make(), updates)


@pytest.mark.parametrize("version", (1, 2))
def test_a_table_of_version_3_counts_its_rows(lake, version):
    """PyIceberg upgrades to version 2 only."""
    ended, _ = lake(three_snapshots(version), [{"action": "upgrade-format-version", "format-version": 3}])
    assert ended.returncode == 0, ended.stderr
    metadata = TableMetadataUtil.parse_raw(ended.stdout)
    assert metadata.format_version == 3
    assert metadata.next_row_id == 0
    assert [each.first_row_id for each in metadata.snapshots] == [None, None, None]


@pytest.mark.parametrize("version", (1, 2, 3))
@pytest.mark.parametrize("shape", ("plain", "partitioned and sorted"))
def test_a_staged_table_is_created_as_it_was_staged(lake, version, shape):
    """The updates are the ones that PyIceberg itself sends."""
    parts = {} if shape == "plain" else {"partition_spec": PartitionSpec(DAY), "sort_order": SortOrder(BY_NAME, order_id=1)}
    staged = plain_table(version, **parts)
    table = StagedTable(("n", "t"), staged, "s3://bucket/table/metadata/0.json", None, None)
    updates = CreateTableTransaction(table)._updates
    text = UPDATES.dump_json(list(updates), by_alias=True, exclude_none=True).decode()
    ended, _ = lake(None, text, [{"type": "assert-create"}])
    assert ended.returncode == 0, ended.stderr
    ours = meaning(json.loads(ended.stdout), lambda at: at == NOW)
    assert ours.pop("last-updated-ms") == "now"
    expected = meaning(model(staged), lambda at: False)
    assert expected.pop("last-updated-ms") == 1000
    assert ours == expected
    if version == 3:
        return  # PyIceberg makes such a table in other ways only.
    applied = update_table_metadata(MetastoreCatalog._empty_table_metadata(), updates, enforce_validation=True)
    theirs = meaning(model(applied), lambda at: False)
    del theirs["last-updated-ms"]
    assert ours == theirs


WRONG = {
    "a stale sequence number": (add(4, 3, 2), "conflict"),
    "a snapshot that is there": (add(3, 2, 4), "already_exists"),
    "a ref to no snapshot": (point("main", 9), "invalid_argument"),
    "no such schema": ({"action": "set-current-schema", "schema-id": 9}, "invalid_argument"),
    "no last added schema": ({"action": "set-current-schema", "schema-id": -1}, "invalid_argument"),
    "the current schema goes": ({"action": "remove-schemas", "schema-ids": [0]}, "invalid_argument"),
    "no such spec": ({"action": "set-default-spec", "spec-id": 9}, "invalid_argument"),
    "no last added spec": ({"action": "set-default-spec", "spec-id": -1}, "invalid_argument"),
    "the default spec goes": ({"action": "remove-partition-specs", "spec-ids": [0]}, "invalid_argument"),
    "no such sort order": ({"action": "set-default-sort-order", "sort-order-id": 9}, "invalid_argument"),
    "no last added order": ({"action": "set-default-sort-order", "sort-order-id": -1}, "invalid_argument"),
    "a downgrade": ({"action": "upgrade-format-version", "format-version": 1}, "invalid_argument"),
    "a version of the future": ({"action": "upgrade-format-version", "format-version": 9}, "unimplemented"),
}


@pytest.mark.parametrize("name", WRONG)
def test_both_refuse_what_is_wrong(lake, name):
    update, code = WRONG[name]
    ended, location = lake(three_snapshots(), [update])
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"{code}: "), ended.stderr
    with pytest.raises(ValueError):
        by_pyiceberg(three_snapshots(), [update], location)


def test_both_refuse_an_unknown_action(lake):
    update = {"action": "shuffle"}
    ended, location = lake(plain_table(), [update])
    assert ended.returncode == 1
    assert "unknown table update 'shuffle'" in ended.stderr
    with pytest.raises(ValueError):
        by_pyiceberg(plain_table(), [update], location)


ASSERTIONS = [
    {"type": "assert-create"},
    *({"type": "assert-table-uuid", "uuid": f"9c12d441-03fe-4693-9a96-a0705ddf69c{digit}"} for digit in "12"),
    *(
        {"type": "assert-ref-snapshot-id", "ref": ref, "snapshot-id": id}
        for ref in ("main", "first", "never")
        for id in (None, 1, 3)
    ),
    *({"type": "assert-last-assigned-field-id", "last-assigned-field-id": id} for id in (3, 4)),
    *({"type": "assert-current-schema-id", "current-schema-id": id} for id in (0, 1)),
    *({"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": id} for id in (999, 1000)),
    *({"type": "assert-default-spec-id", "default-spec-id": id} for id in (0, 1)),
    *({"type": "assert-default-sort-order-id", "default-sort-order-id": id} for id in (0, 1)),
]


def test_requirements_hold_and_fail_alike(lake):
    metadata = three_snapshots()
    outcomes = []
    for requirement in ASSERTIONS:
        (parsed,) = REQUIREMENTS.validate_python([requirement])
        try:
            parsed.validate(metadata)
            holds = True
        except CommitFailedException:
            holds = False
        ended, _ = lake(metadata, [], [requirement])
        assert (ended.returncode == 0) == holds, (requirement, ended.stderr)
        if not holds:
            assert ended.stderr.startswith("conflict: Requirement failed: "), ended.stderr
        outcomes.append(holds)
    assert outcomes.count(True) == 9 and outcomes.count(False) == 13


def test_a_missing_table_meets_no_requirement_but_that_it_is_missing(lake):
    updates = [add_schema(COLUMNS, 0), {"action": "set-location", "location": "s3://bucket/table"}]
    updates.append({"action": "assign-uuid", "uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1"})
    for requirement in ASSERTIONS:
        ended, _ = lake(None, updates, [requirement])
        may_be_missing = requirement["type"] == "assert-create" or requirement.get("snapshot-id", 0) is None
        assert (ended.returncode == 0) == may_be_missing, (requirement, ended.stderr)
