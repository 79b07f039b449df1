"""Known text gives known mutants and known choices, and of those in a toy project the test finds what it holds."""

import hashlib
import os
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import build  # noqa: E402
import combined  # noqa: E402
import judge  # noqa: E402
import mutants  # noqa: E402
import run  # noqa: E402
import schemata  # noqa: E402

_SOURCE = """#include "a/b.h"  // 1 < 2
namespace ampc {
enum class Kind { kOne, kTwo };
static_assert(sizeof(int) == 4);
std::vector<std::array<int, 3>> Made(const int& first, int* last) {
  const int size = first + *last;  /* 3 + 4 */
  std::vector<int> out(size);
  out.reserve(7);
  if (size < 2 || !last) return {};
  for (int i = 0; i < size; ++i) out.push_back({first, i});
  switch (Kind kind = Kind::kOne) {
    case Kind::kTwo:
      Add("a < b", '<', out);
      break;
  }
  ForEach(out, [&](int value) {
    total += value;
    return value > -1;
  });
  return out;
}
}  // namespace ampc
"""
_EXPECTED = [
    (6, "+", "-"),
    (9, "<", "<="),
    (9, "||", "&&"),
    (9, "!", ""),
    (10, "out.push_back({first, i})", ""),
    (10, "<", "<="),
    (11, "kOne", "kTwo"),
    (13, "Add(\"a < b\", '<', out)", ""),
    (14, "break", ""),
    (17, "total += value", ""),
    (17, "+=", "-="),
    (18, "return value > -1", "return {}"),
    (18, ">", ">="),
    (18, "-", ""),
    (20, "return out", "return {}"),
]
_TOY = """constexpr int kFirst = 2;
int Clamped(int x) {
  const int most = 3;
  if (x > most - 0) return most;
  while (x < -7) {
    ++x;
  }
  return x;
}
int First() { return kFirst; }
"""
_TOY_TEST = """int Clamped(int x);
int First();
int main() { return Clamped(9) == 3 && Clamped(1) == 1 && First() == 2 ? 0 : 1; }
"""


class MutantsTest(unittest.TestCase):
    maxDiff = None

    def drawn(self, text, seed="1"):
        return mutants.mutants("a.cc", text, mutants.enumerations([text]), seed)

    def test_known_text_gives_known_mutants(self):
        found = [(m.line, m.before, m.after) for m in self.drawn(_SOURCE) if not m.before.isdigit()]
        self.assertCountEqual(found, _EXPECTED)

    def test_constants_become_one_more_or_less(self):
        for mutant in self.drawn(_SOURCE):
            if mutant.before.isdigit():
                self.assertIn(int(mutant.after) - int(mutant.before), (1, -1))

    def test_another_line_leaves_the_others_keys(self):
        keys = {m.key for m in self.drawn(_SOURCE)}
        self.assertEqual({m.key for m in self.drawn(_SOURCE.replace("namespace ampc {", "namespace ampc {\n\n", 1))}, keys)
        self.assertEqual(len(keys), len(self.drawn(_SOURCE)))
        self.assertFalse(keys & {m.key for m in self.drawn(_SOURCE, "2")})

    def test_keys_name_the_file_not_its_folder(self):
        enums, seen = mutants.enumerations([_SOURCE]), {}
        here, there = ({m.key for m in mutants.mutants(path, _SOURCE, enums, "1")} for path in ("x/a.cc", "y/z/a.cc"))
        self.assertEqual(here, there)
        self.assertEqual(here, {m.key for m in self.drawn(_SOURCE.replace("\n  ", "\n      "))})
        both = [m.key for path in ("x/a.cc", "y/a.cc") for m in mutants.mutants(path, _SOURCE, enums, "1", seen)]
        self.assertEqual(len(both), len(set(both)))

    def test_a_changed_text_differs_in_the_mutant_only(self):
        for mutant in self.drawn(_SOURCE):
            text = mutants.changed(_SOURCE, mutant)
            self.assertEqual(len(text), len(_SOURCE) - len(mutant.before) + len(mutant.after))


