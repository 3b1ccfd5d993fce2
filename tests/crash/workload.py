"""The commands that a run gives: what they write, and the files they read."""

import csv
import dataclasses
import json

import pyarrow
import pyarrow.parquet
from model import ROWS_MAX, SUMMARY, Append, State, payload
from processes import uuid7

NAMESPACE = "c"
TABLES = tuple(f"{NAMESPACE}.t{number}" for number in range(4))
COLUMNS = ("id long required", "op long required", "payload string")
FORMATS = ("csv", "parquet", "json")
# Most appends are small, so that their steps weigh more than their rows.
ROW_COUNTS = (1, 2, 7, 40, 300, 300, 20_000)
# Longer than any process of a run lives.
WAIT_SECONDS = "100"


def write_rows(path, number, ids):
    """Writes rows of append `number` into a file of the format that its name says."""
    rows = [(row_id, number, payload(number, row_id)) for row_id in ids]
    names = ("id", "op", "payload")
    if path.suffix == ".parquet":
        columns = list(zip(*rows, strict=True))
        types = (pyarrow.int64(), pyarrow.int64(), pyarrow.string())
        arrays = [pyarrow.array(column, kind) for column, kind in zip(columns, types, strict=True)]
        pyarrow.parquet.write_table(pyarrow.table(arrays, names=list(names)), path)
        return
    with open(path, "w", encoding="utf-8", newline="") as file:
        if path.suffix == ".csv":
            csv.writer(file).writerows([names, *rows])
        else:
            file.writelines(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)


@dataclasses.dataclass(eq=False)
class Change:
    """A command that is no append. Compared by identity."""

    kind: str  # "create", "drop", "register", "namespace", "read"
    name: str
    operation: str
    arguments: tuple
    state: State = State.NEW
    answer: list | None = None  # What a reader saw.
    only_in_dropped: bool = False


class Workload:
    """Makes commands, and remembers the appends."""

    def __init__(self, folder, rng):
        self.folder = folder / "inputs"
        self.folder.mkdir(exist_ok=True)
        self.rng = rng
        self.appends = []

    def append(self, table, *, create=False, rows=None, wait=WAIT_SECONDS):
        """Returns an append of rows that no other has, from one to four files of any formats."""
        append = Append(number=len(self.appends) + 1, name=table, rows=rows or self.rng.choice(ROW_COUNTS))
        self.appends.append(append)
        files = min(self.rng.choice((1, 1, 1, 2, 3, 4)), append.rows)
        cuts = [0, *sorted(self.rng.sample(range(1, append.rows), files - 1)), append.rows]
        paths = []
        for part, (begin, end) in enumerate(zip(cuts, cuts[1:], strict=False)):
            path = self.folder / f"{append.number:05}-{part}.{self.rng.choice(FORMATS)}"
            write_rows(path, append.number, range(append.first + begin, append.first + end))
            paths.append(str(path))
        return self._finish(append, paths, create, wait)

    def poison(self, table):
        """Returns an append that cannot succeed: a column that the table does not have."""
        append = Append(number=len(self.appends) + 1, name=table, rows=1)
        self.appends.append(append)
        path = self.folder / f"{append.number:05}-poison.csv"
        path.write_text(f"id,op,payload,more\n{append.first},{append.number},{payload(append.number, append.first)},1\n", encoding="utf-8")
        return self._finish(append, [str(path)], False, WAIT_SECONDS)

    def stolen(self, victim):
        """Returns an append of other rows under the id of another operation."""
        append = self.append(victim.name)
        append.arguments = tuple(victim.operation if argument == append.operation else argument for argument in append.arguments)
        append.operation = victim.operation
        return append

    def _finish(self, append, paths, create, wait):
        append.operation = uuid7(self.rng)
        flags = ("--create",) if create else ()
        append.arguments = ("append", append.name, *paths, *flags, "--wait", wait, "--json", "--operation-id", append.operation)
        return append

    def create(self, table):
        columns = [word for column in COLUMNS for word in ("--column", column)]
        return self._change("create", table, "table", "create", table, *columns)

    def drop(self, table):
        return self._change("drop", table, "table", "drop", table)

    def register(self, table, metadata_location):
        return self._change("register", table, "table", "register", table, metadata_location)

    def namespace(self, number):
        """Returns the creation of a namespace; number 0 is the one in which all others are."""
        name = f"{NAMESPACE}.n{number}" if number else NAMESPACE
        return self._change("namespace", name, "namespace", "create", name)

    def read(self, table):
        return Change("read", table, "", ("sql", SUMMARY.format(table), "--output", "json", "--wait", WAIT_SECONDS))

    def _change(self, kind, name, *arguments):
        operation = uuid7(self.rng)
        return Change(kind, name, operation, (*arguments, "--wait", WAIT_SECONDS, "--json", "--operation-id", operation))


assert max(ROW_COUNTS) <= ROWS_MAX
