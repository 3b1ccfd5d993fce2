"""The SQL prompt, at a terminal."""

import fcntl
import os
import pty
import select
import subprocess
import termios
import time

import pytest
from conftest import DONE

PROMPT = b"lake> "
CONTINUED = b"  ... "
CTRL_C = b"\x03"
CTRL_D = b"\x04"
UP = b"\x1b[A"


class Terminal:
    """The program at a terminal of its own."""

    def __init__(self, lake):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            lake.command(["sql"]),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=lake.folder,
            env=lake.environment(TERM="xterm", LANG="C.UTF-8"),
            start_new_session=True,
            # Without a terminal that controls the session, Ctrl-C is no signal.
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self.seen = b""

    def read_until(self, text, seconds=30):
        """Reads until `text` appears and returns everything up to its end."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            ready, _, _ = select.select([self.master], [], [], max(0, end - time.monotonic()))
            assert ready, f"no {text!r} in {self.seen!r}"
            try:
                self.seen += os.read(self.master, 65536)
            except OSError:
                break
        assert text in self.seen, self.seen
        at = self.seen.index(text) + len(text)
        before, self.seen = self.seen[:at], self.seen[at:]
        return before

    def type(self, text):
        os.write(self.master, text)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)


@pytest.fixture
def terminal(orders):
    orders.must("append", "s.orders", "orders.csv")
    terminal = Terminal(orders)
    terminal.read_until(PROMPT)
    yield terminal
    terminal.close()


def test_statements_run_when_their_semicolon_comes(terminal):
    terminal.type(b"select count(*) as n\r")
    terminal.read_until(CONTINUED)
    terminal.type(b"from s.orders;\r")
    assert b"3\r\n" in terminal.read_until(b"(1 row)")
    terminal.read_until(PROMPT)
    terminal.type(CTRL_D)
    assert terminal.process.wait(timeout=30) == DONE


def test_an_error_does_not_end_the_session(terminal):
    terminal.type(b"select nope;\r")
    assert b"nope" in terminal.read_until(PROMPT)
    terminal.type(b"select 40 + 2 as answer;\r")
    assert b"42" in terminal.read_until(b"(1 row)")
    terminal.type(b"exit\r")
    assert terminal.process.wait(timeout=30) == DONE


def test_ctrl_c_forgets_what_was_typed(terminal):
    terminal.type(b"select\r")
    terminal.read_until(CONTINUED)
    terminal.type(b"broken" + CTRL_C)
    terminal.read_until(b"^C")
    terminal.read_until(PROMPT)
    terminal.type(b"select 40 + 2 as answer;\r")
    assert b"42" in terminal.read_until(b"(1 row)")


def test_ctrl_c_ends_a_running_statement_only(terminal):
    terminal.type(b"select 'now' as state; select sum(a.range * b.range) from range(10000000) a, range(10000000) b;\r")
    terminal.read_until(b"(1 row)")
    terminal.type(CTRL_C)
    terminal.read_until(PROMPT, seconds=60)
    terminal.type(b"select 40 + 2 as answer;\r")
    assert b"42" in terminal.read_until(b"(1 row)")


def test_tab_completes_keywords_and_tables(terminal):
    terminal.type(b"sel\t")
    terminal.read_until(b"ect ")
    terminal.type(b"count(*) as n from s.o\t")
    terminal.read_until(b"rders ")
    terminal.type(b";\r")
    assert b"3\r\n" in terminal.read_until(b"(1 row)")


def test_history_outlives_the_session(orders):
    first = Terminal(orders)
    first.read_until(PROMPT)
    first.type(b"select 40 + 2 as answer;\r")
    first.read_until(b"(1 row)")
    first.read_until(PROMPT)
    first.type(CTRL_D)
    assert first.process.wait(timeout=30) == DONE
    first.close()
    assert (orders.folder / ".lake_history").stat().st_mode & 0o077 == 0
    second = Terminal(orders)
    second.read_until(PROMPT)
    second.type(UP)
    second.read_until(b"answer;")
    second.type(b"\r")
    assert b"42" in second.read_until(b"(1 row)")
    second.close()
