// Constants of several elements: an op that loses with any of them as a number loses with all of them.
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "passes/analysis/target_support.h"
#include "passes/pipeline.h"
#include "tests/testlib/bare_program.h"

namespace ampc {
namespace {

// Values that eps keeps from zero, and what scales them by channel.
constexpr const char* kPrograms[] = {
    "a = abs(x) : T\ne = elementwise_add(a, eps) : T\np = elementwise_mul(e, c) : T\ny = elementwise_div(z, p) : T\n",
    "a = square(x) : T\ne = elementwise_add(a, eps) : T\np = elementwise_mul(e, c) : T\nr = sqrt(p) : T\ny = elementwise_div(z, r) : T\n",
    "a = square(x) : T\ne = elementwise_add(a, eps) : T\np = elementwise_mul(c, e) : T\ny = log(p) : T\n",
    "a = abs(x) : T\ne = elementwise_max(a, eps) : T\nr = sqrt(e) : T\np = elementwise_mul(r, c) : T\ny = elementwise_div(z, p) : T\n",
    "a = square(x) : T\ne = elementwise_add(a, eps) : T\nd = elementwise_div(c, e) : T\ny = elementwise_mul(d, z) : T\n",
};
// Few elements that the low type loses beside others are no reason (LossOf): it has all of these.
constexpr const char* kNumbers[] = {"6.103515625e-5", "1e-3", "0.25", "1", "300", "60000", "-2", "-1e-3"};
constexpr const char* kEps[] = {"1e-12", "1e-6", "5e-5", "2e-4", "1e-3"};

// Results of the ops that stay fp32.
std::set<std::string> Protected(const std::string& body, const std::string& eps, const std::string& values) {
  const std::string text =
      absl::StrCat("feed x : T\nfeed z : T\nconst eps : f32 [] = ", eps, "\nconst c : f32 [2] = ", values, "\n", body, "fetch y\n");
  Program program = testing::BareProgram(absl::StrReplaceAll(text, {{" : T", " : f32 [4, 2]"}}));
  PassContext ctx;
  ctx.support = *TargetSupport("cuda");
  EXPECT_TRUE(RunPipeline(Pipeline().Add("protect"), {}, ctx, program).ok());
  std::set<std::string> marked;
  ForEachOp(program, [&](const Op& op) {
    if (op.marks.amp == AmpMark::kFp32) marked.insert(op.outputs()[0]->name());
  });
  return marked;
}

TEST(ProtectElements, AreProtectedAsEachOfThem) {
  int cases = 0, marks = 0;
  for (const char* body : kPrograms) {
    for (const char* eps : kEps) {
      for (const char* a : kNumbers) {
        for (const char* b : kNumbers) {
          const std::set<std::string> both = Protected(body, eps, absl::StrCat("[", a, ", ", b, "]"));
          for (const char* one : {a, b}) {
            for (const std::string& op : Protected(body, eps, absl::StrCat("[", one, ", ", one, "]"))) {
              EXPECT_TRUE(both.contains(op)) << op << " of\n"
                                             << body << "eps = " << eps << ", c = [" << a << ", " << b << "], protected for " << one;
              ++marks;
            }
          }
          ++cases;
        }
      }
    }
  }
  EXPECT_EQ(cases, 5 * 5 * 64);
  EXPECT_GT(marks, 300);
}

}  // namespace
}  // namespace ampc
