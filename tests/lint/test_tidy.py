"""Tests of tools/tidy.py: every rule has texts that offend it and texts that do not."""

import pathlib
import subprocess
import sys

import pytest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))

from tidy_rules import builds, code, contracts, documents, formatting, layers  # noqa: E402
from tidy_rules.tree import Cpp, Tree  # noqa: E402

CONFIG = {
    "modules": {
        "base": {"rank": 0, "includes": []},
        "store": {"rank": 1, "includes": ["base"]},
        "store/disk": {"rank": 2, "includes": ["base", "store"], "backend": True},
        "catalog": {"rank": 3, "includes": ["base", "store"]},
        "server": {"rank": 6, "includes": ["base", "store", "catalog"], "backends": True},
        "testing": {"rank": 3, "includes": ["base", "store"]},
    },
    "third_party": {"rocksdb/": ["store/disk"], "fmt/": ["*"], "gtest/": ["testing"]},
    "system": {"headers": ["unistd.h"]},
}

MODULES = {
    f"src/lake/{name}/CMakeLists.txt": f"lake_module(NAME {name} SRCS x.cc HDRS x.h TESTS x_test.cc)" for name in CONFIG["modules"]
}


def messages(offences):
    return [str(offence) for offence in offences]


def one(offences, path, words):
    """Checks that there is exactly one offence, in this file, that says these words."""
    found = messages(offences)
    assert len(found) == 1 and found[0].startswith(path + ":") and words in found[0], found


# --- The scanner of C++ text.


@pytest.mark.parametrize(
    "text, code_text, comment_text",
    [
        ("a; // b", "a;     ", "   // b"),
        ("a /* b */ c", "a         c", "  /* b */  "),
        ('"// no"', '"     "', "       "),
        (r'"\"//"', '"    "', "      "),
        ("'\"' + 1", "' ' + 1", "       "),
        ("1'000'000", "1'000'000", "         "),
        ('R"(a"//b)" c', 'R"       " c', "            "),
    ],
)
def test_code_comments_and_literals_are_told_apart(text, code_text, comment_text):
    cpp = Cpp(text)
    assert (cpp.code, cpp.comments) == (code_text, comment_text)


def test_an_include_keeps_its_name():
    assert Cpp('#include "lake/a.h"').code == '#include "lake/a.h"'


# --- Layers.


def layer_offences(path, text):
    return list(layers.check(Tree({**MODULES, path: text}), CONFIG))


@pytest.mark.parametrize(
    "path, text",
    [
        ("src/lake/store/x.cc", '#include "lake/base/x.h"'),
        ("src/lake/catalog/x.cc", '#include "lake/catalog/y.h"'),
        ("src/lake/server/x.cc", '#include "lake/store/disk/x.h"'),
        ("src/lake/catalog/x_test.cc", '#include "lake/store/disk/x.h"'),
        ("src/lake/catalog/x_test.cc", '#include "lake/testing/x.h"'),
        ("tests/sim/x.cc", '#include "lake/server/x.h"'),
        ("src/lake/store/disk/x.cc", "#include <rocksdb/db.h>"),
        ("src/lake/store/disk/x_internal.h", "#include <rocksdb/db.h>"),
        ("src/lake/catalog/x.cc", "#include <fmt/format.h>"),
        ("src/lake/catalog/x.h", "#include <vector>\n#include <unistd.h>\n#include <sys/stat.h>"),
        ("src/lake/catalog/x_test.cc", "#include <rocksdb/db.h>"),
        ("src/lake/store/x.cc", '// #include "lake/server/x.h"'),
    ],
)
def test_these_includes_are_allowed(path, text):
    assert messages(layer_offences(path, text)) == []


@pytest.mark.parametrize(
    "path, text, words",
    [
        ("src/lake/base/x.cc", '#include "lake/store/x.h"', "base may not include store"),
        ("src/lake/store/x.cc", '#include "lake/catalog/x.h"', "store may not include catalog"),
        ("src/lake/store/x_test.cc", '#include "lake/server/x.h"', "store may not include server"),
        ("src/lake/catalog/x.cc", '#include "lake/store/disk/x.h"', "only server, tests and benches name the backend store/disk"),
        ("src/lake/catalog/x.cc", '#include "lake/testing/x.h"', "testing/ is for tests only"),
        ("src/lake/catalog/x.cc", '#include "x.h"', "by its path from src/"),
        ("src/lake/catalog/x.cc", "#include <rocksdb/db.h>", "catalog may not name <rocksdb/db.h>"),
        ("src/lake/catalog/x.h", "#include <fmt/format.h>", "in a public header"),
        ("src/lake/catalog/x.cc", "#include <boost/asio.hpp>", "of no library"),
    ],
)
def test_these_includes_are_refused(path, text, words):
    one(layer_offences(path, text), path, words)


