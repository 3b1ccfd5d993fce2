"""Runs the .test files of this folder: blocks of text, parted by empty lines, each a step on one lake.

    lake ARGUMENTS                a command that succeeds
    fails CODE ARGUMENTS          a command that ends with this code; the lines below are in its message
    file NAME                     the lines below become a file
    let NAME                      the lines below are a query; its one value stands for ${NAME} from there on
    query                         the lines below, up to ----, are a statement; the rest are its rows as CSV
    query sorted                  the same, in any order
    refused                       the lines below, up to ----, are a statement that fails; the rest are in its message

Lines that begin with # are comments. Every step is a process of its own, so whatever a step sees has survived a restart.
"""

import os
import pathlib
import shlex
import string
import subprocess

import pytest

FOLDER = pathlib.Path(__file__).parent
BINARY = os.environ["LAKE_BINARY"]
NAMES = os.environ["LAKE_SQL_FILES"].split(",")
TIMEOUT = 120


def blocks(text):
    """Yields (number of the first line, lines) of every block."""
    block, start = [], 0
    for number, line in enumerate(text.splitlines() + [""], start=1):
        if line.startswith("#"):
            continue
        if line.strip():
            start = start or number
            block.append(line)
        elif block:
            yield start, block
            block, start = [], 0


class Steps:
    def __init__(self, folder):
        self.folder = folder
        self.values = {}

    def run(self, arguments):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LAKE_")}
        environment.update(LAKE_DATA_DIR=str(self.folder / "lake-data"), HOME=str(self.folder), TZ="UTC")
        return subprocess.run(
            [BINARY, *arguments], capture_output=True, text=True, timeout=TIMEOUT, check=False, cwd=self.folder, env=environment
        )

    def rows(self, statement):
        """Returns the rows of a statement as lines of CSV, without the names."""
        ended = self.run(["sql", statement, "--output", "csv"])
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.splitlines()[1:]

    @staticmethod
    def parts(lines):
        """Returns the statement and what follows the line of dashes."""
        assert "----" in lines, "there is no line ----"
        at = lines.index("----")
        return "\n".join(lines[:at]), lines[at + 1 :]

    def step(self, lines):
        lines = [string.Template(line).safe_substitute(self.values) for line in lines]
        word, _, rest = lines[0].partition(" ")
        below = lines[1:]
        if word == "lake":
            ended = self.run(shlex.split(rest))
            assert ended.returncode == 0, ended.stderr
        elif word == "fails":
            code, *arguments = shlex.split(rest)
            ended = self.run(arguments)
            assert ended.returncode == int(code), ended.stdout + ended.stderr
            assert below, "a failure says something"
            for text in below:
                assert text in ended.stderr
        elif word == "file":
            (self.folder / rest).write_text("\n".join(below) + "\n", encoding="utf-8")
        elif word == "let":
            (self.values[rest],) = self.rows("\n".join(below))
        elif word == "query":
            assert rest in ("", "sorted"), rest
            statement, expected = self.parts(below)
            found = self.rows(statement)
            order = sorted if rest else list
            assert order(found) == order(expected)
        elif word == "refused":
            statement, expected = self.parts(below)
            ended = self.run(["sql", statement])
            assert ended.returncode == 1, ended.stdout + ended.stderr
            assert expected, "a refusal says something"
            for text in expected:
                assert text in ended.stderr
        else:
            raise AssertionError(f"no such step: {lines[0]}")


@pytest.mark.parametrize("name", NAMES)
def test_file(name, tmp_path):
    steps = Steps(tmp_path)
    done = 0
    for number, lines in blocks((FOLDER / name).read_text(encoding="utf-8")):
        try:
            steps.step(lines)
        except AssertionError as error:
            raise AssertionError(f"{name}:{number}: {lines[0]}\n{error}") from error
        done += 1
    assert done > 0, f"{name} has no steps"
