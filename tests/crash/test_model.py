"""What the comparison of a crash run notices, one thing at a time, without a lake."""

import failpoints
import pytest
from model import Append, Changes, Contents, Seen, State, compare, compare_living, compare_name, compare_while_others_write


def append(number=1, state=State.ACKED, rows=3, **options):
    return Append(number=number, name="c.t", rows=rows, operation=f"op{number}", state=state, **options)


def rows_of(one, **differently):
    exact = {"op": one.number, "n": one.rows, "different": one.rows, "first": one.first, "last": one.first + one.rows - 1, "good": one.rows}
    return Seen(**{**exact, **differently})


def holding(*rows, uuid="u", living=True):
    return Contents(uuid, f"table {uuid}", living, {one.op: one for one in rows})


def test_what_is_as_it_must_be_has_no_differences():
    acked, failed, unknown, whole = append(1), append(2, State.FAILED), append(3, State.UNKNOWN), append(4, State.UNKNOWN)
    comparison = compare([acked, failed, unknown, whole], [holding(rows_of(acked), rows_of(whole)), holding(uuid="v")])
    assert (comparison.differences, comparison.lost, comparison.duplicated) == ([], 0, 0)


def test_an_acknowledged_append_that_is_nowhere_is_lost():
    comparison = compare([append()], [holding()])
    assert comparison.lost == 1 and comparison.duplicated == 0 and "lost 3 rows" in comparison.differences[0]


def test_rows_that_are_there_twice_are_duplicated():
    one = append()
    assert compare([one], [holding(rows_of(one, n=6, good=6))]).duplicated == 1
    assert compare([one], [holding(rows_of(one)), holding(rows_of(one), uuid="v")]).duplicated == 1


@pytest.mark.parametrize("differently", [{"n": 2, "different": 2, "good": 2}, {"different": 2}, {"good": 2}, {"last": 7}, {"first": 0}])
@pytest.mark.parametrize("state", [State.ACKED, State.UNKNOWN])
def test_an_append_is_there_whole_or_not_at_all(state, differently):
    one = append(state=state)
    assert len(compare([one], [holding(rows_of(one, **differently))]).differences) == 1


@pytest.mark.parametrize("state", [State.FAILED, State.NEW])
def test_what_was_reported_failed_is_not_visible(state):
    one = append(state=state)
    assert "reported failed and is visible" in compare([one], [holding(rows_of(one))]).differences[0]
    assert len(compare([one], [holding(rows_of(one), living=False)]).differences) == 1


def test_rows_that_nobody_wrote_are_noticed():
    assert "nobody wrote" in compare([], [holding(rows_of(append(9)))]).differences[0]
    assert "nobody wrote" in compare([append()], [holding(rows_of(append())), holding(rows_of(append(), op=None), uuid="v")]).differences[0]


def test_rows_do_not_move_to_another_table():
    one = append(home="u")
    assert compare([one], [holding(rows_of(one))]).differences == []
    assert "moved" in compare([one], [holding(), holding(rows_of(one), uuid="v")]).differences[0]


def test_what_can_only_be_in_a_dropped_table_is_in_no_other():
    one = append(state=State.UNKNOWN, only_in_dropped=True)
    assert compare([one], []).differences == []
    assert compare([one], [holding(rows_of(one), living=False)]).differences == []
    assert len(compare([one], [holding(rows_of(one))]).differences) == 1


def test_a_look_at_some_tables_asks_for_what_belongs_there():
    here, new, elsewhere = append(1, home="u"), append(2), append(3, home="v")
    assert compare_living([here, new, elsewhere], [holding(rows_of(here), rows_of(new))], {"c.t"}).differences == []
    assert compare_living([here, new, elsewhere], [holding(rows_of(new))], {"c.t"}).lost == 1
    assert compare_living([here, new, elsewhere], [holding(rows_of(here))], {"c.t"}).lost == 1


def test_a_reader_sees_what_was_there_and_anything_newer_whole():
    old, new, failed = append(1, home="u"), append(2, State.UNKNOWN), append(3, State.FAILED)
    appends = [old, new, failed]
    assert compare_while_others_write(appends, holding(rows_of(old))).differences == []
    assert compare_while_others_write(appends, holding(rows_of(old), rows_of(new))).differences == []
    for wrong in (holding(), holding(rows_of(old), rows_of(new, n=2)), holding(rows_of(old), rows_of(failed))):
        assert len(compare_while_others_write(appends, wrong).differences) == 1


@pytest.mark.parametrize(
    ("before", "changes", "now"),
    [
        ("u", Changes(), "u"),
        (None, Changes(), None),
        ("u", Changes(dropped={"u"}), None),
        ("u", Changes(dropped={"u"}, made={"v"}), "v"),
        ("u", Changes(dropped={"u"}, fillers=True), "w"),
        ("u", Changes(dropped={"u", "w"}, fillers=True), None),
        (None, Changes(made={"v"}), "v"),
        (None, Changes(fillers=True), None),
    ],
)
def test_a_name_has_the_table_that_was_acknowledged(before, changes, now):
    assert compare_name("c.t", before, changes, now) == []


@pytest.mark.parametrize(
    ("before", "changes", "now"),
    [
        ("u", Changes(), None),
        ("u", Changes(), "w"),
        (None, Changes(), "w"),
        ("u", Changes(dropped={"u"}), "u"),
        ("u", Changes(dropped={"u"}), "w"),
        ("u", Changes(dropped={"u"}, made={"v"}), None),
        ("u", Changes(made={"v"}), "v"),
        ("u", Changes(dropped={"w"}), "u"),
        (None, Changes(made={"v"}), None),
        (None, Changes(made={"v", "w"}), "w"),
        ("u", Changes(fillers=True), "w"),
    ],
)
def test_a_name_with_another_table_is_noticed(before, changes, now):
    assert compare_name("c.t", before, changes, now) != []


def test_a_failpoint_that_nothing_reaches_is_noticed():
    known = [*failpoints.REACHED_BY, *failpoints.ELSEWHERE]
    assert failpoints.uncovered(known) == []
    assert "does not say which command reaches it" in failpoints.uncovered([*known, "before-tea"])[0]
    assert "does not know it" in failpoints.uncovered(known[1:])[0]
