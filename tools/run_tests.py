"""Builds Lake in its three test configurations and runs the tests of each: the body of `make test`.

    asan     everything under AddressSanitizer and UBSan: unit, conformance, golden, integration and lint tests
    release  the program as people run it: the golden, integration and demo tests again
    tsan     base, metastore, lease and catalog under ThreadSanitizer
    tidy     clang-tidy, on the files that changed or on all of them

A build that fails ends the run; a test that fails does not. The last line says how many test cases passed and failed, and the
exit status is 0 only if none failed.
"""

import argparse
import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
JOBS = str(os.cpu_count() or 1)

# What runs again on the release build: the tests that start the real program.
RELEASE_LABELS = "integration|golden|demo"
# Tests that only make sense on the release build.
RELEASE_ONLY_LABEL = "demo"


@dataclasses.dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped


class Run:
    """The phases of one run: their times, their counts and what failed in them."""

    def __init__(self, started):
        self.total = Count()
        self.phases = []
        self.failures = []
        self.started = started
        self.phase_started = started

    def begin(self, name):
        print(f"\n== {name}", flush=True)
        self.phase_started = time.time()

    def end(self, name, count=None, failures=()):
        self.phases.append((name, time.time() - self.phase_started, count))
        self.failures.extend(f"{name}: {failure}" for failure in failures)
        if count is not None:
            self.total.add(count)

    def finish(self):
        """Prints the summary and returns the exit status."""
        print("\n== summary")
        for name, seconds, count in self.phases:
            told = "" if count is None else f"   {count.passed} passed, {count.failed} failed"
            print(f"{name:<16}{seconds / 60:6.1f} min{told}")
        print(f"{'all':<16}{(time.time() - self.started) / 60:6.1f} min")
        for failure in self.failures:
            print(f"FAILED {failure}")
        skipped = f", {self.total.skipped} skipped" if self.total.skipped else ""
        print(f"{self.total.passed} passed, {self.total.failed} failed{skipped}", flush=True)
        return 1 if self.total.failed or not self.total.passed else 0


def count_cases(path):
    """Counts the test cases of a JUnit file, or gives None if there is no such file or it cannot be read."""
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError):
        return None
    count = Count()
    for case in root.iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            count.failed += 1
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            count.skipped += 1
        else:
            count.passed += 1
    return count


def count_tests(junit, cases):
    """Counts what ctest ran, by its own JUnit file and the files that the test programs wrote into the folder `cases`.

    Returns the count and the names of the failed tests. A test that ctest calls failed counts as a failure even when its program
    died before it could say which case it was in.
    """
    total = Count()
    failures = []
    for test in ElementTree.parse(junit).getroot().iter("testcase"):
        name = test.get("name")
        status = test.get("status")
        if status in ("notrun", "disabled"):
            # A program that is missing has not passed.
            total.add(Count(failed=1))
            failures.append(f"{name} (did not run)")
            continue
        count = count_cases(cases / f"{name}.xml") or Count()
        if status == "run":
            if count.passed + count.failed + count.skipped == 0:
                count.passed = 1
        else:
            count.failed = max(count.failed, 1)
            failures.append(name)
        total.add(count)
    return total, failures


def run_ctest(run, preset, arguments):
    name = f"test {preset}"
    run.begin(name)
    build = ROOT / "build" / preset
    cases = build / "cases"
    shutil.rmtree(cases, ignore_errors=True)
    junit = build / "ctest.xml"
    junit.unlink(missing_ok=True)
    subprocess.run(
        ["ctest", "--test-dir", str(build), "--output-junit", str(junit), "--output-on-failure", "--no-tests=error", "-j", JOBS]
        + arguments,
        cwd=ROOT,
        check=False,
    )
    if junit.exists():
        count, failures = count_tests(junit, cases)
    else:
        count, failures = Count(), []
    if count.passed + count.failed == 0:
        count, failures = Count(failed=1), ["no test ran"]
    run.end(name, count, failures)


def run_build(run, preset, targets):
    """Configures and builds. Returns whether both succeeded; if not, the run has one failure more."""
    name = f"build {preset}"
    run.begin(name)
    build = ["cmake", "--build", "--preset", preset, "--target", *targets]
    succeeded = all(
        subprocess.run(command, cwd=ROOT, check=False).returncode == 0
        for command in (["cmake", "--preset", preset, "--log-level=WARNING"], build)
    )
    run.end(name, None if succeeded else Count(failed=1), [] if succeeded else ["does not build"])
    return succeeded


def run_tidy(run, what):
    name = f"tidy {what}"
    run.begin(name)
    tidy = subprocess.run([sys.executable, "tools/clang_tidy.py", f"--{what}"], cwd=ROOT, check=False)
    passed = tidy.returncode == 0
    run.end(name, Count(passed=1) if passed else Count(failed=1), [] if passed else ["clang-tidy has findings"])


def run_all(run, tidy):
    if not run_build(run, "asan", ["all", "all_verify_interface_header_sets"]):
        return
    run_ctest(run, "asan", ["--label-exclude", RELEASE_ONLY_LABEL])
    if not run_build(run, "release", ["lake", "lake_golden_tool", "lake_update_tool", "benches"]):
        return
    run_ctest(run, "release", ["--label-regex", RELEASE_LABELS])
    if not run_build(run, "tsan", ["all"]):
        return
    run_ctest(run, "tsan", [])
    run_tidy(run, tidy)


def main():
    parser = argparse.ArgumentParser(description="Build and run every test.")
    parser.add_argument("--started", type=float, default=time.time(), help="when set-up began, in seconds since 1970")
    parser.add_argument("--tidy", choices=("changed", "all"), default="changed", help="which files clang-tidy reads")
    arguments = parser.parse_args()
    run = Run(arguments.started)
    run.end("set-up")
    run_all(run, arguments.tidy)
    return run.finish()


if __name__ == "__main__":
    sys.exit(main())
