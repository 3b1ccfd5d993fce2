"""Everything is built and every test is run: a file that no CMake target lists is dead without anybody noticing."""

import posixpath
import re

from tidy_rules import modules as module_list
from tidy_rules.tree import Offence

INCLUDED = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.MULTILINE)


def _listed(tree):
    """Returns every path that a CMakeLists.txt names, relative to its own folder."""
    listed = set()
    for path in tree.paths("CMakeLists.txt"):
        folder = posixpath.dirname(path)
        for word in module_list.cmake_words(tree.text(path)):
            listed.add(posixpath.normpath(posixpath.join(folder, word)))
    return listed


def check_listed(tree):
    listed = _listed(tree)
    included = {"src/" + name for path in tree.cpp_paths() for name in INCLUDED.findall(tree.cpp(path).code)}
    for path in tree.cpp_paths():
        # A private header is built with the sources that include it; a public one is also compiled alone.
        if path not in listed and not (path.endswith("_internal.h") and path in included):
            yield Offence(path, 1, "no CMake target lists this file")
    for path in tree.paths(".py", ".test", under="tests/"):
        is_test = path.endswith(".test") or posixpath.basename(path).startswith("test_")
        if is_test and path not in listed:
            yield Offence(path, 1, "nothing runs this test: name it in its folder's CMakeLists.txt")


def check_folders(tree):
    """A folder with a CMakeLists.txt is added by the one above it."""
    for path in tree.paths("/CMakeLists.txt"):
        parent, name = posixpath.split(posixpath.dirname(path))
        above = posixpath.join(parent, "CMakeLists.txt")
        while parent and not tree.has(above):
            parent, part = posixpath.split(parent)
            name, above = f"{part}/{name}", posixpath.join(parent, "CMakeLists.txt")
        if tree.has(above) and name not in module_list.cmake_words(tree.text(above)):
            yield Offence(path, 1, f"{above} does not add this folder")


def check_headers(tree):
    """A module's public headers are in HDRS; the others say _internal in their names."""
    for module in module_list.find_modules(tree).values():
        for argument, names in module.files.items():
            for name in names:
                path = f"{module.folder}/{name}"
                if not name.endswith(".h"):
                    continue
                if argument == "HDRS" and name.endswith("_internal.h"):
                    yield Offence(path, 1, "a private header is listed in SRCS, not in HDRS")
                elif argument == "SRCS" and not name.endswith("_internal.h"):
                    yield Offence(path, 1, "a header in SRCS is private: end its name in _internal.h, or list it in HDRS")


def check(tree):
    yield from check_listed(tree)
    yield from check_folders(tree)
    yield from check_headers(tree)