def test_a_cycle_of_headers_is_found():
    tree = Tree({"src/lake/base/a.h": '#include "lake/base/b.h"', "src/lake/base/b.h": '#include "lake/base/a.h"'})
    assert any("a.h → src/lake/base/b.h → src/lake/base/a.h" in message for message in messages(layers.check_cycles(tree)))


def test_headers_that_meet_again_are_no_cycle():
    files = {
        "src/lake/base/a.h": '#include "lake/base/b.h"\n#include "lake/base/c.h"',
        "src/lake/base/b.h": '#include "lake/base/d.h"',
        "src/lake/base/c.h": '#include "lake/base/d.h"',
        "src/lake/base/d.h": "",
    }
    assert messages(layers.check_cycles(Tree(files))) == []


def test_the_list_of_layers_points_down():
    modules = {"a": {"rank": 1, "includes": ["b"]}, "b": {"rank": 1, "includes": ["gone"]}}
    found = messages(layers.check_configuration({"modules": modules}))
    assert len(found) == 2 and "point down" in found[0] and "not a module" in found[1]


def test_a_module_without_a_rank_is_refused():
    tree = Tree({"src/lake/new/CMakeLists.txt": "lake_module(NAME new SRCS x.cc)"})
    one(layers.check_modules(tree, CONFIG), "src/lake/new/CMakeLists.txt", "give it a rank")


# --- Code.


@pytest.mark.parametrize(
    "text",
    [
        "auto now = clock.Now();",
        "const auto p = std::make_unique<Thing>();",
        "std::unique_ptr<Thing>(new Thing(1));",
        "Thing(const Thing&) = delete;",
        "void operator delete(void* p);",
        "// sleep_for is what we never call.",
        'Log("delete x; new y; throw z");',
        "queue.time(0);",
        "kTimeout = deadline;",
        "std::thread::id id;",
        "static_assert(sizeof(int) == 4);",
        "LAKE_CHECK(ready, \"x\");",
        "random.Below(5);",
    ],
)
def test_these_calls_are_fine(text):
    assert messages(code.check_calls(Tree({"src/lake/catalog/x.cc": text}))) == []


@pytest.mark.parametrize(
    "text, words",
    [
        ("auto t = std::chrono::steady_clock::now();", "take a lake::Clock&"),
        ("auto t = std::chrono::system_clock::now();", "take a lake::Clock&"),
        ("clock_gettime(CLOCK_REALTIME, &t);", "take a lake::Clock&"),
        ("std::time_t t = time(nullptr);", "take a lake::Clock&"),
        ("std::this_thread::sleep_for(1s);", "Clock::WaitUntil"),
        ("usleep(5);", "Clock::WaitUntil"),
        ("sleep(5);", "Clock::WaitUntil"),
        ("std::mutex m;", "lake::Mutex"),
        ("std::lock_guard lock(m);", "lake::Mutex"),
        ("std::condition_variable cv;", "lake::Mutex"),
        ("std::thread t(f);", "lake::Thread"),
        ("auto f = std::async(g);", "lake::Thread"),
        ("thread.detach();", "TaskGroup"),
        ("std::random_device d;", "lake::Random"),
        ("std::mt19937_64 e(1);", "lake::Random"),
        ("int x = rand();", "lake::Random"),
        ("std::regex r;", "write the match out"),
        ("assert(x);", "LAKE_CHECK"),
        ("auto* p = new Thing();", "make_unique"),
        ("delete p;", "unique_ptr"),
        ("delete[] p;", "unique_ptr"),
        ("throw Error();", "return an Error"),
    ],
)
def test_these_calls_are_refused_with_a_replacement(text, words):
    one(code.check_calls(Tree({"src/lake/catalog/x.cc": text})), "src/lake/catalog/x.cc", words)


