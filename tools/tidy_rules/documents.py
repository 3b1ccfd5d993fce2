"""Documents that stay true: titles, links, paths, test names, a README a module, the module table, and no path of one machine."""

import posixpath
import re

from tidy_rules import modules as module_list
from tidy_rules.tree import Offence

README_LINES_MAX = 40
ARCHITECTURE_LINES_MAX = 300
ADR_SECTIONS = ("Context", "Decision", "Alternatives", "Consequences")
DECISIONS = "docs/adr/README.md"
TABLE_BEGIN = "<!-- module table: begin (tools/tidy.py --fix writes it from the READMEs) -->"
TABLE_END = "<!-- module table: end -->"

LINK = re.compile(r"!?\[[^\]]*\]\(([^()\s]+)(?:\s+\"[^\"]*\")?\)")
HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*$", re.MULTILINE)
CODE_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
FENCE = re.compile(r"^ *(```|~~~).*?^ *\1[^\n]*$", re.MULTILINE | re.DOTALL)
REPOSITORY_PATH = re.compile(r"(?:src|docs|tests|tools|apps|bench|cmake)/[\w./-]+|\.ci/run")
PAGE = re.compile(r"(?<![\w./])docs/[\w/-]+\.md\b")
TEST_NAME = re.compile(r"[A-Z]\w*\.[A-Z]\w*")
GTEST = re.compile(r"\bTEST(?:_[FP])?\s*\(\s*(\w+)\s*,\s*(\w+)\s*\)")
TYPED_GTEST = re.compile(r"\bTYPED_TEST(?:_P)?\s*\(\s*(\w+)\s*,\s*(\w+)\s*\)")

# The project speaks of itself alone, not of the machine it was written on.
FOREIGN_PATHS = re.compile(r"(?<![\w.$}/-])/(?:work|home/\w+)/")
# These name such paths in order to look for them.
FOREIGN_PATHS_EXEMPT = ("tools/tidy_rules/", "tests/lint/", "tools/npm/package-lock.json")


def _prose(text):
    """Blanks fenced code out, keeping lines."""
    return FENCE.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), text)


def _line(text, position):
    return text.count("\n", 0, position) + 1


def anchors(text):
    """Returns the anchors that a Markdown file's headings make."""
    found = set()
    for match in HEADING.finditer(_prose(text)):
        words = re.sub(r"[^\w\- ]", "", match.group(2).replace("`", "").lower())
        found.add(words.replace(" ", "-"))
    return found


def test_names(tree):
    """Returns the names of the GoogleTest tests, as Suite.Name."""
    names = set()
    for path in tree.cpp_paths():
        code = tree.cpp(path).code
        for pattern in (GTEST, TYPED_GTEST):
            names.update(f"{suite}.{name}" for suite, name in pattern.findall(code))
    return names


def check_markdown(tree):
    tests = test_names(tree)
    for path in tree.paths(".md"):
        text = tree.text(path)
        prose = _prose(text)
        titles = [match for match in HEADING.finditer(prose) if len(match.group(1)) == 1]
        if not prose.startswith("# ") or len(titles) != 1:
            yield Offence(path, 1, "a document begins with its title, a '# ' line, and has no other")
        folder = posixpath.dirname(path)
        for match in LINK.finditer(prose):
            target, _, anchor = match.group(1).partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            file = posixpath.normpath(posixpath.join(folder, target)) if target else path
            if not tree.has(file):
                yield Offence(path, _line(text, match.start()), f"link to {match.group(1)}: there is no {file}")
            elif anchor and file.endswith(".md") and anchor not in anchors(tree.text(file)):
                yield Offence(path, _line(text, match.start()), f"link to {match.group(1)}: {file} has no such heading")
        for match in CODE_SPAN.finditer(prose):
            span = match.group(1)
            if REPOSITORY_PATH.fullmatch(span) and not tree.has(span.rstrip("/")):
                yield Offence(path, _line(text, match.start()), f"`{span}` does not exist")
            elif TEST_NAME.fullmatch(span) and not span.endswith((".Md", ".Cc")) and span not in tests:
                yield Offence(path, _line(text, match.start()), f"`{span}` is not the name of a test")


def check_references(tree):
    """A page that a comment or a text file of ours names is there."""
    for path in tree.cpp_paths() + tree.paths(".txt", ".cmake", ".toml", ".in", "README.md"):
        text = tree.cpp(path).comments if path.endswith((".cc", ".h")) else tree.text(path)
        for match in PAGE.finditer(text):
            if not tree.has(match.group(0)):
                yield Offence(path, _line(text, match.start()), f"{match.group(0)} does not exist")


