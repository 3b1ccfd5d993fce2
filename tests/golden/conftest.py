"""What the golden tests share: reading an Iceberg table with PyIceberg, down to the last entry of its manifests."""

import os
import pathlib
from collections.abc import Mapping

BUILD = pathlib.Path(os.environ["LAKE_BUILD_DIR"])
BINARY = pathlib.Path(os.environ["LAKE_BINARY"])

# A command that takes longer hangs.
TIMEOUT = 120


def fields_of(record, names):
    return {name: getattr(record, name) for name in names}


DATA_FILE_FIELDS = (
    "content file_path file_format record_count file_size_in_bytes column_sizes value_counts null_value_counts "
    "nan_value_counts lower_bounds upper_bounds key_metadata split_offsets equality_ids sort_order_id"
).split()
ENTRY_FIELDS = "status snapshot_id sequence_number file_sequence_number".split()
MANIFEST_FIELDS = (
    "partition_spec_id content sequence_number min_sequence_number added_snapshot_id added_files_count "
    "existing_files_count deleted_files_count added_rows_count existing_rows_count deleted_rows_count key_metadata"
).split()
SUMMARY_FIELDS = "contains_null contains_nan lower_bound upper_bound".split()


def plain(value):
    """Returns a field's value with what means the same made equal: no map or list is as good as an empty one."""
    if isinstance(value, (Mapping, list)) and not value:
        return None
    return dict(value) if isinstance(value, Mapping) else value


def entry_meaning(entry):
    data_file = entry.data_file
    return {
        **{name: plain(value) for name, value in fields_of(entry, ENTRY_FIELDS).items()},
        **{name: plain(value) for name, value in fields_of(data_file, DATA_FILE_FIELDS).items()},
        "partition": [data_file.partition[i] for i in range(len(data_file.partition))],
    }


def summary_meaning(summary):
    fields = fields_of(summary, SUMMARY_FIELDS)
    fields["contains_nan"] = bool(fields["contains_nan"])
    return fields


def manifest_meaning(manifest, io):
    """Returns everything a manifest says, but for where it is and how long."""
    return {
        **fields_of(manifest, MANIFEST_FIELDS),
        "partitions": [summary_meaning(summary) for summary in manifest.partitions or []],
        "entries": [entry_meaning(entry) for entry in manifest.fetch_manifest_entry(io, discard_deleted=False)],
    }


def snapshot_meaning(table, snapshot):
    return [manifest_meaning(manifest, table.io) for manifest in snapshot.manifests(table.io)]


def rows(table, **scan):
    """Returns a table's rows, in the order of their texts: scans promise no order."""
    arrow = table.scan(**scan).to_arrow()
    return sorted(map(repr, arrow.to_pylist()))


def canonical(json_value):
    """Drops what says nothing: members that are null, a list of no identifier fields, blanks in the names of types."""
    if isinstance(json_value, dict):
        return {
            name: canonical(value)
            for name, value in json_value.items()
            if value is not None and (name, value) != ("identifier-field-ids", [])
        }
    if isinstance(json_value, list):
        return [canonical(value) for value in json_value]
    if isinstance(json_value, str) and json_value.startswith("decimal("):
        return json_value.replace(" ", "")
    return json_value
