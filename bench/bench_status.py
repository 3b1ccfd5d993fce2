"""How fast and how small the program starts: `lake status` on a lake that holds a table.

Each start is a process of its own, timed from before it is made until it was waited for. Its memory is the largest resident set that
the kernel saw (ru_maxrss). Whether DuckDB was started is seen from the dynamic linker, which says (LD_DEBUG=bindings) which functions
the program calls for the first time: a start calls the constructor of duckdb::DuckDB or it does not. `lake sql` has to be seen to do
so, otherwise the question has no meaning and the program ends with an error.

--json prints one object to standard output, and the table to standard error:
  benchmark ("status"), starts
  runs: one object
    start_ms          median time of a start
    start_max_ms      longest one
    rss_max_mib       largest resident set of all starts
    duckdb_started    whether a start brought DuckDB up
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
STARTS = 20
# duckdb::DuckDB::DuckDB(…), mangled.
CONSTRUCTOR = "_ZN6duckdb6DuckDBC"


def run(command, **options):
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **options)


def start(command):
    """Starts a command and waits for it; returns the milliseconds that took and its largest resident set in MiB."""
    quiet = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
    begun = time.perf_counter()
    child = os.posix_spawn(command[0], command, os.environ, file_actions=quiet)
    _, status, usage = os.wait4(child, 0)
    elapsed = time.perf_counter() - begun
    if status != 0:
        sys.exit(f"bench_status: {' '.join(command)} ended with status {os.waitstatus_to_exitcode(status)}")
    return elapsed * 1000, usage.ru_maxrss / 1024


def starts_duckdb(command, directory):
    log = pathlib.Path(directory) / "bindings"
    run(command, env={**os.environ, "LD_DEBUG": "bindings", "LD_DEBUG_OUTPUT": str(log)})
    found = False
    for path in pathlib.Path(directory).glob("bindings.*"):
        found = found or CONSTRUCTOR in path.read_text(errors="replace")
        path.unlink()
    return found


def measure(lake, starts):
    with tempfile.TemporaryDirectory(prefix="bench_status.") as directory:
        lake = [lake, "--data-dir", os.path.join(directory, "lake")]
        run([*lake, "namespace", "create", "bench"])
        run([*lake, "table", "create", "bench.t", "--column", "id long"])
        if not starts_duckdb([*lake, "sql", "SELECT 1"], directory):
            sys.exit("bench_status: lake sql was not seen to start DuckDB, so nothing can be said of lake status")
        status = [*lake, "status"]
        duckdb_started = starts_duckdb(status, directory)
        start(status)
        times, sizes = zip(*(start(status) for _ in range(starts)))
    return {
        "start_ms": round(statistics.median(times), 1),
        "start_max_ms": round(max(times), 1),
        "rss_max_mib": round(max(sizes), 1),
        "duckdb_started": duckdb_started,
    }


def main():
    parser = argparse.ArgumentParser(
        description="Measure the start-up of lake status.", epilog="Example: bench/bench_status.py --json > status.json"
    )
    parser.add_argument("--lake", default=str(ROOT / "build/release/lake"), help="the program (%(default)s)")
    parser.add_argument("--starts", type=int, default=STARTS, help="how often it is started (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="three starts: shows that it runs, measures nothing")
    parser.add_argument("--json", action="store_true", help="print JSON, and the table to standard error")
    arguments = parser.parse_args()
    starts = 3 if arguments.quick else arguments.starts
    if starts < 1:
        parser.error("--starts has to be at least 1")
    if not os.access(arguments.lake, os.X_OK):
        sys.exit(f"bench_status: {arguments.lake} is not there: run make bench, or name the program with --lake")
    figures = measure(arguments.lake, starts)
    out = sys.stderr if arguments.json else sys.stdout
    print(f"\nstarting lake status {starts} times\n", file=out)
    print(f"{'median ms':>9} {'max ms':>8} {'max MiB':>8}  DuckDB started", file=out)
    print(
        f"{figures['start_ms']:>9} {figures['start_max_ms']:>8} {figures['rss_max_mib']:>8}  {'yes' if figures['duckdb_started'] else 'no'}",
        file=out,
    )
    if arguments.json:
        print(json.dumps({"benchmark": "status", "starts": starts, "runs": [figures]}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
