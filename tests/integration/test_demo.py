"""The main job on real input, as `make demo` shows it."""

import re
import shutil
import subprocess

from conftest import DONE, FAILED

LAST_LINE = re.compile(r"demo ok: rows=3000000 lost=0 duplicated=0 epochs=\d+")


def test_the_demo_loses_nothing_and_can_be_run_again_at_once(bare_lake):
    for _ in range(2):
        output = bare_lake.must("demo")
        assert LAST_LINE.fullmatch(output.splitlines()[-1]), output
        assert "SIGKILL" in output and "pending" in output
    assert not bare_lake.data_dir.exists()


def test_the_demo_says_what_is_missing(bare_lake):
    assert "no-such.parquet" in bare_lake.must_fail(FAILED, "demo", "--data", "no-such.parquet")
    # Away from the source tree the flights are not found by themselves.
    program = shutil.copy(bare_lake.command([])[0], bare_lake.folder / "lake")
    ended = subprocess.run(
        [program, "demo"], cwd=bare_lake.folder, env=bare_lake.environment(), capture_output=True, text=True, check=False
    )
    assert ended.returncode == FAILED != DONE
    assert "--data" in ended.stderr
