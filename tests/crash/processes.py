"""Real processes of the program, on one data directory: started, stopped, killed, and how they ended."""

import dataclasses
import itertools
import json
import os
import pathlib
import secrets
import signal
import subprocess
import threading
import time

DONE, FAILED, USAGE, CONFLICT, UNKNOWN = 0, 1, 2, 3, 4
# How a process ends at a failpoint that is set to "exit", and how one does in which a sanitizer found something.
AT_FAILPOINT = 86
SANITIZER = 99
# A process that takes longer hangs.
TIMEOUT = 120.0


def uuid7(rng=secrets.SystemRandom()):
    """Returns a fresh operation id."""
    bits = (int(time.time() * 1000) << 80) | rng.getrandbits(80)
    bits = bits & ~(0xF << 76) | (7 << 76)
    bits = bits & ~(0x3 << 62) | (2 << 62)
    text = f"{bits:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


@dataclasses.dataclass(frozen=True)
class Fate:
    """What becomes of a process: nothing, SIGKILL after some seconds, or what a failpoint does to it."""

    kill_after: float | None = None
    failpoint: str | None = None
    action: str | None = None
    hit: int | None = None

    @property
    def setting(self):
        """Returns the value of LAKE_FAILPOINTS."""
        if self.failpoint is None:
            return ""
        return f"{self.failpoint}={self.action}" + (f"@{self.hit}" if self.hit else "")

    def __str__(self):
        if self.failpoint is not None:
            return self.setting
        return "undisturbed" if self.kill_after is None else f"SIGKILL after {self.kill_after * 1000:.0f} ms"


UNDISTURBED = Fate()


@dataclasses.dataclass
class Ended:
    """How a process ended. `code` is negative for a signal."""

    arguments: list
    fate: Fate
    code: int
    out: str
    err: str
    seconds: float
    hung: bool = False

    @property
    def answer(self):
        """Returns the JSON that it answered with, or None. It answers with one whole line, or not at all."""
        if not self.out.endswith("\n"):
            return None
        try:
            return json.loads(self.out)
        except json.JSONDecodeError:
            return None

    @property
    def state(self):
        """Returns what its caller knows now: "acked", "failed" (certainly not done) or "unknown"."""
        if self.code == DONE:
            return "acked"
        if self.code in (FAILED, USAGE, CONFLICT):
            return "failed"
        # One that was killed on its way out has told its caller all the same.
        return "acked" if self.code == -signal.SIGKILL and self.answer is not None else "unknown"

    @property
    def reached_failpoint(self):
        if self.fate.failpoint is None:
            return False
        if self.fate.action == "exit":
            return self.code == AT_FAILPOINT
        if self.fate.action == "pause":
            return self.code == -signal.SIGKILL
        return f"failpoint {self.fate.failpoint}" in self.err

    def complaint(self):
        """Returns what is wrong with how it ended, or None."""
        what = f"lake {' '.join(self.arguments)} ({self.fate})"
        if self.hung:
            return f"{what} did not end within {TIMEOUT:.0f} s"
        if self.code == AT_FAILPOINT and self.fate.action == "exit":
            return None
        if self.code == -signal.SIGKILL and (self.fate.kill_after is not None or self.fate.action == "pause"):
            return None
        if self.code not in (DONE, FAILED, USAGE, CONFLICT, UNKNOWN):
            return f"{what} ended with {self.code}: {self.err}"
        if self.code == DONE and self.answer is None and "--json" in self.arguments:
            return f"{what} ended with 0 and answered {self.out!r}"
        if self.code != DONE and "lake: " not in self.err:
            return f"{what} ended with {self.code} and said {self.err!r}"
        return None


