"""What the tables have to hold, and how that is compared with what they do hold. Pure: it starts nothing and reads no files.

Every append writes rows of its own: `id` from a range that no other append has, `op` its number, `payload` made of both. So each row in
a table says which append wrote it, and a row that is missing, twice there or changed is told from every other.

A table is followed by its incarnation (its UUID), not by its name: a dropped one still has its rows, and one that has its name now has
others.
"""

import dataclasses
import enum

# An append has at most so many rows: the ids of append n are n * ROWS_MAX, n * ROWS_MAX + 1, …
ROWS_MAX = 1_000_000


def payload(number, row_id):
    return f"r{number}.{row_id}"


# Sums up the rows of a table by append, in words that `Seen` takes.
SUMMARY = (
    "select op, count(*) as n, count(distinct id) as different, min(id) as first, max(id) as last, "
    "count(*) filter (where payload = concat('r', op, '.', id)) as good from {} group by op"
)


class State(enum.Enum):
    NEW = "new"  # Not asked for yet.
    ACKED = "acked"
    FAILED = "failed"  # Certainly not done.
    UNKNOWN = "unknown"


@dataclasses.dataclass(eq=False)
class Append:
    """One append, whatever became of it. Compared by identity."""

    number: int
    name: str  # Of the table.
    rows: int
    operation: str = ""
    arguments: tuple = ()
    state: State = State.NEW
    # Since it was done, or may have been, its table has been dropped: if it is anywhere, then in a dropped table.
    only_in_dropped: bool = False
    home: str | None = None  # The incarnation that its rows were found in after a round.

    kind = "append"

    @property
    def first(self):
        return self.number * ROWS_MAX


@dataclasses.dataclass(frozen=True)
class Seen:
    """The rows of one append in one table, summed up."""

    op: int | None
    n: int
    different: int
    first: int | None
    last: int | None
    good: int

    def is_exactly(self, append):
        return (self.n, self.different, self.good) == (append.rows,) * 3 and (self.first, self.last) == (
            append.first,
            append.first + append.rows - 1,
        )


@dataclasses.dataclass
class Contents:
    """What one incarnation was seen to hold."""

    uuid: str
    where: str  # For people: its name, or that it is dropped.
    living: bool
    seen: dict  # Seen, by number of the append.


def contents(uuid, where, living, rows):
    return Contents(uuid, where, living, {row["op"]: Seen(**row) for row in rows})


@dataclasses.dataclass
class Comparison:
    """What differs, in words, and how many acknowledged appends are lost, how many appends duplicated."""

    differences: list = dataclasses.field(default_factory=list)
    lost: int = 0
    duplicated: int = 0

    def differ(self, text):
        self.differences.append(text)


def _compare_one(append, places, comparison):
    """Compares one append with every place in which rows of it were seen."""
    name = f"append {append.number} ({append.operation}) to {append.name}"
    rows = sum(place.seen[append.number].n for place in places)
    different = [f"{place.where} has {place.seen[append.number]}" for place in places]
    if append.state in (State.FAILED, State.NEW):
        if places:
            comparison.differ(f"{name} was reported failed and is visible: {different}")
        return
    may_be_absent = append.state is State.UNKNOWN or append.only_in_dropped
    if not places and may_be_absent:
        return
    if not places:
        comparison.lost += 1
        comparison.differ(f"{name} was acknowledged and is nowhere: lost {append.rows} rows")
        return
    exact = [place for place in places if place.seen[append.number].is_exactly(append)]
    if len(places) == 1 and exact:
        return
    if rows > append.rows:
        comparison.duplicated += 1
    elif append.state is State.ACKED:
        comparison.lost += 1
    comparison.differ(f"{name} is {append.state.value} and has {rows} of {append.rows} rows: {different}")


def compare(appends, seen):
    """Compares every append with the contents of every incarnation."""
    comparison = Comparison()
    by_number = {append.number: append for append in appends}
    places = {number: [] for number in by_number}
    for one in seen:
        for number, rows in one.seen.items():
            if number in places:
                places[number].append(one)
            else:
                comparison.differ(f"{one.where} has rows that nobody wrote: {rows}")
    for number, append in by_number.items():
        _compare_one(append, places[number], comparison)
        for place in places[number]:
            if append.home not in (None, place.uuid):
                comparison.differ(f"append {number} moved from table {append.home} to {place.uuid} ({place.where})")
            elif append.only_in_dropped and place.living:
                comparison.differ(f"append {number} was reported to be in a dropped table only, and is in {place.where}")
    return comparison


def compare_living(appends, seen, tables):
    """Compares what is visible in `tables` before anybody found out about what is unknown. Nobody dropped or made any of them meanwhile."""
    uuids = {one.uuid for one in seen}
    return compare([one for one in appends if one.home in uuids or (one.home is None and one.name in tables)], seen)


@dataclasses.dataclass
class Changes:
    """What changes of one name were acknowledged in a round, by the incarnations that they answered with."""

    made: set = dataclasses.field(default_factory=set)  # By `table create` and `table register`.
    dropped: set = dataclasses.field(default_factory=set)
    fillers: bool = False  # Somebody made the table with `append --create`, or tried.


def compare_name(name, before, changes, now):
    """Returns what is wrong with which incarnation a name has `now`, given the one it had `before` and what was acknowledged."""
    wrong = []
    known = changes.made | ({before} if before else set())
    if now in changes.dropped:
        wrong.append(f"{name}: the drop of {now} was acknowledged, and it is there")
    left = known - changes.dropped
    if len(left) > 1:
        wrong.append(f"{name}: several tables were acknowledged under one name: {sorted(left)}")
    elif left and now not in left:
        wrong.append(f"{name}: table {left.pop()} was acknowledged and never dropped, and the name has {now}")
    elif not left and now is not None and now not in changes.dropped and not changes.fillers:
        wrong.append(f"{name}: table {now} is there, and nobody made it")
    unknown = changes.dropped - known
    if unknown and not changes.fillers:
        wrong.append(f"{name}: tables {sorted(unknown)} were dropped, and nobody made them")
    return wrong


def compare_while_others_write(appends, one):
    """Compares what a reader saw of a table that nobody dropped: what was there before is there, anything newer whole or not at all."""
    comparison = Comparison()
    by_number = {append.number: append for append in appends}
    for number, rows in one.seen.items():
        append = by_number.get(number)
        if append is None or append.state is State.FAILED or not rows.is_exactly(append):
            comparison.differ(f"a reader of {one.where} saw {rows} of {append}")
    for append in appends:
        if append.home == one.uuid and append.number not in one.seen:
            comparison.lost += 1
            comparison.differ(f"a reader of {one.where} did not see append {append.number}, which had been there")
    return comparison
