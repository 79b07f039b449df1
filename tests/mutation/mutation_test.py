"""Known text gives known mutants, and of two in a toy project the tests find one."""

import os
import stat
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import build  # noqa: E402
import judge  # noqa: E402
import mutants  # noqa: E402
import run  # noqa: E402

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
_COMPILER = """#!/bin/sh
while [ $# -gt 0 ]; do case $1 in -c) source=$2;; -o) output=$2;; esac; shift; done
grep -q BROKEN "$source" && exit 1
cp "$source" "$output"
"""
_LINKER = """#!/bin/sh
while [ $# -gt 0 ]; do case $1 in -o) output=$2;; *.o) object=$1;; esac; shift; done
cp "$object" "$output" && chmod +x "$output"
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

    def test_a_changed_text_differs_in_the_mutant_only(self):
        for mutant in self.drawn(_SOURCE):
            text = mutants.changed(_SOURCE, mutant)
            self.assertEqual(len(text), len(_SOURCE) - len(mutant.before) + len(mutant.after))


class ToyTest(unittest.TestCase):
    """A project of one "source", a script, whose "compiler" and "linker" copy."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        self.text = "#!/bin/sh\nx=1 y=2\n[ $x -eq 1 ]\n"
        for name, text in (("cc", _COMPILER), ("ld", _LINKER), ("src/toy.cc", self.text), ("out/toy.o", self.text), ("out/toy", self.text)):
            path = os.path.join(self.root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
            os.chmod(path, stat.S_IRWXU)
        os.makedirs(os.path.join(self.root, "out/toy.runfiles/ampc/out"))
        os.symlink(os.path.join(self.root, "out/toy"), os.path.join(self.root, "out/toy.runfiles/ampc/out/toy"))
        self.build = build.Build({
            "execroot": self.root,
            "compiles": {"src/toy.cc": [self.root + "/cc", "-c", "src/toy.cc", "-o", "out/toy.o"]},
            "unit_of": {"src/toy.cc": "src/toy.cc"},
            "archives": {},
            "links": {"out/toy": [self.root + "/ld", "-o", "out/toy", "out/toy.o"]},
            "tests": {"//out:toy": {"binary": "out/toy", "args": [], "data": []}},
            "headers": [],
            "edges": {"//src:toy.cc": ["//src:toy"], "//src:toy": ["//out:toy"]},
        })  # fmt: skip
        self.place = judge.Workplace(self.build, os.path.join(self.root, "work"), {}, "")

    def judged(self, before, after):
        results = run.Results(os.path.join(self.root, "results.jsonl"))
        sitting = run.Sitting(self.build, self.place, results, 0, self.root)
        start = self.text.index(before)
        row = sitting.judge(mutants.Mutant("src/toy.cc", 2, start, start + len(before), before, after, "constant", before))
        results.add(row)
        return row

    def test_one_is_found_and_one_survives(self):
        found, lives = self.judged("x=1", "x=2"), self.judged("y=2", "y=3")
        self.assertEqual((found["verdict"], found["by"], found["how"]), (run.FOUND, "//out:toy", "exit 1"))
        self.assertEqual((lives["verdict"], lives["tried"]), (run.LIVES, ["//out:toy"]))
        self.assertIn("-x=1 y=2\n+x=1 y=3", lives["diff"])
        rows = list(run.Results(os.path.join(self.root, "results.jsonl")).rows.values())
        self.assertEqual(run.summary(rows, {}).split("\n")[-1], "| all | 2 | 1 | 1 | 0 | 0 | 0 | 0 | 50 % |")
        known = {("src/toy.cc", "x=1 y=2", "x=1 y=3"): "y is not read"}
        self.assertEqual(run.summary(rows, known).split("\n")[-1], "| all | 2 | 1 | 0 | 0 | 0 | 1 | 0 | 100 % |")

    def test_what_does_not_compile_is_not_counted(self):
        self.assertEqual(self.judged("y=2", "BROKEN")["verdict"], run.REFUSED)

    def test_an_endless_loop_is_found(self):
        self.place.times["//out:toy"] = 0.01
        judge._MORE_SECONDS, kept = 1, judge._MORE_SECONDS
        self.addCleanup(setattr, judge, "_MORE_SECONDS", kept)
        self.assertEqual(self.judged("y=2", "\nwhile :; do :; done\n")["how"], "takes too long")

    def test_a_test_that_fails_by_itself_says_nothing(self):
        self.build.tests["//out:toy"]["args"] = []
        with open(os.path.join(self.root, "out/toy"), "w", encoding="utf-8") as out:
            out.write("#!/bin/sh\nexit 1\n")
        row = self.judged("x=1", "x=2")
        self.assertEqual((row["verdict"], row["tried"]), (run.LIVES, []))


if __name__ == "__main__":
    unittest.main()
