"""The modules, as lake_module() declares them, and which files are tests."""

import dataclasses
import posixpath
import re

SOURCE_ROOT = "src/lake/"


@dataclasses.dataclass
class Module:
    """One lake_module(): its name, its folder and the files it lists, by argument."""

    name: str
    folder: str
    files: dict


def cmake_words(text):
    """Returns the words of a CMake file, without its comments."""
    return re.findall(r"[^\s()\"]+|[()]", re.sub(r"#.*", "", text))


def find_modules(tree):
    """Returns the modules by name."""
    modules = {}
    for path in tree.paths("/CMakeLists.txt", under=SOURCE_ROOT):
        words = cmake_words(tree.text(path))
        for start in (i for i, word in enumerate(words) if word == "lake_module"):
            module = Module("", posixpath.dirname(path), {})
            argument = ""
            for word in words[start + 2 : words.index(")", start)]:
                if re.fullmatch(r"[A-Z_]+", word):
                    argument = word
                elif argument == "NAME":
                    module.name = word
                else:
                    module.files.setdefault(argument, []).append(word)
            modules[module.name] = module
    return modules


def module_of(path, names):
    """Returns the innermost of the modules `names` whose folder holds the path, or nothing."""
    folder = posixpath.dirname(path).removeprefix(SOURCE_ROOT)
    while folder:
        if folder in names:
            return folder
        folder = posixpath.dirname(folder)
    return None


def find_test_files(tree, modules):
    """Returns the paths that are part of tests only: what TESTS lists, what has _test in its name, and tests/ itself."""
    files = {path for path in tree.cpp_paths() if path.startswith("tests/") or re.search(r"_test(_\w+)?\.(cc|h)$", path)}
    for module in modules.values():
        files.update(posixpath.join(module.folder, name) for name in module.files.get("TESTS", []))
    return files
