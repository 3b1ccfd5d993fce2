"""Dependencies point down, backends are named by the composition root alone, and third parties stay out of public headers."""

import re

from tidy_rules import modules as module_list
from tidy_rules.tree import Offence

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+(["<])([^">]+)[">]', re.MULTILINE)


def _includes(cpp):
    for match in INCLUDE.finditer(cpp.code):
        yield cpp.line_of(match.start()), match.group(1) == "<", match.group(2)


def check_configuration(config):
    """Every module that layers.toml lists depends on lower ranks only."""
    ranks = {name: entry["rank"] for name, entry in config["modules"].items()}
    for name, entry in config["modules"].items():
        for used in entry["includes"]:
            if used not in ranks:
                yield Offence("tools/layers.toml", 1, f"{name} includes {used}, which is not a module")
            elif ranks[used] >= ranks[name]:
                yield Offence("tools/layers.toml", 1, f"{name} (rank {ranks[name]}) includes {used} (rank {ranks[used]}): point down")


def check_modules(tree, config):
    """Every include of one of our headers is allowed by layers.toml."""
    rules = config["modules"]
    modules = module_list.find_modules(tree)
    tests = module_list.find_test_files(tree, modules)
    for name, module in sorted(modules.items()):
        if name not in rules:
            yield Offence(module.folder + "/CMakeLists.txt", 1, f"module {name} is not in tools/layers.toml: give it a rank")
    for path in tree.cpp_paths():
        user = module_list.module_of(path, rules)
        free = user is None or path in tests
        for line, angled, included in _includes(tree.cpp(path)):
            if angled or not included.startswith("lake/"):
                if not angled:
                    yield Offence(path, line, f'include "{included}" by its path from src/: "lake/…"')
                continue
            used = module_list.module_of("src/" + included, rules)
            if used is None or used == user:
                continue
            if used == "testing":
                if not free and user != "testing":
                    yield Offence(path, line, "testing/ is for tests only")
            elif rules[used].get("backend"):
                if not free and user != "testing" and not rules[user].get("backends"):
                    yield Offence(path, line, f"only server, tests and benches name the backend {used}; take the interface")
            elif user is not None and used not in rules[user]["includes"]:
                # A test may build what stands around its module, but not what stands above it.
                if path not in tests or rules[used]["rank"] > rules[user]["rank"]:
                    yield Offence(path, line, f"{user} may not include {used} (tools/layers.toml)")


def check_cycles(tree):
    """No header includes itself by way of others."""
    graph = {}
    for path in tree.cpp_paths():
        if path.endswith(".h"):
            graph[path] = ["src/" + name for _, angled, name in _includes(tree.cpp(path)) if not angled]
    done, trail = set(), []

    def visit(path):
        if path in trail:
            yield Offence(path, 1, "include cycle: " + " → ".join([*trail[trail.index(path) :], path]))
        elif path in graph and path not in done:
            trail.append(path)
            for used in graph[path]:
                yield from visit(used)
            trail.pop()
            done.add(path)

    for path in sorted(graph):
        yield from visit(path)


def check_third_parties(tree, config):
    """Headers of libraries are named where layers.toml says, and never in a public header."""
    rules, system = config["third_party"], set(config["system"]["headers"])
    names = config["modules"]
    tests = module_list.find_test_files(tree, module_list.find_modules(tree))
    for path in tree.cpp_paths():
        user = module_list.module_of(path, names)
        free = user is None or path in tests
        for line, angled, included in _includes(tree.cpp(path)):
            if not angled or not ("/" in included or "." in included):
                continue  # Ours, or of the standard library.
            if included in system or included.startswith(("sys/", "linux/")):
                continue
            rule = next((key for key in rules if included.startswith(key)), None)
            if rule is None:
                yield Offence(path, line, f"<{included}> is of no library that tools/layers.toml knows")
            elif not free:
                if user not in rules[rule] and "*" not in rules[rule]:
                    yield Offence(path, line, f"{user} may not name <{included}> (tools/layers.toml)")
                elif path.endswith(".h") and not path.endswith("_internal.h") and user != "testing":
                    yield Offence(path, line, f"<{included}> in a public header: only sources and _internal.h name libraries")


def check(tree, config):
    yield from check_configuration(config)
    yield from check_modules(tree, config)
    yield from check_cycles(tree)
    yield from check_third_parties(tree, config)