class SchemataTest(unittest.TestCase):
    def place(self, text, before, after="changed"):
        """The first place of a mutant, as the text with its choice shows it."""
        source, start = schemata.Source(text), text.index(before)
        mutant = mutants.Mutant("a.cc", 1, start, start + len(before), before, after, "by hand", "1")
        places = source.places(mutant)
        return source.combined([(1, mutant, places[0])]).strip() if places else None

    def in_code(self, text, before):
        return self.place("void F() {\n" + text + "\n}", before).split("\n")[1]

    def test_a_choice_is_of_a_condition_a_value_or_a_statement(self):
        chosen = "(AmpcMutant(1) ? static_cast<bool>(%s) : static_cast<bool>(%s))"
        self.assertEqual(self.in_code("if (a < b) c();", "<"), "if (%s) c();" % chosen % ("a changed b", "a < b"))
        self.assertEqual(self.in_code("for (; a < b;) c();", "<"), "for (; %s;) c();" % chosen % ("a changed b", "a < b"))
        self.assertEqual(self.in_code("if (T a = b; a < b) c();", "<"), "if (T a = b; %s) c();" % chosen % ("a changed b", "a < b"))
        self.assertEqual(self.in_code("for (;; i += 2) c();", "+="), "for (;; (AmpcMutant(1) ? static_cast<void>(i changed 2) : static_cast<void>(i += 2))) c();")
        self.assertEqual(self.in_code("const int c = a + b, d = 4;", "+"), "const int c = (AmpcMutant(1) ? (a changed b) : (a + b)), d = 4;")
        self.assertEqual(self.in_code("for (int x : a + b) c();", "+"), "for (int x : (AmpcMutant(1) ? (a changed b) : (a + b))) c();")
        self.assertEqual(self.in_code("std::vector<int> v(a + b, 2);", "+"), "std::vector<int> v((AmpcMutant(1) ? (a changed b) : (a + b)), 2);")
        self.assertEqual(self.in_code("if (x) c(a + b); else d();", "+"), "if (x) { if (AmpcMutant(1)) { c ( a changed b ) ; } else { c(a + b); } } else d();")
        self.assertEqual(self.in_code("case kA: c(a + b);", "+"), "case kA: { if (AmpcMutant(1)) { c ( a changed b ) ; } else { c(a + b); } }")
        self.assertEqual(self.in_code("ASSIGN(auto x, a + b);", "+"), "ASSIGN(auto x, (AmpcMutant(1) ? (a changed b) : (a + b)));")
        self.assertEqual(self.in_code("return all([](int v) { return v > 1; });", ">"),
                         "return all([](int v) { { if (AmpcMutant(1)) { return v changed 1 ; } else { return v > 1; } } });")  # fmt: skip
        self.assertEqual(self.place("A::A(int n) : n_(n + 1) {}", "+"), "A::A(int n) : n_((AmpcMutant(1) ? (n changed 1) : (n + 1))) {}")

    def test_what_is_constant_has_no_place(self):
        for text in ("namespace a { const int k = 1 + 2; }", "constexpr int F(int a) { return a + 1; }", "int F() { constexpr int a = 1 + 2; return a; }"):
            self.assertIsNone(self.place(text, "+"))

    def test_lines_keep_their_numbers(self):
        changed = self.place("int F() {\n  return a +  // one\n      b;\n}\n", "+")
        self.assertEqual(changed.count("\n"), 3)
        self.assertIn("{ return a changed b ; }", changed)

    def test_a_place_holds_many_mutants_and_places_hold_others(self):
        text = "int F() { return G(a + b) + [&] { return c - d; }(); }"
        source = schemata.Source(text)
        named = [mutants.Mutant("a.cc", 1, text.index(s), text.index(s) + 1, s, "*", "by hand", s) for s in ("+", "-", "a")]
        combined_ = source.combined([(i + 1, m, source.places(m)[0]) for i, m in enumerate(named)])
        self.assertEqual(combined_, "int F() { { if (AmpcMutant(1)) { return G ( a * b ) + [ & ] { return c - d ; } ( ) ; } else "
                         "if (AmpcMutant(3)) { return G ( * + b ) + [ & ] { return c - d ; } ( ) ; } else { return G(a + b) + [&] "
                         "{ { if (AmpcMutant(2)) { return c * d ; } else { return c - d; } } }(); } } }")  # fmt: skip