@pytest.mark.parametrize(
    "path, text",
    [
        ("src/lake/base/real_clock.cc", "clock_gettime(CLOCK_BOOTTIME, &t);"),
        ("src/lake/base/mutex.h", "std::mutex mutex_;"),
        ("src/lake/base/thread.cc", "std::thread thread_;"),
        ("src/lake/sql/x.cc", "throw duckdb::BinderException(text);"),
    ],
)
def test_the_places_that_wrap_a_call_may_make_it(path, text):
    assert messages(code.check_calls(Tree({path: text}))) == []


@pytest.mark.parametrize(
    "text",
    [
        "// TODO(#12): read the footer.",
        "x();  // NOLINT(concurrency-mt-unsafe): nothing else runs yet.",
        "// Returns nothing; see Close().",
        "//   store.Commit(t);",
        "// It is used to sort keys.",
        "// Calls that would block wait here.",
    ],
)
def test_these_comments_are_fine(text):
    assert messages(code.check_comments(Tree({"src/lake/base/x.cc": text}))) == []


@pytest.mark.parametrize(
    "text, words",
    [
        ("// TODO: later", "without an issue"),
        ("// FIXME(#3): broken", "without an issue"),
        ("x();  // NOLINT", "a check's name and a reason"),
        ("x();  // NOLINT(bugprone-foo)", "a check's name and a reason"),
        ("// NOLINTNEXTLINE: because", "a check's name and a reason"),
        ("// store.Commit(t);", "commented-out code"),
        ("// return x;", "commented-out code"),
        ("//---------- Section", "decoration"),
        ("// This used to be a map.", "not its history"),
    ],
)
def test_these_comments_are_refused(text, words):
    one(code.check_comments(Tree({"src/lake/base/x.cc": text})), "src/lake/base/x.cc", words)


@pytest.mark.parametrize(
    "path, text, words",
    [
        ("src/lake/base/x.h", "#ifndef X\n#define X\n#endif", "#pragma once"),
        ("src/lake/base/x.cc", "#if 0\nint x;\n#endif", "#if 0"),
        ("src/lake/base/x.cc", "class StringUtils {};", "name what it is"),
        ("src/lake/base/x.cc", "struct StoreImpl : Store {};", "name what it is"),
        ("src/lake/util/x.cc", "", "there is no util"),
        ("src/lake/base/x_test.cc", "TEST(Store, Works) {}", "a test's name is a claim"),
    ],
)
def test_these_shapes_are_refused(path, text, words):
    one(code.check_shape(Tree({path: text})), path, words)


def test_ordinary_shapes_are_fine():
    files = {
        "src/lake/base/x.h": "// Why.\n#pragma once\n",
        "src/lake/base/x.cc": "#if defined(NDEBUG)\n#endif\nclass Store {};",
        "src/lake/base/x_test.cc": "TEST(Store, KeepsWhatItWasGiven) {}",
    }
    assert messages(code.check_shape(Tree(files))) == []


# --- Contracts.

COMMENTED = """#pragma once

namespace lake {

class Forward;

// A thing.
class Thing final : public Base {
 public:
  // How it is made.
  struct Options {
    int size = 0;
  };

  explicit Thing(Options options);
  ~Thing() override;
  Thing(const Thing&) = delete;
  Thing& operator=(const Thing&) = delete;

  // Does it.
  void Do();
  void DoTwice();
  void Overridden() override;

  int size() const { return size_; }

  bool operator==(const Thing&) const = default;

 protected:
  void Hidden();

 private:
  struct Part {
    void Also();
  };

  void Secret();
  int size_ = 0;
};

// One number and another.
inline constexpr int kOne = 1;
inline constexpr std::array kTwo{1, 2};

// Says it.
template <typename T>
  requires std::integral<T>
Result<T> Say(T value, std::function<void(int)> how = {}) {
  struct Local {};
  return value;
}

using Alias = std::map<int, std::string>;  // By number.

// Each is one of these.
enum class Kind { kA, kB };

// Written LAKE_DO(x).
#define LAKE_DO(x) \\
  do {             \\
  } while (false)

}  // namespace lake

template <>
struct fmt::formatter<lake::Thing> {
  auto format(int x) const;
};
"""


def uncommented(text):
    return [f"{declaration.in_class}.{declaration.name}".lstrip(".") for declaration in contracts.find_uncommented(Cpp(text))]


