"""Runs clang-tidy over our sources and headers, several at a time, with the checks of .clang-tidy.

    tools/clang_tidy.py --changed     what differs from the upstream branch, or was changed by the last commits
    tools/clang_tidy.py --all         everything
    tools/clang_tidy.py FILE…         just these

"Changed" is decided by git alone, so two runs on one commit read the same files: uncommitted files first, then the commits that
the upstream branch lacks or, when it lacks none (as on continuous integration), the last CHANGED_COMMITS_MAX commits, newest
first. Files are taken as long as there are no more than CHANGED_FILES_MAX, about four minutes of two processors. A file that
includes DuckDB takes minutes by itself, so those are read by --all alone. What is left out is said.

The exit status is 0 when there is no finding.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "tidy"
FOLDERS = ("src/", "apps/", "tests/", "bench/")
CHANGED_COMMITS_MAX = 20
CHANGED_FILES_MAX = 24
DUCKDB_FOLDER = "src/lake/sql/"
FILE_SECONDS_MAX = 900

# GoogleTest's macros make the path-sensitive checks slow and wrong: they do not know that ASSERT_* leaves the function.
TEST_CHECKS = ",".join(
    (
        "-clang-analyzer-*",
        "-concurrency-mt-unsafe",
        "-cppcoreguidelines-avoid-non-const-global-variables",
        "-performance-inefficient-vector-operation",
    )
)


def git(*arguments):
    """Returns the lines git prints, or none when it fails."""
    done = subprocess.run(["git", "-c", "safe.directory=*", *arguments], cwd=ROOT, check=False, capture_output=True, text=True)
    return done.stdout.splitlines() if done.returncode == 0 else []


def is_ours(path):
    return path.endswith((".cc", ".h")) and path.startswith(FOLDERS)


def changed_files():
    """Returns the changed files, newest first, as many as CHANGED_FILES_MAX admits, and how many were left out."""
    found = {}  # A dict keeps the order.

    def take(paths):
        found.update((path, None) for path in paths if is_ours(path) and (ROOT / path).is_file())

    take(git("diff", "--name-only", "HEAD"))
    take(git("ls-files", "--others", "--exclude-standard"))
    commits = git("rev-list", "@{upstream}..HEAD") or git("rev-list", f"--max-count={CHANGED_COMMITS_MAX}", "HEAD")
    for commit in commits[:CHANGED_COMMITS_MAX]:
        take(git("diff-tree", "--root", "--no-commit-id", "--name-only", "-r", commit))
    files = [path for path in found if not path.startswith(DUCKDB_FOLDER)][:CHANGED_FILES_MAX]
    return files, len(found) - len(files)


def built_files():
    """Returns the sources that the compile commands name, relative to the root."""
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    files = {os.path.relpath(os.path.join(command["directory"], command["file"]), ROOT) for command in commands}
    return {path for path in files if is_ours(path)}


def configure():
    done = subprocess.run(
        ["cmake", "--preset", "tidy", "--log-level=WARNING"], cwd=ROOT, check=False, capture_output=True, text=True
    )
    if done.returncode != 0:
        sys.exit(f"clang_tidy: the tidy preset does not configure:\n{done.stdout}{done.stderr}")


def check(path):
    """Returns what clang-tidy found in one file, or an empty text."""
    command = ["clang-tidy-19", "-p", str(BUILD), "--quiet"]
    if path.endswith(("_test.cc", "_suite.h")):
        command.append(f"--checks={TEST_CHECKS}")
    try:
        done = subprocess.run(
            [*command, path], cwd=ROOT, check=False, capture_output=True, text=True, timeout=FILE_SECONDS_MAX
        )
    except subprocess.TimeoutExpired:
        return f"{path}: clang-tidy took longer than {FILE_SECONDS_MAX} s\n"
    if done.returncode == 0:
        return ""
    return done.stdout or done.stderr


def main():
    parser = argparse.ArgumentParser(description="Run clang-tidy.")
    parser.add_argument("--all", action="store_true", help="every source and header")
    parser.add_argument("--changed", action="store_true", help="what changed lately")
    parser.add_argument("files", nargs="*", help="just these files")
    arguments = parser.parse_args()
    configure()
    if arguments.all:
        files = sorted(built_files()) + sorted(path for path in git("ls-files", "*.h") if is_ours(path))
    elif arguments.changed:
        files, left_out = changed_files()
        if left_out:
            print(f"clang_tidy: {left_out} changed files more than fit into the time; `make check` reads them too")
        files = [path for path in files if path.endswith(".h") or path in built_files()]
    else:
        files = [os.path.relpath(path, ROOT) for path in arguments.files]
    if not files:
        print("clang_tidy: nothing to read")
        return 0

    findings = set()
    bad_files = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        for done, (path, found) in enumerate(zip(files, pool.map(check, files)), start=1):
            print(f"[{done}/{len(files)}] {path}", flush=True)
            if found:
                bad_files += 1
                # A finding in a header comes up with every file that includes it: once is enough.
                if found not in findings:
                    print(found, flush=True)
                findings.add(found)
    print(f"clang_tidy: {len(files)} files read, findings in {bad_files}")
    return 1 if bad_files else 0


if __name__ == "__main__":
    sys.exit(main())
