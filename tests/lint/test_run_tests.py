"""Tests of how tools/run_tests.py counts: a number that flatters would be worse than none."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

import run_tests  # noqa: E402


def junit(*cases):
    return "<testsuites><testsuite>" + "".join(cases) + "</testsuite></testsuites>"


PASSED = '<testcase name="a" status="run"/>'
FAILED = '<testcase name="b" status="run"><failure message="x"/></testcase>'
ERROR = '<testcase name="c"><error message="x"/></testcase>'
SKIPPED = '<testcase name="d" status="run"><skipped/></testcase>'


def count(tmp_path, ctest, **cases):
    (tmp_path / "ctest.xml").write_text(f"<testsuite>{ctest}</testsuite>")
    for name, text in cases.items():
        (tmp_path / f"{name}.xml").write_text(text)
    total, failures = run_tests.count_tests(tmp_path / "ctest.xml", tmp_path)
    return (total.passed, total.failed, total.skipped), failures


@pytest.mark.parametrize(
    "ctest, cases, counted, failures",
    [
        ('<testcase name="t" status="run"/>', junit(PASSED, PASSED, SKIPPED), (2, 0, 1), []),
        ('<testcase name="t" status="fail"/>', junit(PASSED, FAILED, ERROR), (1, 2, 0), ["t"]),
        # The program died after its last case, or before it could write: the failure counts all the same.
        ('<testcase name="t" status="fail"/>', junit(PASSED), (1, 1, 0), ["t"]),
        ('<testcase name="t" status="fail"/>', "<testsuites><test", (0, 1, 0), ["t"]),
        # A program without cases counts as one.
        ('<testcase name="t" status="run"/>', junit(), (1, 0, 0), []),
        # A program that is missing has not passed.
        ('<testcase name="t" status="notrun"/>', junit(), (0, 1, 0), ["t (did not run)"]),
    ],
)
def test_what_ctest_says_and_what_programs_say_is_counted(tmp_path, ctest, cases, counted, failures):
    assert count(tmp_path, ctest, t=cases) == (counted, failures)


def test_a_test_without_a_file_of_cases_counts_as_one(tmp_path):
    assert count(tmp_path, '<testcase name="t" status="run"/>') == ((1, 0, 0), [])
    assert count(tmp_path, '<testcase name="t" status="fail"/>') == ((0, 1, 0), ["t"])


@pytest.mark.parametrize("passed, failed, status, line", [(3, 0, 0, "3 passed, 0 failed"), (3, 1, 1, "3 passed, 1 failed"), (0, 0, 1, "0 passed")])
def test_only_a_run_that_passed_something_and_failed_nothing_succeeds(capsys, passed, failed, status, line):
    run = run_tests.Run(0.0)
    run.end("phase", run_tests.Count(passed=passed, failed=failed))
    assert run.finish() == status
    assert capsys.readouterr().out.splitlines()[-1].startswith(line)


def test_a_build_that_fails_is_a_failure():
    run = run_tests.Run(0.0)
    run.end("build x", run_tests.Count(failed=1), ["does not build"])
    assert run.failures == ["build x: does not build"] and run.finish() == 1