def test_a_header_with_contracts_has_no_offence():
    assert uncommented(COMMENTED) == []


def test_without_its_comments_every_public_declaration_of_it_offends():
    bare = "\n".join(line for line in COMMENTED.split("\n") if not line.lstrip().startswith("//")).replace("  // By number.", "")
    assert uncommented(bare) == ["Thing", "Thing.Do", "Thing.DoTwice", "kOne", "kTwo", "Say", "Alias", "Kind", "LAKE_DO"]


@pytest.mark.parametrize(
    "text, names",
    [
        ("int Free();", ["Free"]),
        ("int Free(int x) { return x; }\n\nint Other();", ["Free", "Other"]),
        ("struct S {\n  static S Make();\n};", ["S", "S.Make"]),
        ("// S.\nstruct S {\n  S() : a_{1}, b_(2) {}\n\n  void F();\n};", ["S.F"]),
        ("// S.\nclass S {\n  void F();\n};", []),
        ("// S.\nclass S {\n public:\n  Status Get() const;\n};", ["S.Get"]),
        ("// S.\nstruct S {\n  std::size_t operator()(int x) const;\n};", ["S.operator()"]),
        ("// A.\nint A();\n\nint B();", ["B"]),
        ("// A.\nint A();\nint B();", []),
        ("namespace a::b {\nextern const int kX;\n}", ["kX"]),
        ("template <typename T>\nconcept Small = requires(T t) { t.x(); };", ["Small"]),
        ("// Macro.\n#define A 1\n\n#define B 2\n#define C_ 3", ["B"]),
        ("// O.\ntemplate <typename... F>\nstruct O : F... {\n  using F::operator()...;\n};\n\ntemplate <typename... F>\nO(F...) -> O<F...>;", []),
        ("struct Outer::Inner {\n  int F();\n};", []),
        ("int Free();  // Free.", []),
        ("// S.\nstruct S {\n  int a;\n\n  std::function<std::map<int, int>(int)> make;\n};", []),
        ("std::function<void(int)> Make(int x);", ["Make"]),
    ],
)
def test_what_needs_a_contract(text, names):
    assert uncommented(text) == names


def test_only_headers_that_are_not_for_one_test_need_contracts():
    tree = Tree({"src/lake/a/x.h": "int F();", "src/lake/a/x.cc": "int G();", "src/lake/a/x_test_internal.h": "int H();"})
    one(contracts.check(tree), "src/lake/a/x.h", "function F has no contract comment")


# --- Builds.


def test_a_listed_file_is_built_and_an_unlisted_one_is_refused():
    files = {
        "src/lake/a/CMakeLists.txt": "lake_module(NAME a SRCS x.cc  # y.cc\n  HDRS x.h)",
        "src/lake/a/x.cc": '#include "lake/a/z_internal.h"',
        "src/lake/a/x.h": "",
        "src/lake/a/y.cc": "",
        "src/lake/a/z_internal.h": "",
        "src/lake/a/unused_internal.h": "",
    }
    found = messages(builds.check_listed(Tree(files)))
    assert [message.split(":")[0] for message in found] == ["src/lake/a/unused_internal.h", "src/lake/a/y.cc"]


@pytest.mark.parametrize("name", ["test_x.py", "x.test"])
def test_a_test_that_nothing_runs_is_refused(name):
    one(builds.check_listed(Tree({f"tests/sql/{name}": "", "tests/sql/CMakeLists.txt": ""})), f"tests/sql/{name}", "nothing runs")
    listed = {f"tests/sql/{name}": "", "tests/sql/CMakeLists.txt": f"lake_python_test(FILES {name})", "tests/sql/conftest.py": ""}
    assert messages(builds.check_listed(Tree(listed))) == []


def test_a_folder_that_nothing_adds_is_refused():
    files = {"tests/CMakeLists.txt": "foreach(_kind lint sql)", "tests/sql/CMakeLists.txt": "", "tests/sim/CMakeLists.txt": ""}
    one(builds.check_folders(Tree(files)), "tests/sim/CMakeLists.txt", "does not add this folder")


def test_private_headers_are_told_by_their_names():
    listed = {"src/lake/a/CMakeLists.txt": "lake_module(NAME a SRCS x.cc y.h HDRS z_internal.h w.h)"}
    found = messages(builds.check_headers(Tree(listed)))
    assert len(found) == 2 and "y.h" in found[0] and "z_internal.h" in found[1]
    good = {"src/lake/a/CMakeLists.txt": "lake_module(NAME a SRCS x.cc z_internal.h HDRS w.h)"}
    assert messages(builds.check_headers(Tree(good))) == []


