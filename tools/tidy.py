"""Checks the rules of this project that a program can check; `ctest -L lint` runs it over the whole tree.

    tools/tidy.py            print every offence as path:line: what is wrong and what to do instead
    tools/tidy.py --fix      first write what can be written: the module table of ARCHITECTURE.md
    tools/tidy.py PATH…      print only the offences in files whose paths start with one of these

The rules stand in tools/tidy_rules, one subject a file; who may include whom is tools/layers.toml. The exit status is 0 when
there is no offence.
"""

import argparse
import pathlib
import sys
import tomllib

from tidy_rules import builds, code, contracts, documents, formatting, layers
from tidy_rules.tree import Tree

ROOT = pathlib.Path(__file__).resolve().parent.parent


def load_config(tree):
    return tomllib.loads(tree.text("tools/layers.toml"))


def check_all(tree, config, root):
    """Returns every offence of the tree, sorted."""
    offences = set()
    for found in (
        layers.check(tree, config),
        code.check(tree),
        contracts.check(tree),
        builds.check(tree),
        documents.check(tree, config),
        formatting.check_text(tree),
        formatting.check_cpp(root, tree.cpp_paths()),
    ):
        offences.update(found)
    return sorted(offences)


def fix(tree, config):
    path = "ARCHITECTURE.md"
    fixed = documents.with_module_table(tree.text(path), documents.module_table(tree, config)) if tree.has(path) else None
    if fixed is not None and fixed != tree.text(path):
        (ROOT / path).write_text(fixed, encoding="utf-8")
        print(f"tidy: wrote the module table of {path}")


def main():
    parser = argparse.ArgumentParser(description="Check the rules of this project.")
    parser.add_argument("--fix", action="store_true", help="write the module table first")
    parser.add_argument("paths", nargs="*", help="print only what these paths offend")
    arguments = parser.parse_args()
    tree = Tree.of_repository(ROOT)
    config = load_config(tree)
    if arguments.fix:
        fix(tree, config)
        tree = Tree.of_repository(ROOT)
    offences = check_all(tree, config, ROOT)
    if arguments.paths:
        offences = [offence for offence in offences if offence.path.startswith(tuple(arguments.paths))]
    for offence in offences:
        print(offence)
    print(f"tidy: {len(tree.paths())} files, {len(offences)} offences")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
