"""The files that the rules look at, and C++ text with its comments and literals told apart."""

import dataclasses
import functools
import pathlib
import subprocess

CPP_FOLDERS = ("src/", "apps/", "tests/", "bench/")


@dataclasses.dataclass(frozen=True, order=True)
class Offence:
    """Something that breaks a rule, and what to do instead."""

    path: str
    line: int
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.message}"


class Tree:
    """A set of text files, named by their paths from the root."""

    def __init__(self, files):
        self._files = dict(files)
        self._code = {}

    @staticmethod
    def of_repository(root):
        """Reads what git knows and what it would not ignore."""
        listed = subprocess.run(
            # Whoever owns the files: a checkout of another user, as in a container, is read all the same.
            ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=root,
            check=True,
            capture_output=True,
            text=True,
        )
        files = {}
        for path in filter(None, listed.stdout.split("\0")):
            try:
                files[path] = (pathlib.Path(root) / path).read_text(encoding="utf-8")
            except (FileNotFoundError, UnicodeDecodeError):
                continue  # Deleted but not yet committed, or not text.
        return Tree(files)

    def paths(self, *endings, under=""):
        """Returns the sorted paths that end in one of `endings` (any, without) and start with `under`."""
        return sorted(path for path in self._files if path.startswith(under) and (not endings or path.endswith(endings)))

    def has(self, path):
        """Says whether a file or a folder of this name exists."""
        return path in self._files or path in self._folders

    @functools.cached_property
    def _folders(self):
        folders = set()
        for path in self._files:
            folders.update(str(parent) for parent in pathlib.PurePosixPath(path).parents)
        return folders

    def text(self, path):
        return self._files[path]

    def cpp(self, path):
        """Returns the C++ file taken apart."""
        if path not in self._code:
            self._code[path] = Cpp(self._files[path])
        return self._code[path]

    def cpp_paths(self):
        return [path for path in self.paths(".cc", ".h") if path.startswith(CPP_FOLDERS)]


class Cpp:
    """C++ text in two copies of the same length: `code` has comments and the insides of literals blanked out, `comments` has
    everything else blanked out. Positions and lines agree with the text's."""

    def __init__(self, text):
        self.text = text
        code, comments = [], []

        def emit(piece, to):
            blank = "".join("\n" if c == "\n" else " " for c in piece)
            code.append(piece if to is code else blank)
            comments.append(piece if to is comments else blank)

        at, length = 0, len(text)
        while at < length:
            two = text[at : at + 2]
            if two == "//":
                end = text.find("\n", at)
                end = length if end < 0 else end
                emit(text[at:end], comments)
            elif two == "/*":
                end = text.find("*/", at + 2)
                end = length if end < 0 else end + 2
                emit(text[at:end], comments)
            elif text[at] == '"':
                raw = at > 0 and text[at - 1] == "R" and not (at > 1 and (text[at - 2].isalnum() and text[at - 2] not in "uUL8"))
                end = _end_of_raw_string(text, at) if raw else _end_of_literal(text, at)
                # An include names a file, which is not a literal to hide.
                line = text[text.rfind("\n", 0, at) + 1 : at]
                if line.lstrip().startswith("#include"):
                    emit(text[at:end], code)
                else:
                    emit('"', code)
                    emit(text[at + 1 : end - 1], None)
                    emit('"' if end - at > 1 else "", code)
            elif text[at] == "'" and not (at > 0 and text[at - 1].isalnum() and text[at + 1 : at + 2].isalnum()):
                end = _end_of_literal(text, at)
                emit("'", code)
                emit(text[at + 1 : end - 1], None)
                emit("'" if end - at > 1 else "", code)
            else:
                end = at + 1
                emit(text[at], code)
            at = end
        self.code = "".join(code)
        self.comments = "".join(comments)

    def line_of(self, position):
        return self.text.count("\n", 0, position) + 1


def _end_of_literal(text, start):
    quote, at = text[start], start + 1
    while at < len(text) and text[at] not in (quote, "\n"):
        at += 2 if text[at] == "\\" else 1
    return min(at + 1, len(text))


def _end_of_raw_string(text, start):
    opening = text.index("(", start)
    end = text.find(")" + text[start + 1 : opening] + '"', opening)
    return len(text) if end < 0 else end + len(text[start + 1 : opening]) + 2
