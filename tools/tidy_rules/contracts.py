"""Every public declaration in a header has a contract comment.

The rule is checked by a scanner, not by a compiler. It understands C++ as this project formats it: namespaces, classes and their
access, functions with their bodies, constants, aliases, enumerations and macros. A declaration has its comment in the lines right
above it or behind it on its own line. Declarations that follow each other without an empty line share the comment above the first.

What needs no comment of its own:
  - what is private or protected, a friend, a forward declaration, a static_assert, a specialisation in somebody else's namespace,
    a macro that is part of another (its name ends in an underscore or begins with LAKE_INTERNAL_);
  - an override: the interface has the contract;
  - constructors, destructors, assignments and comparisons: the class comment speaks for them;
  - accessors: functions with a snake_case name and no parameters;
  - data members, and the types nested in a class: they are part of what the class comment describes.
"""

import dataclasses
import re

from tidy_rules import modules as module_list
from tidy_rules.tree import Offence

ATTRIBUTE = re.compile(r"\[\[.*?\]\]|\b(?:LAKE_)?(?:SCOPED_)?CAPABILITY\s*(?:\([^)]*\))?|\balignas\s*\([^)]*\)", re.DOTALL)
TEMPLATE = re.compile(r"^template\s*<")
TYPE = re.compile(r"^(?:typedef\s+)?(class|struct|union|enum(?:\s+class|\s+struct)?)\b\s*([\w:]*)")
FREE_FORMS = re.compile(r"^(friend|static_assert|using namespace|extern template|public|private|protected)\b")
MACRO = re.compile(r"#[ \t]*define[ \t]+(\w+)")


@dataclasses.dataclass
class Declaration:
    """A declaration: what kind and name, where it begins and ends, and in which class, if any."""

    kind: str
    name: str
    begin: int
    end: int
    in_class: str
    head: str  # Its text up to its body, without attributes and template parameters.


class _Scanner:
    """Walks over the code of a header and collects what it declares in public."""

    def __init__(self, code):
        self.code = code
        self.at = 0
        self.declarations = []

    def scan(self):
        self._scan_scope("", True, False)
        return self.declarations

    def _scan_scope(self, class_name, public, foreign):
        """Reads declarations up to the brace that ends the scope."""
        while self._skip_blanks():
            code, begin = self.code, self.at
            if code[begin] == "}":
                self.at += 1
                return
            if code[begin] == ";":
                self.at += 1
            elif code[begin] == "#":
                self._take_directive(foreign)
            elif access := re.compile(r"(public|protected|private)\s*:(?!:)").match(code, begin):
                public = access.group(1) == "public"
                self.at = access.end()
            else:
                self._take_declaration(class_name, public, foreign)

    def _skip_blanks(self):
        while self.at < len(self.code) and self.code[self.at].isspace():
            self.at += 1
        return self.at < len(self.code)

    def _take_directive(self, foreign):
        begin = self.at
        end = begin
        while True:
            end = self.code.find("\n", end)
            if end < 0:
                end = len(self.code)
                break
            if self.code[end - 1] != "\\":
                break
            end += 1
        self.at = end
        macro = MACRO.match(self.code, begin)
        if macro and not foreign and not re.fullmatch(r"\w+_|LAKE_INTERNAL_\w+", macro.group(1)):
            self.declarations.append(Declaration("macro", macro.group(1), begin, end, "", self.code[begin:end]))

    def _take_declaration(self, class_name, public, foreign):
        begin, depth = self.at, 0
        code = self.code
        while self.at < len(code):
            char = code[self.at]
            if char in "([":
                depth += 1
            elif char in ")]":
                depth -= 1
            elif char == "{" and depth > 0:
                self._skip_braces()
                continue
            elif char == ";" and depth == 0:
                self.at += 1
                break
            elif char == "{":
                head = _head(code[begin : self.at])
                namespace = re.match(r"(?:inline\s+)?namespace\b\s*([\w:]*)|extern\s", head)
                if namespace:
                    self.at += 1
                    inside = namespace.group(1) or ""
                    self._scan_scope("", True, foreign or bool(re.match(r"(std|fmt|testing)\b", inside)))
                    return
                kind, name = _classify(head, class_name)
                if kind == "type" and not head.startswith("enum"):
                    noted = self._note(kind, name, begin, head, class_name, public, foreign)
                    self.at += 1
                    # What a nested type holds is part of what the comment of its class describes.
                    inside_foreign = foreign or not public or bool(class_name) or "::" in name
                    self._scan_scope(name, not head.startswith("class"), inside_foreign)
                    self._skip_to_semicolon()
                    if noted is not None:
                        noted.end = self.at
                    return
                self._skip_braces()
                self._skip_blanks()
                if self.at < len(code) and code[self.at] == ";":
                    self.at += 1
                    break
                # A member initialiser in braces, or one before the next: the body is still to come.
                if self.at < len(code) and code[self.at] in ",{":
                    continue
                if kind == "function":
                    break
                continue
            self.at += 1
        head = _head(code[begin : self.at])
        kind, name = _classify(head, class_name)
        self._note(kind, name, begin, head, class_name, public, foreign)

    def _skip_braces(self):
        depth = 0
        while self.at < len(self.code):
            depth += {"{": 1, "}": -1}.get(self.code[self.at], 0)
            self.at += 1
            if depth == 0:
                return

    def _skip_to_semicolon(self):
        end = self.code.find(";", self.at)
        self.at = len(self.code) if end < 0 else end + 1

    def _note(self, kind, name, begin, head, class_name, public, foreign):
        if not public or foreign or not _needs_comment(kind, name, head, class_name):
            return None
        self.declarations.append(Declaration(kind, name, begin, self.at, class_name, head))
        return self.declarations[-1]


