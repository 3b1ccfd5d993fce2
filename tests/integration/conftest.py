"""What the integration tests share: a lake in a directory of its own, worked on by the real program."""

import hashlib
import json
import os
import pathlib
import secrets
import signal
import subprocess
import time

import pytest

BINARY = pathlib.Path(os.environ["LAKE_BINARY"])

DONE = 0
FAILED = 1
USAGE = 2
CONFLICT = 3
UNKNOWN = 4
# How a process ends at a failpoint that is set to "exit".
AT_FAILPOINT = 86

# A command that takes longer hangs.
TIMEOUT = 120


def uuid7():
    """Returns a fresh operation id."""
    bits = (int(time.time() * 1000) << 80) | secrets.randbits(80)
    bits = bits & ~(0xF << 76) | (7 << 76)
    bits = bits & ~(0x3 << 62) | (2 << 62)
    text = f"{bits:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def tree(path):
    """Returns the digest of every file below `path`, by relative name."""
    return {
        str(file.relative_to(path)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(path.rglob("*"))
        if file.is_file()
    }


def end_by_signals():
    """Lets a process be ended by signals that whoever started the tests may ignore, as nohup and background jobs do."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Lake:
    """Runs the program on one data directory."""

    def __init__(self, folder):
        self.folder = folder
        self.data_dir = folder / "lake-data"

    def environment(self, **changes):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LAKE_")}
        environment.update(LAKE_DATA_DIR=str(self.data_dir), HOME=str(self.folder), **changes)
        return environment

    def command(self, arguments):
        return [str(BINARY), *(str(argument) for argument in arguments)]

    def run(self, *arguments, stdin="", failpoints="", **options):
        """Runs one command and returns how it ended, whatever that is."""
        environment = self.environment(**({"LAKE_FAILPOINTS": failpoints} if failpoints else {}))
        ended = subprocess.run(
            self.command(arguments),
            input=stdin.encode(),
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
            cwd=self.folder,
            env=environment,
            **options,
        )
        # Decoded here, because the library would also change line ends.
        ended.stdout, ended.stderr = ended.stdout.decode(), ended.stderr.decode()
        return ended

    def start(self, *arguments, failpoints=""):
        """Starts a command and returns its process."""
        environment = self.environment(**({"LAKE_FAILPOINTS": failpoints} if failpoints else {}))
        return subprocess.Popen(
            self.command(arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=environment,
            preexec_fn=end_by_signals,
        )

    def must(self, *arguments, **options):
        """Runs a command that has to succeed and returns what it wrote."""
        ended = self.run(*arguments, **options)
        assert ended.returncode == DONE, f"{arguments}: {ended.returncode}\n{ended.stdout}{ended.stderr}"
        return ended.stdout

    def must_json(self, *arguments, **options):
        return json.loads(self.must(*arguments, **options))

    def must_fail(self, code, *arguments, **options):
        """Runs a command that has to fail with this exit code and returns its message."""
        ended = self.run(*arguments, **options)
        assert ended.returncode == code, f"{arguments}: {ended.returncode}\n{ended.stdout}{ended.stderr}"
        assert ended.stderr.startswith("lake: "), ended.stderr
        return ended.stderr

    def sql(self, statement):
        """Returns the rows that a statement answers with."""
        return self.must_json("sql", statement, "--output", "json")

    def count(self, table):
        return self.sql(f"select count(*) as n from {table}")[0]["n"]

    def status(self):
        return self.must_json("status", "--json")

    def write(self, name, text):
        """Writes a file beside the data directory and returns its path."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path


@pytest.fixture
def lake(tmp_path):
    """An empty lake with the namespace `s`."""
    lake = Lake(tmp_path)
    lake.must("namespace", "create", "s")
    return lake


@pytest.fixture
def bare_lake(tmp_path):
    """A lake whose data directory does not exist yet."""
    return Lake(tmp_path)


ORDERS = ("id long required", "name string", "price decimal(9,2)")
ORDERS_CSV = "id,name,price\n1,apple,0.50\n2,pear,1.25\n3,,\n"


@pytest.fixture
def orders(lake):
    """A lake with the empty table `s.orders`, and `orders.csv` with three rows for it."""
    columns = [part for column in ORDERS for part in ("--column", column)]
    lake.must("table", "create", "s.orders", *columns)
    lake.write("orders.csv", ORDERS_CSV)
    return lake
