"""Tests of which files tools/clang_tidy.py takes for changed: git alone decides, and the number is bounded."""

import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

import clang_tidy  # noqa: E402


class Repository:
    """A git repository with commits that touch sources."""

    def __init__(self, root):
        self.root = root
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments):
        identity = ["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *identity, *arguments], cwd=self.root, check=True, capture_output=True)

    def write(self, *paths):
        for path in paths:
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(file.read_text() + "x\n" if file.exists() else "x\n")

    def commit(self, *paths):
        self.write(*paths)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "change")


@pytest.fixture
def repository(tmp_path, monkeypatch):
    root = tmp_path / "here"
    root.mkdir()
    monkeypatch.setattr(clang_tidy, "ROOT", root)
    return Repository(root)


def test_uncommitted_files_come_first_and_then_the_newest_commits(repository):
    repository.commit("src/old.cc")
    repository.commit("src/new.cc", "docs/x.md", "tools/x.py")
    repository.write("src/old.cc", "src/untracked.h")
    assert clang_tidy.changed_files() == (["src/old.cc", "src/untracked.h", "src/new.cc"], 0)


def test_a_deleted_file_is_not_read(repository):
    repository.commit("src/a.cc", "src/b.cc")
    (repository.root / "src/a.cc").unlink()
    assert clang_tidy.changed_files() == (["src/b.cc"], 0)


def test_with_an_upstream_only_what_it_lacks_is_changed(repository, tmp_path):
    repository.commit("src/old.cc")
    subprocess.run(["git", "clone", "-q", "--bare", str(repository.root), str(tmp_path / "upstream")], check=True)
    repository.git("remote", "add", "origin", str(tmp_path / "upstream"))
    repository.git("fetch", "-q", "origin")
    repository.git("branch", "-q", "--set-upstream-to=origin/main")
    repository.commit("src/mine.cc")
    assert clang_tidy.changed_files() == (["src/mine.cc"], 0)


def test_a_fresh_clone_reads_the_last_commits(repository, tmp_path, monkeypatch):
    repository.commit("src/first.cc")
    repository.commit("src/second.cc")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(repository.root), str(clone)], check=True)
    monkeypatch.setattr(clang_tidy, "ROOT", clone)
    assert clang_tidy.changed_files() == (["src/second.cc", "src/first.cc"], 0)


def test_the_number_of_files_is_bounded_and_the_rest_is_counted(repository):
    limit = clang_tidy.CHANGED_FILES_MAX
    repository.commit(*(f"src/{number:03}.cc" for number in range(limit + 3)))
    files, left_out = clang_tidy.changed_files()
    assert (len(files), left_out) == (limit, 3)


def test_files_with_duckdb_are_left_to_a_run_of_everything_and_counted(repository):
    repository.commit("src/lake/sql/scan.cc", "src/lake/cli/main.cc")
    assert clang_tidy.changed_files() == (["src/lake/cli/main.cc"], 1)


def test_the_number_of_commits_is_bounded(repository):
    for number in range(clang_tidy.CHANGED_COMMITS_MAX + 2):
        repository.commit(f"src/{number:03}.cc")
    files, left_out = clang_tidy.changed_files()
    assert len(files) == clang_tidy.CHANGED_COMMITS_MAX and left_out == 0 and "src/000.cc" not in files