def _head(text):
    """Returns a declaration's text without attributes and template parameters, blanks reduced."""
    text = re.sub(r"\s+", " ", ATTRIBUTE.sub(" ", text)).strip().removeprefix("__extension__ ")
    while TEMPLATE.match(text):
        depth = 0
        for i, char in enumerate(text):
            depth += {"<": 1, ">": -1}.get(char, 0)
            if depth == 0 and char == ">":
                text = text[i + 1 :].strip()
                break
        else:
            return text
        if text.startswith("requires"):
            text = re.sub(r"^requires\s+(\([^()]*\)|[\w:]+(<[^<>]*>)?)(\s*(&&|\|\|)\s*(\([^()]*\)|[\w:]+(<[^<>]*>)?))*\s*", "", text)
    return text


def _without_template_arguments(head):
    """`std::function<void(int)> f` has parentheses, and is no function."""
    shorter = re.sub(r"<(?:[^<>()]|\([^<>()]*\))*>", "", head)
    return head if shorter == head else _without_template_arguments(shorter)


def _classify(head, class_name):
    """Returns what a declaration declares, and its name."""
    if FREE_FORMS.match(head):
        return "none", ""
    if match := re.match(r"using (\w+)\s*=", head):
        return "alias", match.group(1)
    if head.startswith("using "):
        return "none", ""
    if match := re.match(r"concept (\w+)", head):
        return "concept", match.group(1)
    if "operator" not in head:
        head = _without_template_arguments(head)
    before_parenthesis = head.split("(")[0]
    type_match = TYPE.match(head)
    if type_match and ("(" not in head or "{" in before_parenthesis or ":" in before_parenthesis):
        return ("none" if head.endswith(";") and "{" not in head else "type"), type_match.group(2)
    if match := re.search(r"operator\s*(\(\)|[^\s(]+(?:\s*\w+)?)\s*\(", head):
        return "function", "operator" + match.group(1)
    if "(" in head and not re.search(r"[={]", before_parenthesis):
        match = re.search(r"(~?\w+)\s*$", before_parenthesis)
        name = match.group(1) if match else ""
        if re.search(r"\)\s*->\s*\w+;$", head) and before_parenthesis.strip() == name and not class_name:
            return "none", ""  # A deduction guide.
        return "function", name
    match = re.search(r"(\w+)(?:\[[^\]]*\])?(?:\s+GUARDED_BY)?\s*(?:[={;]|$)", head)
    return "variable", match.group(1) if match else ""


def _needs_comment(kind, name, head, class_name):
    if kind in ("none", ""):
        return False
    if "::" in name:
        return False  # Declared elsewhere, and described there.
    if class_name:
        if kind != "function":
            return False
        if name.lstrip("~") == class_name or re.match(r"operator(=|==|<=>|!=|<)$", name):
            return False
        if re.search(r"\boverride\b|\)\s*final\b", head):
            return False
        is_accessor = re.match(r"(?!operator)[a-z]", name) and re.search(rf"\b{name}\s*\(\s*\)", head)
        return not is_accessor
    return not re.match(r"operator(==|<=>|!=)$", name)


def find_declarations(cpp):
    """Returns the declarations of a header that need a contract comment, in order."""
    return _Scanner(cpp.code).scan()


def find_uncommented(cpp):
    """Returns those of them that have none."""
    code, comments = cpp.code.split("\n"), cpp.comments.split("\n")

    def has_code(line):
        return bool(code[line].strip())

    def has_comment(line):
        return bool(comments[line].strip())

    missing, covered_until = [], {}  # The last line of what is covered, by the class it stands in.
    for declaration in find_declarations(cpp):
        first, last = cpp.line_of(declaration.begin) - 1, cpp.line_of(declaration.end - 1) - 1
        above = first - 1
        covered = (above >= 0 and has_comment(above) and not has_code(above)) or has_comment(first)
        # The group goes on as long as there is no empty line in between.
        if not covered and declaration.in_class in covered_until:
            between = range(covered_until[declaration.in_class] + 1, first)
            covered = all(has_code(line) or has_comment(line) for line in between)
        if covered:
            covered_until[declaration.in_class] = last
        else:
            covered_until.pop(declaration.in_class, None)
            missing.append(declaration)
    return missing


def check(tree):
    modules = module_list.find_modules(tree)
    tests = module_list.find_test_files(tree, modules)
    for path in tree.cpp_paths():
        if not path.endswith(".h") or path in tests:
            continue
        cpp = tree.cpp(path)
        for declaration in find_uncommented(cpp):
            where = f"{declaration.in_class}::{declaration.name}" if declaration.in_class else declaration.name
            yield Offence(path, cpp.line_of(declaration.begin), f"{declaration.kind} {where} has no contract comment")