class ToyTest(unittest.TestCase):
    """A project of one source, compiled and linked by the machine's compiler."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        os.makedirs(os.path.join(self.root, "src"))
        os.makedirs(os.path.join(self.root, "out/toy.runfiles/ampc/out"))
        commands = {"compiles": {}, "links": {"out/toy": ["g++", "-o", "out/toy", "out/toy.o", "out/toy_test.o"]}}
        for name, text in (("toy", _TOY), ("toy_test", _TOY_TEST)):
            with open(os.path.join(self.root, "src", name + ".cc"), "w", encoding="utf-8") as out:
                out.write(text)
            commands["compiles"]["src/%s.cc" % name] = ["g++", "-O2", "-c", "src/%s.cc" % name, "-o", "out/%s.o" % name]
        for command in [*commands["compiles"].values(), *commands["links"].values()]:
            subprocess.run(command, cwd=self.root, check=True)
        os.symlink(os.path.join(self.root, "out/toy"), os.path.join(self.root, "out/toy.runfiles/ampc/out/toy"))
        self.build = build.Build({
            "execroot": self.root,
            "compiles": commands["compiles"],
            "unit_of": {"src/toy.cc": "src/toy.cc"},
            "archives": {},
            "links": commands["links"],
            "tests": {"//out:toy": {"binary": "out/toy", "args": [], "data": [], "shards": 1}},
            "headers": [],
            "edges": {"//src:toy.cc": ["//src:toy"], "//src:toy": ["//out:toy"]},
        })  # fmt: skip
        self.results = run.Results(os.path.join(self.root, "results.jsonl"))

    def mutant(self, before, after):
        start = _TOY.index(before)
        key = hashlib.sha256((before + after).encode()).hexdigest()[:16]
        return mutants.Mutant("src/toy.cc", _TOY.count("\n", 0, start) + 1, start, start + len(before), before, after, "constant", key)

    def judged(self, *changes):
        """The rows of mutants that are judged in one sitting."""
        place = judge.Workplace(self.build, os.path.join(self.root, "work"), {}, "")
        self.combined = combined.Combined(self.build, place, os.path.join(self.root, "combined"), self.root)
        sitting = run.Sitting(self.build, place, self.combined, self.results, 0, self.root)
        drawn = [self.mutant(*change) for change in changes]
        for mutant in sitting.choose(drawn, len(drawn)):
            if self.results.verdict(mutant) != run.REFUSED:
                self.results.add(sitting.judge(mutant))
        return [self.results.rows[mutant.key] for mutant in drawn]

    def test_what_the_test_holds_is_found_and_the_rest_is_not(self):
        found, same, lives, refused, alone = self.judged(("3", "4"), ("- 0", "+ 0"), ("-7", "-8"), ("++x", "unknown"), ("2", "5"))
        self.assertEqual((found["verdict"], found["by"], found["how"]), (run.FOUND, "//out:toy", "exit 1"))
        self.assertEqual((same["verdict"], lives["verdict"], refused["verdict"]), (run.SAME, run.LIVES, run.REFUSED))
        self.assertEqual((alone["verdict"], list(lives["tried"])), (run.FOUND, ["//out:toy"]))
        self.assertEqual(set(self.combined.numbers), {found["key"], same["key"], lives["key"]})
        self.assertIn("-  while (x < -7) {\n+  while (x < -8) {", lives["diff"])
        rows = list(run.Results(os.path.join(self.root, "results.jsonl")).rows.values())
        self.assertEqual(run.summary(rows, {}).split("\n")[-1], "| all | 4 | 2 | 1 | 0 | 1 | 0 | 1 | 67 % |")
        known = {("src/toy.cc", "while (x < -7) {", "while (x < -8) {"): "nobody asks"}
        self.assertEqual(run.summary(rows, known).split("\n")[-1], "| all | 4 | 2 | 0 | 0 | 1 | 1 | 1 | 100 % |")

    def test_only_runs_with_the_mutant_count_against_the_limit(self):
        self.judged(("3", "4"))
        place = judge.Workplace(self.build, os.path.join(self.root, "work"), {}, "")
        sitting = run.Sitting(self.build, place, self.combined, self.results, 1, self.root)
        self.build.tests["//out:other"] = self.build.tests["//out:toy"]
        self.build._users = {"src/toy.cc": {"//out:toy": 1, "//out:other": 1}}
        verdicts = []
        for seconds in (0, 2):
            row = {"key": "none", "path": "src/toy.cc"}
            finds = lambda label: judge.Outcome(None, seconds)  # noqa: B023, E731
            verdicts.append(sitting._held(row, _TOY.replace("3", "4"), lambda label: time.sleep(1) is None, finds)["verdict"])
        self.assertEqual(verdicts, [run.LIVES, run.OPEN])

    def test_a_test_that_does_not_come_to_the_place_is_not_run(self):
        (row,) = self.judged(("++x", "x += 2"))
        self.assertEqual((row["verdict"], row["tried"]), (run.LIVES, {}))

    def test_an_endless_loop_is_found(self):
        judge._MORE_SECONDS, kept = 1, judge._MORE_SECONDS
        self.addCleanup(setattr, judge, "_MORE_SECONDS", kept)
        self.assertEqual(self.judged(("x < -7", "true"))[0]["how"], "takes too long")

    def test_a_test_that_fails_by_itself_says_nothing(self):
        with open(os.path.join(self.root, "src/toy_test.cc"), "w", encoding="utf-8") as out:
            out.write("int Clamped(int);\nint main() { return Clamped(1); }\n")
        for command in (self.build.compiles["src/toy_test.cc"], self.build.links["out/toy"]):
            subprocess.run(command, cwd=self.root, check=True)
        (row,) = self.judged(("3", "4"))
        self.assertEqual((row["verdict"], row["tried"]), (run.LIVES, {}))

    def test_a_second_sitting_takes_what_the_first_compiled(self):
        self.judged(("-7", "-8"))
        before = {name: os.stat(os.path.join(self.root, "combined", name)).st_mtime_ns for name in self.made()}
        self.judged(("-7", "-8"))
        self.assertEqual({name: os.stat(os.path.join(self.root, "combined", name)).st_mtime_ns for name in self.made()}, before)

    def made(self):
        return ["binary/out/toy"] + [os.path.join("object", name) for name in os.listdir(os.path.join(self.root, "combined/object")) if name.endswith(".o")]


if __name__ == "__main__":
    unittest.main()
