"""Each check finds what it is for, in a tree made for the purpose, and says nothing about a clean one."""

import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import commands  # noqa: E402
import commas  # noqa: E402
import flow  # noqa: E402
import layering  # noqa: E402
import layout  # noqa: E402
import op_tables  # noqa: E402
import sealed  # noqa: E402
import size  # noqa: E402
import status  # noqa: E402
import words  # noqa: E402

_LONG_FUNCTION = "absl::Status Add(int a,\n                 int b) {\n" + "  a += b;\n" * 60 + "}\n"


class LintTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.write("tools/lint/size_allow.txt", "")

    def write(self, path, text):
        where = os.path.join(self._folder.name, path)
        os.makedirs(os.path.dirname(where), exist_ok=True)
        with open(where, "w", encoding="utf-8") as out:
            out.write(text)

    def problems(self, check):
        return check.check(self._folder.name)

    def test_clean_tree_is_quiet(self):
        self.write("graph/op.h", '#pragma once\n#include "graph/base/dtype.h"\n')
        self.write("kernels/cpu/add.cc", '#include "graph/op.h"\nint Add() {\n  return 1;  // working\n  std::abort();  // reason\n}\n')
        for check in (layering, size, status, words):
            self.assertEqual(self.problems(check), [])

    def test_includes_against_the_chain(self):
        self.write("passes/fold.cc", '#include "kernels/kernel.h"\n')
        self.write("graph/type.cc", '#include "proto/program.pb.h"\n')
        self.write("runtime/run.cc", "#include <cuda_runtime.h>\n")
        self.write("graph/formats/onnx.cc", '#include "proto/onnx.pb.h"\n')
        found = self.problems(layering)
        self.assertEqual([p.split(":")[0] for p in found], ["graph/type.cc", "passes/fold.cc", "runtime/run.cc"])

    def test_layout(self):
        self.write(".clang-format", "BasedOnStyle: Google\n")
        self.write("graph/good.cc", "int Good() { return 1; }\n")
        self.assertEqual(self.problems(layout), [])
        self.write("graph/bad.cc", "int Bad()\n{ return  1; }\n")
        self.write("tests/golden/data.cc", "int  Data;\n")
        self.assertEqual([p.split(":")[0] for p in self.problems(layout)], ["graph/bad.cc"] * 2)

    def test_private_words(self):
        self.write("graph/a.cc", "void FollowSums(int x);\nstruct Place {\n};\n// A wish of the user steers it.\n")
        self.write("runtime/b.h", "#pragma once\nclass ArenaGuard {\n};\n// Before AMP lowered it.\n")
        self.write("tests/c.py", "twin = 1  # whose ending says the format\n")
        self.write("graph/d.cc", "// The losses follow each other.\nstruct TextPosition {\n};\nTEST(Losses, FollowFp32) {}\n")
        found = self.problems(words)
        self.assertEqual([p.split(":")[0] for p in found], ["graph/a.cc"] * 3 + ["runtime/b.h"] * 2 + ["tests/c.py"] * 2, found)

    def test_commas_that_join_statements(self):
        self.write("graph/a.cc", "void F() {\n  a.x = 1, b->y[i + 1] += 2;\n  if (ok) out.push_back(i), ++n;\n  return rows = nullptr, false;\n}\n")
        self.assertEqual([p.split(": ")[0] for p in self.problems(commas)], ["graph/a.cc:2", "graph/a.cc:3", "graph/a.cc:4"])
        self.write("graph/a.cc", "void F() {\n  int a = 1, b = 2;\n  for (i = 0, j = n; i < j; ++i, --j) o[i] = Convert<T, U>(x[i], s);\n"
                                 "  return p ? &Row<T, 0, 1> : &Row<T, 1, 1>;  // a = 1, b = 2;\n}\nusing A = B<C, D>;\n")
        self.assertEqual(self.problems(commas), [])

    def test_lists_are_sealed(self):
        registry = 'cc_library(\n    name = "ops",\n    textual_hdrs = ["all_ops.inc"],\n)\n'
        self.write("graph/ops/BUILD", registry)
        self.write("graph/BUILD", 'cc_library(\n    name = "builder",\n    deps = ["//graph/ops"],\n)\n')
        self.assertEqual([p.split(" sees")[0] for p in self.problems(sealed)], ["graph/ops/BUILD: //graph:builder"])
        self.write("graph/ops/BUILD", registry.replace("cc_library", "sealed_library"))
        self.assertEqual(self.problems(sealed), [])
        self.write("graph/ops/BUILD", registry.replace('"ops"', '"registry"') + 'link_only(\n    name = "ops",\n    dep = ":registry",\n)\n')
        self.assertEqual(self.problems(sealed), [])

    def test_tables_of_ops(self):
        self.write("graph/ops/all_ops.inc", "AMPC_OP(Abs)\nAMPC_OP(Conv2DTranspose)\nAMPC_OP(CAllreduceSum)\nAMPC_OP(TopKV2)\nAMPC_OP(Log1p)\n")
        ops = '{"abs", "conv2d_transpose", "c_allreduce_sum", "top_k_v2", "log1p"}'
        self.assertEqual(op_tables.op_names(self._folder.name) & {"conv2d_transpose", "c_allreduce_sum", "top_k_v2", "log1p_grad"},
                         {"conv2d_transpose", "c_allreduce_sum", "top_k_v2", "log1p_grad"})
        self.write("kernels/spec/a.cc", "constexpr Row kA[] = %s;\n" % ops)
        self.write("kernels/cuda/b.cc", "constexpr Row kB[] = %s;\n" % ops)
        self.write("passes/few.cc", 'constexpr Row kFew[] = {"abs", "log1p", "top_k_v2"};\n')
        self.write("graph/formats/names.cc", "constexpr Row kNames[] = %s;\n" % ops)
        self.assertEqual(self.problems(op_tables), [])
        self.write("kernels/cpu/c.cc", 'constexpr Row kC[] = {"abs abs_grad log1p_grad top_k_v2_grad"};\n')
        self.assertEqual(self.problems(op_tables), ["kernels/spec/a.cc: kA has op abs, which stands in kC of kernels/cpu/c.cc"])
        self.write("kernels/cpu/c.cc", "")
        self.write("passes/kinds.cc", "constexpr Row kKinds[] = %s;\n" % ops)
        self.assertIn("passes/kinds.cc: kKinds is a table of ops (abs, c_allreduce_sum, conv2d_transpose)", self.problems(op_tables)[0])
        for text, name in (
            ('static const auto* const kKeep = new absl::flat_hash_set<absl::string_view>(\n    %s);\n' % ops, "kKeep"),
            ("for (const char* op : %s) Add(op);\n" % ops, "op"),
            ("return Any(%s);\n" % ops, "Any"),
            ('return t == "abs" || t == "log1p" || t == "top_k_v2" ||\n       t == "log1p_grad";\n', "=="),
        ):
            self.write("passes/kinds.cc", text)
            self.assertIn("passes/kinds.cc: %s is a table of ops" % name, self.problems(op_tables)[0])
        self.write("passes/kinds.cc", "constexpr Row kKinds[] = %s;\n" % ops)
        self.write("tools/lint/op_tables_allow.txt", "passes/kinds.cc kKinds  # reason\npasses/gone.cc kGone\n")
        self.assertEqual(self.problems(op_tables), ["tools/lint/op_tables_allow.txt: passes/gone.cc kGone is no table of ops"])

    def test_page_of_an_op_names_all_files(self):
        self.write("graph/ops/all_ops.inc", "AMPC_OP(Abs)\n")
        self.write("graph/ops/abs.cc", 'Unary("abs");\n')
        self.write("tools/docs/how_to_add_an_op.md", "```cpp file=graph/ops/abs.cc\n```\n```cpp file=graph/ops/all_ops.inc\n```\n")
        self.write("passes/other.cc", "// abs\nint absent;\n")
        self.assertEqual(self.problems(op_tables), [])
        self.write("passes/kinds.cc", 'Add("abs");\n')
        self.assertEqual(self.problems(op_tables), ["tools/docs/how_to_add_an_op.md: passes/kinds.cc knows abs, too"])
        self.write("passes/kinds.cc", "")
        for i in range(5):
            self.write("tests/%d.case" % i, "abs\n")
        page = "".join("```cpp file=%s\n```\n" % path for path in ["graph/ops/abs.cc", "graph/ops/all_ops.inc"] + ["tests/%d.case" % i for i in range(5)])
        self.write("tools/docs/how_to_add_an_op.md", page)
        self.assertEqual(self.problems(op_tables), ["tools/docs/how_to_add_an_op.md: abs stands in 7 files, needs at most 6"])

    def test_header_without_guard(self):
        self.write("graph/op.h", "int x;\n")
        self.assertEqual(self.problems(layering), ["graph/op.h: a header needs #pragma once"])

    def test_long_file_header_and_function(self):
        self.write("graph/a.cc", "\n" * 401)
        self.write("graph/b.h", "\n" * 151)
        self.write("graph/c.cc", "namespace ampc {\n" + _LONG_FUNCTION + "}  // namespace ampc\n")
        found = self.problems(size)
        self.assertEqual(len(found), 3)
        self.assertIn("graph/c.cc: function Add has 63 lines", found[2])

    def test_long_member_function(self):
        body = "class A {\n public:\n  int Get() const {\n" + "    ++x;\n" * 60 + "  }\n};\n"
        self.write("graph/a.cc", body)
        self.assertIn("function Get has 62 lines", self.problems(size)[0])

    def test_allowed_size_is_exact(self):
        self.write("graph/c.cc", _LONG_FUNCTION)
        self.write("tools/lint/size_allow.txt", "graph/c.cc Add 63  # reason\n")
        self.assertEqual(self.problems(size), [])
        self.write("tools/lint/size_allow.txt", "graph/c.cc Add 64\n")
        self.assertEqual(len(self.problems(size)), 1)
        self.write("tools/lint/size_allow.txt", "graph/c.cc Add 63\ngraph/d.cc 500\n")
        self.assertIn("within its budget", self.problems(size)[0])

    def test_commands_without_a_reason(self):
        self.write("README.md", "```\nampc run m.onnx   # is run\nbazel build //tools:ampc   # is not\n```\n")
        self.write("tools/BUILD", 'cc_binary(\n    name = "ampc",\n)\n')
        self.assertIn("'bazel build //tools:ampc' is not run", self.problems(commands)[0])
        self.write("tools/lint/commands_not_run.txt", "bazel build //tools:ampc  # Bazel\n")
        self.assertEqual(self.problems(commands), [])
        self.write("tools/lint/commands_not_run.txt", "bazel build //tools:ampc\nbazel test //...  # Bazel\n")
        found = self.problems(commands)
        self.assertEqual(len(found), 2)
        self.assertIn("a reason is needed", found[0])
        self.assertIn("no document has 'bazel test //...'", found[1])

    def test_commands_that_name_what_is_not_there(self):
        self.write("tools/make.sh", "echo '--fast'\n")
        os.chmod(os.path.join(self._folder.name, "tools/make.sh"), 0o755)
        self.write("tools/BUILD", "")
        self.write(".bazelrc", "build:asan --copt=-g\n")
        wrong = {
            "tools/make.sh --slow": "says nothing of --slow",
            "tools/take.sh": "no program tools/take.sh",
            "bazel test --config=tsan //tools/...": "no --config=tsan",
            "bazel build //tools:ampc": "no target //tools:ampc",
            "bazel-bin/tools/ampc run": "no target //tools:ampc",
        }
        right = ("tools/make.sh --fast", "bazel test --config=asan //tools/...")
        self.write("tools/lint/commands_not_run.txt", "".join(c + "  # reason\n" for c in (*wrong, *right)))
        self.write("README.md", "```\n" + "\n".join((*wrong, *right)) + "\n```\n")
        found = self.problems(commands)
        self.assertEqual(len(found), len(wrong), found)
        for problem, why in zip(found, wrong.values()):
            self.assertIn(why, problem)

    def test_paths_in_documents(self):
        self.write("tests/README.md", "`passes/*.case`, `graph/op_test`, `graph/op.h`, [a page](no.md)\n")
        self.write("tests/passes/dedup.case", "")
        self.write("tests/graph/op_test.cc", "")
        found = self.problems(commands)
        self.assertEqual(len(found), 2)
        self.assertIn("there is no graph/op.h", found[0])
        self.assertIn("no.md", found[1])

    def test_status_taken_apart_unseen(self):
        self.write("graph/a.h", "#pragma once\nabsl::StatusOr<int> Read(int n);\n")
        self.write("graph/b.cc", "absl::StatusOr<Tensor> Tensor::Create(int n) {\n  return n;\n}\n")
        wrong = ("int x = *Read(1);", "F(*Tensor::Create(2));", "return Read(1).value();", "return Read(F(1))->size;",
                 "absl::StatusOr<int> x = Read(1);\n  return *x;", "const auto x = Tensor::Create(1);\n  return x->size();")
        right = ("absl::StatusOr<int> x = Read(1);\n  if (!x.ok()) return 0;\n  return *x;", "return 2 * Read(1).ok();", "auto x = Read(1);\n  return x;",
                 "AMPC_ASSIGN_OR_RETURN(int x, Read(1));\n  return 2 * x;", "// *Read(1)", "absl::StatusOr<int> x = Read(1);\n  return Use(x) ? *x : 0;")
        for text in (*wrong, *right):
            self.write("graph/c.cc", "int F() {\n  %s\n}\n" % text)
            self.assertEqual(len(self.problems(status)), 1 if text in wrong else 0, (text, self.problems(status)))

    def test_flow_that_is_not_the_code(self):
        page = "| s | `Load` | `runtime/convert/convert.cc` | x |\n| s | `Report` | `runtime/convert/convert.cc` | x |\n| s | `Verify` | `graph/verify.cc` | x |\n"
        self.write("tools/docs/flow.md", page)
        self.write("graph/verify.cc", "absl::Status Verify(const Program& p) {}\n")
        code = "Load() {}\nReport() {}\nconversion.Load();\nconversion.Report();\n"
        self.write("runtime/convert/convert.cc", code)
        self.assertEqual(self.problems(flow), [])
        self.write("runtime/convert/convert.cc", code + "conversion.Commit();\n")
        self.assertIn("the steps of a conversion are Load, Report", self.problems(flow)[0])
        self.write("runtime/convert/convert.cc", code)
        self.write("graph/verify.cc", "absl::Status Check(const Program& p) {}\n")
        self.assertIn("graph/verify.cc has no function Verify", self.problems(flow)[0])
        self.write("tools/docs/flow.md", page + "`passes/absent.cc`\n")
        self.assertIn("there is no passes/absent.cc", self.problems(flow)[-1])

    def test_words(self):
        for text in ("// TO" "DO: more", "// a st" "ub", "// /wo" "rk/data", "TEST(A, DISABL" "ED_B)", "  std::cerr << 1;", "  exit(1);", "  std::abort();",
                     "  // Wh" "at a value becomes.", "  int a;  // A number. Wh" "ere it is 0, nothing."):
            self.write("graph/a.cc", text + "\n")
            self.assertEqual(len(self.problems(words)), 1, text)
        self.write("graph/a.cc", "")
        self.write("graph/a.h", "#pragma once\n  // Wh" "ere a value lies.\n")
        self.assertIn("graph/a.h:2: '// Wh" "ere a': subject, verb, object", self.problems(words)[0])


if __name__ == "__main__":
    unittest.main()
