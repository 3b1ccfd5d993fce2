"""C++ is laid out as clang-format does it; the other text has no stray blanks."""

import concurrent.futures
import os
import re
import subprocess

from tidy_rules.tree import Offence

CLANG_FORMAT = "clang-format-19"
BATCH_FILES = 16
WARNING = re.compile(r"^(.+?):(\d+):\d+: (?:warning|error): ")
TEXT_ENDINGS = (".md", ".py", ".txt", ".cmake", ".toml", ".json", ".test", "Makefile", "setup", "run")


def check_cpp(root, paths):
    """Runs clang-format over the files, which it reads from disk. One offence a file is enough."""

    def run(batch):
        return subprocess.run(
            [CLANG_FORMAT, "--dry-run", "--ferror-limit=1", *batch], cwd=root, check=False, capture_output=True, text=True
        )

    batches = [paths[i : i + BATCH_FILES] for i in range(0, len(paths), BATCH_FILES)]
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        for batch, done in zip(batches, pool.map(run, batches)):
            found = {}
            for match in filter(None, map(WARNING.match, done.stderr.splitlines())):
                found.setdefault(match.group(1), int(match.group(2)))
            if done.returncode != 0 and not found:
                yield Offence(batch[0], 1, f"{CLANG_FORMAT} failed: {done.stderr.strip()}")
            for path, line in found.items():
                yield Offence(path, line, "not laid out as .clang-format says: make format")


def check_text(tree):
    """No blanks at the end of a line, no tab but in a Makefile, one newline at the end of a file."""
    for path in tree.paths(*TEXT_ENDINGS):
        text = tree.text(path)
        for number, line in enumerate(text.split("\n"), start=1):
            if line != line.rstrip():
                yield Offence(path, number, "blanks at the end of the line")
            if "\t" in line and not path.endswith("Makefile"):
                yield Offence(path, number, "a tab: use spaces")
        if text and (not text.endswith("\n") or text.endswith("\n\n")):
            yield Offence(path, text.count("\n"), "a file ends in one newline")