class Lake:
    """Runs the program on one data directory, and writes down in `journal.txt` what it ran and how that ended. Thread-safe."""

    def __init__(self, binary, folder):
        self.binary = pathlib.Path(binary).resolve()
        self.folder = pathlib.Path(folder)
        self.data_dir = self.folder / "lake-data"
        self._outputs = self.folder / "outputs"
        self._outputs.mkdir(exist_ok=True)
        self._numbers = itertools.count(1)
        self._journal = open(self.folder / "journal.txt", "a", encoding="utf-8")  # noqa: SIM115
        self._lock = threading.Lock()
        self._running = set()

    def note(self, text):
        """Writes a line into the journal."""
        with self._lock:
            self._journal.write(text + "\n")
            self._journal.flush()

    def start(self, arguments, fate=UNDISTURBED):
        """Starts the program; `Running.end` says how it ended."""
        number = next(self._numbers)
        running = Running(self, number, [str(argument) for argument in arguments], fate)
        with self._lock:
            self._running.add(running)
        return running

    def run(self, *arguments, fate=UNDISTURBED):
        return self.start(arguments, fate).end()

    def forget(self, running):
        with self._lock:
            self._running.discard(running)

    def close(self):
        """Kills what still runs."""
        with self._lock:
            running = list(self._running)
        for one in running:
            one.kill()
        self._journal.close()

    def environment(self, fate):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LAKE_")}
        environment.update(LAKE_DATA_DIR=str(self.data_dir), HOME=str(self.folder))
        # Otherwise a finding would look like a failure that the program reports.
        for options in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
            environment[options] = ":".join(filter(None, (os.environ.get(options), f"exitcode={SANITIZER}")))
        if fate.failpoint is not None:
            environment["LAKE_FAILPOINTS"] = fate.setting
        return environment

    def output(self, number, kind):
        return self._outputs / f"{number:05}.{kind}"


class Running:
    """One process. Used by one thread, but for `kill`."""

    def __init__(self, lake, number, arguments, fate):
        self.lake, self.number, self.arguments, self.fate = lake, number, arguments, fate
        self.hung = False
        self._begun = time.monotonic()
        with open(lake.output(number, "out"), "wb") as out, open(lake.output(number, "err"), "wb") as err:
            self.process = subprocess.Popen(
                [str(lake.binary), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=lake.folder,
                env=lake.environment(fate),
                process_group=0,
            )

    def kill(self):
        self.process.kill()

    def wait_until_stopped(self):
        """Waits until it stops itself at a failpoint. Returns whether it did; otherwise it has ended."""
        with self._watched():
            how = os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        return how.si_code == os.CLD_STOPPED

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def end(self):
        """Lets its fate happen, waits for its end and returns how that was."""
        if self.fate.kill_after is not None:
            try:
                self.process.wait(timeout=self.fate.kill_after)
            except subprocess.TimeoutExpired:
                self.kill()
        elif self.fate.action == "pause" and self.wait_until_stopped():
            self.kill()
        return self.ended()

    def ended(self):
        """Waits for its end and returns how that was."""
        with self._watched():
            code = self.process.wait()
        self.lake.forget(self)
        ended = Ended(
            arguments=self.arguments,
            fate=self.fate,
            code=code,
            out=self.lake.output(self.number, "out").read_text(encoding="utf-8"),
            err=self.lake.output(self.number, "err").read_text(encoding="utf-8"),
            seconds=time.monotonic() - self._begun,
            hung=self.hung,
        )
        self.lake.note(f"{self.number:05} lake {' '.join(self.arguments)}   [{self.fate}] -> {code} after {ended.seconds * 1000:.0f} ms")
        return ended

    def _watched(self):
        return _Watch(self)


class _Watch:
    """Kills a process that hangs."""

    def __init__(self, running):
        self._running = running
        self._timer = threading.Timer(TIMEOUT, self._give_up)
        self._timer.daemon = True

    def _give_up(self):
        self._running.hung = True
        self._running.kill()

    def __enter__(self):
        self._timer.start()

    def __exit__(self, *_):
        self._timer.cancel()
