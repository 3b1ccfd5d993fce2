"""What our C++ does not say: calls with a better replacement, notes to self, and code that is switched off."""

import re

from tidy_rules.tree import Offence

# A call, what to write instead, and the files that may say it all the same.
BANNED = [
    (
        r"\b(system_clock|steady_clock|high_resolution_clock)::now\b|\b(clock_gettime|gettimeofday)\s*\(|(?<![\w.>])time\s*\(\s*(nullptr|NULL|0)\s*\)",
        "take a lake::Clock& and ask it",
        ("src/lake/base/real_clock.cc", "src/lake/base/real_clock_test.cc"),
    ),
    (
        r"\b(sleep_for|sleep_until|usleep|nanosleep|clock_nanosleep)\b|(?<![\w.>:])sleep\s*\(",
        "wait for a condition with Clock::WaitUntil",
        (),
    ),
    (
        r"\bstd::(mutex|timed_mutex|recursive_mutex|shared_mutex|condition_variable(_any)?|lock_guard|unique_lock|scoped_lock|shared_lock)\b",
        "use lake::Mutex, lake::MutexLock and lake::CondVar",
        ("src/lake/base/",),
    ),
    (r"\bstd::(jthread|thread)\b(?!::)|\bpthread_create\b|\bstd::async\b", "use lake::Thread or lake::TaskGroup", ("src/lake/base/",)),
    (r"\bdetach(ed)?\s*\(", "nothing runs detached: give the work to a TaskGroup that stops and waits", ()),
    (
        r"\bstd::random_device\b|\bstd::(mt19937(_64)?|minstd_rand0?|default_random_engine)\b|(?<![\w.>:])s?rand(_r)?\s*\(",
        "take a lake::Random&",
        (),
    ),
    (r"\bstd::w?regex\b", "std::regex is slow and throws: write the match out", ()),
    (r"(?<![\w.>:])assert\s*\(", "use LAKE_CHECK, which is on in every build", ()),
    # A private constructor cannot be reached by make_unique; a unique_ptr that takes the object in the same expression is as good.
    (
        r"(?<!unique_ptr)(?<![\w>]\()(?<!operator )\bnew\b(?!\s*\))",
        "use std::make_unique or a container",
        (),
    ),
    (r"(?<!operator )\bdelete\b(?=\s*(\[\s*\]\s*)?[\w(*:])", "let a unique_ptr or a container own it", ()),
    # DuckDB's extension points report failure by throwing; so does what a test plays to the code.
    (r"(?<!\w)throw\b(?!\s*\()", "return an Error; exceptions are not our control flow", ("src/lake/sql/",)),
]
BANNED = [(re.compile(pattern), advice, allowed) for pattern, advice, allowed in BANNED]
THROW = BANNED[-1][0]

NOTE = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b(\(#\d+\):)?")
NOLINT = re.compile(r"\bNOLINT(NEXTLINE|BEGIN)?\b(\([\w.,* -]+\))?(.*)")
SWITCHED_OFF = re.compile(r"^\s*#\s*if\s+(0|false)\b", re.MULTILINE)
# A statement in a comment that is not set apart as an example.
COMMENTED_OUT = re.compile(r"^\s*// ?(?! )(?:[\w:]+[ .>:-]+)*[\w:.>-]+\(.*\);\s*$|^\s*// ?(?! )(?:return\b.*|[\w:]+ = .*);\s*$", re.MULTILINE)
BANNER = re.compile(r"//\s*[-=*#/~]{4,}")
HISTORY = re.compile(r"\b(used to be|called (from|by) \w+::|was (renamed|moved) (from|to))\b", re.IGNORECASE)
NAME = re.compile(r"\b(?:class|struct)\s+(?:LAKE_\w+(?:\([^)]*\))?\s+)?(\w*(?:Impl|Helper|Utils?|Old|2))\b\s*(?:final\s*)?[:{]")
FOLDER = re.compile(r"/(util|utils|common|helpers|misc)(/|\.)")
TEST = re.compile(r"^\s*(?:TYPED_)?TEST(?:_[FP])?\s*\(\s*(\w+)\s*,\s*(\w+)\s*\)", re.MULTILINE)


def check_calls(tree):
    for path in tree.cpp_paths():
        cpp = tree.cpp(path)
        for pattern, advice, allowed in BANNED:
            if path.startswith(allowed) or (pattern is THROW and re.search(r"_test(_\w+)?\.(cc|h)$", path)):
                continue
            for match in pattern.finditer(cpp.code):
                # `new` inside unique_ptr<…>( … ) is owned before anything else can happen.
                before = cpp.code[max(0, match.start() - 200) : match.start()].rstrip()
                if match.group(0) == "new" and re.search(r"(unique_ptr<[^;{}]*>|\breset)\s*[({]$", before):
                    continue
                if cpp.text[cpp.text.rfind("\n", 0, match.start()) + 1 : match.start()].lstrip().startswith("#include"):
                    continue
                yield Offence(path, cpp.line_of(match.start()), f"'{match.group(0).strip(' (')}': {advice}")


def check_comments(tree):
    for path in tree.cpp_paths():
        cpp = tree.cpp(path)
        for match in NOTE.finditer(cpp.comments):
            if match.group(1) != "TODO" or not match.group(2):
                yield Offence(path, cpp.line_of(match.start()), f"{match.group(1)} without an issue: write TODO(#issue): or do it")
        for match in NOLINT.finditer(cpp.comments):
            reason = match.group(3).strip(" :")
            if not match.group(2) or len(reason) < 5:
                yield Offence(path, cpp.line_of(match.start()), "NOLINT needs a check's name and a reason: NOLINT(check): why")
        for match in COMMENTED_OUT.finditer(cpp.comments):
            yield Offence(path, cpp.line_of(match.start() + 1), "commented-out code: delete it, or indent it as an example")
        for match in BANNER.finditer(cpp.comments):
            yield Offence(path, cpp.line_of(match.start()), "decoration in a comment: a heading needs none")
        for match in HISTORY.finditer(cpp.comments):
            yield Offence(path, cpp.line_of(match.start()), f"'{match.group(0)}': comments tell what is, not its history or its callers")


def check_shape(tree):
    for path in tree.cpp_paths():
        cpp = tree.cpp(path)
        if path.endswith(".h") and not cpp.code.lstrip().startswith("#pragma once"):
            yield Offence(path, 1, "a header begins with #pragma once")
        for match in SWITCHED_OFF.finditer(cpp.code):
            yield Offence(path, cpp.line_of(match.start()), "#if 0: delete it")
        for match in NAME.finditer(cpp.code):
            yield Offence(path, cpp.line_of(match.start()), f"{match.group(1)}: name what it is, not that it helps")
        if FOLDER.search("/" + path):
            yield Offence(path, 1, "there is no util, common or helpers: put it where its idea lives")
        for match in TEST.finditer(cpp.code):
            if len(re.findall(r"[A-Z][a-z0-9]*", match.group(2))) < 2:
                yield Offence(path, cpp.line_of(match.start()), f"test {match.group(1)}.{match.group(2)}: a test's name is a claim")


def check(tree):
    yield from check_calls(tree)
    yield from check_comments(tree)
    yield from check_shape(tree)