# --- Documents.


@pytest.mark.parametrize(
    "text",
    [
        "# T\n\n[a](other.md) [b](other.md#one-heading) [c](https://example.org/x) [d](#t) [e](../src)",
        "# T\n\n```\n[a](gone.md)\n# not a title\n```\n",
        "# T\n\n`src/lake/x.cc` and `src/lake/new file` and `a/b.cc` and `Store.KeepsIt` and `object.method`",
    ],
)
def test_these_documents_are_fine(text):
    files = {
        "docs/x.md": text,
        "docs/other.md": "# O\n\n## One heading\n",
        "src/lake/x.cc": "",
        "src/lake/x_test.cc": "TEST(Store, KeepsIt) {}",
    }
    assert messages(documents.check_markdown(Tree(files))) == []


@pytest.mark.parametrize(
    "text, words",
    [
        ("No title.\n", "begins with its title"),
        ("# A\n\n# B\n", "begins with its title"),
        ("# T\n\n[a](gone.md)\n", "there is no docs/gone.md"),
        ("# T\n\n[a](other.md#gone)\n", "has no such heading"),
        ("# T\n\n[a](#gone)\n", "has no such heading"),
        ("# T\n\nSee `src/lake/gone.cc`.\n", "does not exist"),
        ("# T\n\nSee `Store.Forgets`.\n", "not the name of a test"),
    ],
)
def test_these_documents_are_refused(text, words):
    files = {"docs/x.md": text, "docs/other.md": "# O\n", "src/lake/x_test.cc": "TEST(Store, KeepsIt) {}"}
    one(documents.check_markdown(Tree(files)), "docs/x.md", words)


def test_a_page_that_a_comment_names_is_there():
    tree = Tree({"src/lake/x.h": "// See docs/x.md and docs/gone.md.", "docs/x.md": "# X\n"})
    one(documents.check_references(tree), "src/lake/x.h", "docs/gone.md does not exist")


ADR = "# 0001 Words\n\n## Context\n\n## Decision\n\n## Alternatives\n\n## Consequences\n"


def test_a_decision_has_its_number_and_its_sections():
    assert messages(documents.check_decisions(Tree({"docs/adr/0001-words.md": ADR, "docs/adr/README.md": "[a](0001-words.md)"}))) == []


@pytest.mark.parametrize(
    "files, words",
    [
        ({"docs/adr/words.md": ADR, "docs/adr/README.md": ""}, "NNNN-some-words.md"),
        ({"docs/adr/0001-words.md": ADR.replace("0001", "0002"), "docs/adr/README.md": "(0001-words.md)"}, "begins with the number"),
        ({"docs/adr/0001-words.md": ADR.replace("## Alternatives", ""), "docs/adr/README.md": "(0001-words.md)"}, "'Alternatives'"),
        ({"docs/adr/0001-words.md": ADR, "docs/adr/README.md": ""}, "does not list"),
        (
            {"docs/adr/0002-words.md": ADR.replace("0001", "0002"), "docs/adr/README.md": "(0002-words.md)"},
            "there is no decision 0001",
        ),
        (
            {"docs/adr/0001-words.md": ADR, "docs/adr/0001-other.md": ADR, "docs/adr/README.md": "(0001-words.md) (0001-other.md)"},
            "two decisions",
        ),
    ],
)
def test_these_decisions_are_refused(files, words):
    found = messages(documents.check_decisions(Tree(files)))
    assert len(found) == 1 and words in found[0], found


README = "# a\n\nWhat it is.\n"


@pytest.mark.parametrize(
    "text, words",
    [
        (None, "has no README.md"),
        ("# b\n\nWhat it is.\n", "the title is '# a'"),
        ("# a\n\nNo full stop\n", "in one sentence"),
        (README + "x\n" * 50, "longer than 40 lines"),
    ],
)
def test_these_module_readmes_are_refused(text, words):
    files = {"src/lake/a/CMakeLists.txt": "lake_module(NAME a SRCS x.cc)"}
    if text is not None:
        files["src/lake/a/README.md"] = text
    found = messages(documents.check_readmes(Tree(files)))
    assert len(found) == 1 and words in found[0], found


