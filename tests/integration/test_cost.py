"""What a small command costs."""

import os
import statistics
import time

from conftest import BINARY, DONE

RUNS = 20
SECONDS_MAX = 0.150
RESIDENT_KIB_MAX = 64 * 1024


def measure(lake, arguments):
    """Runs a command and returns its wall time in seconds and its peak memory in KiB."""
    started = time.monotonic()
    null = os.open(os.devnull, os.O_RDWR)
    pid = os.posix_spawn(
        str(BINARY),
        lake.command(arguments),
        lake.environment(),
        file_actions=[(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, null, 1)],
    )
    os.close(null)
    _, status, usage = os.wait4(pid, 0)
    seconds = time.monotonic() - started
    assert os.waitstatus_to_exitcode(status) == DONE
    return seconds, usage.ru_maxrss


def test_status_is_quick_and_small(orders):
    orders.must("append", "s.orders", "orders.csv")
    runs = [measure(orders, ["status", "--json"]) for _ in range(RUNS)]
    sanitized = b"__asan_init" in BINARY.read_bytes()
    if not sanitized:
        assert statistics.median(seconds for seconds, _ in runs) < SECONDS_MAX
        assert max(kib for _, kib in runs) < RESIDENT_KIB_MAX