def check_architecture(tree):
    path = "ARCHITECTURE.md"
    if tree.has(path) and tree.text(path).count("\n") > ARCHITECTURE_LINES_MAX:
        yield Offence(path, 1, f"longer than {ARCHITECTURE_LINES_MAX} lines: move detail to docs/internals")


def check_decisions(tree):
    """Decisions are numbered 0001, 0002, … without gaps, have their sections, and are listed in the README of their folder."""
    numbers = {}
    for path in tree.paths(".md", under="docs/adr/"):
        name = posixpath.basename(path)
        if name == "README.md":
            continue
        if not re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", name):
            yield Offence(path, 1, "a decision is called NNNN-some-words.md")
            continue
        if name[:4] in numbers:
            yield Offence(path, 1, f"two decisions have the number {name[:4]}")
        numbers[name[:4]] = path
        headings = [match.group(2) for match in HEADING.finditer(_prose(tree.text(path)))]
        if not headings or not headings[0].startswith(name[:4]):
            yield Offence(path, 1, f"the title begins with the number {name[:4]}")
        for section in ADR_SECTIONS:
            if section not in headings:
                yield Offence(path, 1, f"a decision has a section '{section}'")
        if not tree.has(DECISIONS) or f"({name})" not in tree.text(DECISIONS):
            yield Offence(path, 1, f"{DECISIONS} does not list it")
    for number in range(1, max(map(int, numbers), default=0)):
        if f"{number:04}" not in numbers:
            yield Offence(DECISIONS, 1, f"there is no decision {number:04}")


def _readme_line(text):
    """Returns the line that says what a module is: the first after the title."""
    lines = [line for line in text.splitlines()[1:] if line.strip()]
    return lines[0] if lines else ""


def check_readmes(tree):
    for module in module_list.find_modules(tree).values():
        path = f"{module.folder}/README.md"
        if not tree.has(path):
            yield Offence(f"{module.folder}/CMakeLists.txt", 1, f"module {module.name} has no README.md")
            continue
        text = tree.text(path)
        if text.count("\n") > README_LINES_MAX:
            yield Offence(path, 1, f"longer than {README_LINES_MAX} lines: details belong in the headers")
        if not text.startswith(f"# {module.name}\n"):
            yield Offence(path, 1, f"the title is '# {module.name}'")
        if not re.fullmatch(r"\S.*[.]", _readme_line(text)):
            yield Offence(path, 2, "the first line after the title says in one sentence, on one line, what the module is")


def module_table(tree, config):
    """Returns the rows of the module table, in order of rank."""
    modules = module_list.find_modules(tree)
    rows = ["| module | what it is |", "|---|---|"]
    for name in sorted(modules, key=lambda name: (config["modules"].get(name, {}).get("rank", 99), name)):
        path = f"{modules[name].folder}/README.md"
        line = _readme_line(tree.text(path)) if tree.has(path) else ""
        rows.append(f"| [{name}]({modules[name].folder}) | {line} |")
    return "\n".join(rows)


def with_module_table(text, table):
    """Returns the text with its module table replaced, or nothing if it has no place for one."""
    before, begin, rest = text.partition(TABLE_BEGIN)
    _, end, after = rest.partition(TABLE_END)
    return f"{before}{begin}\n{table}\n{end}{after}" if begin and end else None


def check_module_table(tree, config):
    path = "ARCHITECTURE.md"
    if not tree.has(path):
        return
    wanted = with_module_table(tree.text(path), module_table(tree, config))
    if wanted is None:
        yield Offence(path, 1, "there is no module table between its two marks")
    elif wanted != tree.text(path):
        yield Offence(path, 1, "the module table differs from the READMEs: run tools/tidy.py --fix")


def check_paths(tree):
    for path in tree.paths():
        if path.startswith(FOREIGN_PATHS_EXEMPT):
            continue
        text = tree.text(path)
        for match in FOREIGN_PATHS.finditer(text):
            yield Offence(path, _line(text, match.start()), f"'{match.group(0)}': a path of one machine")


def check(tree, config):
    yield from check_markdown(tree)
    yield from check_references(tree)
    yield from check_architecture(tree)
    yield from check_decisions(tree)
    yield from check_readmes(tree)
    yield from check_module_table(tree, config)
    yield from check_paths(tree)