def test_the_module_table_is_what_the_readmes_say():
    files = {"src/lake/a/CMakeLists.txt": "lake_module(NAME a SRCS x.cc)", "src/lake/a/README.md": README}
    marks = f"# A\n\n{documents.TABLE_BEGIN}\n{documents.TABLE_END}\n"
    tree = Tree({**files, "ARCHITECTURE.md": marks})
    one(documents.check_module_table(tree, CONFIG), "ARCHITECTURE.md", "differs from the READMEs")
    fixed = documents.with_module_table(marks, documents.module_table(tree, CONFIG))
    assert "| [a](src/lake/a) | What it is. |" in fixed
    assert messages(documents.check_module_table(Tree({**files, "ARCHITECTURE.md": fixed}), CONFIG)) == []
    one(documents.check_module_table(Tree({**files, "ARCHITECTURE.md": "# A\n"}), CONFIG), "ARCHITECTURE.md", "no module table")


def test_a_long_architecture_is_refused():
    one(documents.check_architecture(Tree({"ARCHITECTURE.md": "x\n" * 301})), "ARCHITECTURE.md", "longer than 300 lines")
    assert messages(documents.check_architecture(Tree({"ARCHITECTURE.md": "x\n" * 300}))) == []


def test_a_path_of_one_machine_is_refused():
    one(documents.check_paths(Tree({"docs/x.md": "see /home/somebody/lake"})), "docs/x.md", "a path of one machine")
    assert messages(documents.check_paths(Tree({"docs/x.md": "see ./work/x, build/home/x/ and /data/x"}))) == []


# --- Formatting.


@pytest.mark.parametrize(
    "path, text, words",
    [
        ("docs/x.md", "a \nb\n", "blanks at the end"),
        ("tools/x.py", "\tx\n", "a tab"),
        ("docs/x.md", "a", "one newline"),
        ("docs/x.md", "a\n\n", "one newline"),
    ],
)
def test_stray_blanks_are_refused(path, text, words):
    one(formatting.check_text(Tree({path: text})), path, words)


def test_clean_text_is_fine():
    assert messages(formatting.check_text(Tree({"Makefile": "a:\n\tb\n", "docs/x.md": "a\n\nb\n", "docs/empty.md": ""}))) == []


def test_clang_format_decides_the_layout(tmp_path):
    (tmp_path / ".clang-format").write_text("BasedOnStyle: Google\n")
    (tmp_path / "good.cc").write_text("int x = 1;\n")
    (tmp_path / "bad.cc").write_text("int  x=1 ;\n\n\n\nint   y;\n")
    one(formatting.check_cpp(tmp_path, ["bad.cc", "good.cc"]), "bad.cc", "make format")
    one(formatting.check_cpp(tmp_path, ["missing.cc"]), "missing.cc", "failed")


# --- The program.


def test_the_program_reports_places_and_fails(tmp_path):
    for folder in ("tools", "src/lake/base"):
        (tmp_path / folder).mkdir(parents=True)
    for path in (TOOLS / "tidy.py", TOOLS / "layers.toml", *sorted((TOOLS / "tidy_rules").glob("*.py"))):
        copy = tmp_path / "tools" / path.relative_to(TOOLS)
        copy.parent.mkdir(exist_ok=True)
        copy.write_text(path.read_text())
    (tmp_path / ".clang-format").write_text("BasedOnStyle: Google\n")
    (tmp_path / "src/lake/base/CMakeLists.txt").write_text("lake_module(NAME base SRCS x.cc)\n")
    (tmp_path / "src/lake/base/README.md").write_text("# base\n\nWhat everything uses.\n")
    source = tmp_path / "src/lake/base/x.cc"

    def run():
        return subprocess.run([sys.executable, "tools/tidy.py"], cwd=tmp_path, check=False, capture_output=True, text=True)

    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    source.write_text("int x = 1;\n")
    clean = run()
    assert (clean.returncode, clean.stdout.splitlines()[-1].endswith(" 0 offences")) == (0, True), clean.stdout + clean.stderr
    source.write_text("int x = rand();\n")
    dirty = run()
    assert dirty.returncode == 1 and dirty.stdout.startswith("src/lake/base/x.cc:1: 'rand': take a lake::Random&"), dirty.stdout
