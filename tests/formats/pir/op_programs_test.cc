// Every op that calls of Paddle 3 become, in the versions 1 to 4 of a program: it is read, well-formed, and written as it was.
#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graph/formats/format.h"
#include "graph/text/printer.h"
#include "graph/verify.h"
#include "tests/formats/test_files.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::ampc::testing::ReadFile;
using ::ampc::testing::TempFolder;
using ::ampc::testing::WriteFile;

// Calls and their programs.
const std::vector<std::pair<std::string, std::string>>& Programs() {
  static const auto* const programs = [] {
    auto* all = new std::vector<std::pair<std::string, std::string>>;
    std::istringstream in(ReadFile("tests/golden/paddle3/op_programs.txt"));
    for (std::string line; std::getline(in, line);) {
      const size_t tab = line.find('\t');
      all->emplace_back(line.substr(0, tab), line.substr(tab + 1));
    }
    return all;
  }();
  return *programs;
}

// Ops without a record: carried, in fp32, and not executed. A new record takes its name out of here.
const std::set<std::string>& WithoutRecord() {
  static const auto* const names = new std::set<std::string>{"allclose",
                                                             "amax",
                                                             "amin",
                                                             "as_complex",
                                                             "bincount",
                                                             "channel_shuffle",
                                                             "cross",
                                                             "deformable_conv",
                                                             "diag",
                                                             "digamma",
                                                             "erfinv",
                                                             "fft_r2c",
                                                             "fold",
                                                             "frame",
                                                             "heaviside",
                                                             "histogram",
                                                             "kron",
                                                             "kthvalue",
                                                             "label_smooth",
                                                             "lerp",
                                                             "lgamma",
                                                             "max_pool2d_with_index",
                                                             "maxout",
                                                             "mode",
                                                             "multinomial",
                                                             "nms",
                                                             "pixel_unshuffle",
                                                             "repeat_interleave",
                                                             "searchsorted",
                                                             "sequence_mask",
                                                             "temporal_shift",
                                                             "trace",
                                                             "unique"};
  return *names;
}

// Kinds of attributes that later versions widened: attributes of an op were of the first kind before version `since`.
struct Widened {
  int since;
  const char *op, *attr, *before, *now;
};
constexpr Widened kWidened[] = {
    {2, "pool2d", "strides", "0.a_i32", "0.a_i64"},
    {2, "pool2d", "paddings", "0.a_i32", "0.a_i64"},
    {2, "lp_pool2d", "strides", "0.a_i32", "0.a_i64"},
    {2, "lp_pool2d", "paddings", "0.a_i32", "0.a_i64"},
    {2, "pool3d", "kernel_size", "0.a_i32", "0.a_i64"},
    {2, "pool3d", "strides", "0.a_i32", "0.a_i64"},
    {2, "pool3d", "paddings", "0.a_i32", "0.a_i64"},
    {2, "expand_as", "target_shape", "0.a_i32", "0.a_i64"},
    {2, "kthvalue", "k", "0.a_i32", "0.a_i64"},
    {4, "leaky_relu", "negative_slope", "0.a_f32", "0.a_f64"},
    {4, "softplus", "beta", "0.a_f32", "0.a_f64"},
    {4, "softplus", "threshold", "0.a_f32", "0.a_f64"},
    {4, "group_norm", "epsilon", "0.a_f32", "0.a_f64"},
    {4, "pad3d", "pad_value", "0.a_f32", "0.a_f64"},
    {4, "logit", "eps", "0.a_f32", "0.a_f64"},
    {4, "linear_interp", "scale", "0.a_f32", "0.a_f64"},
    {4, "bilinear_interp", "scale", "0.a_f32", "0.a_f64"},
    {4, "trilinear_interp", "scale", "0.a_f32", "0.a_f64"},
    {4, "bicubic_interp", "scale", "0.a_f32", "0.a_f64"},
    {4, "nearest_interp", "scale", "0.a_f32", "0.a_f64"},
};

// The program as the Paddle that writes `version` writes it; counts what differs.
std::string InVersion(std::string text, int version, int* changed) {
  text = absl::StrReplaceAll(text, {{"\"version\":4", absl::StrCat("\"version\":", version)}});
  for (const Widened& w : kWidened) {
    if (version >= w.since) continue;
    const std::string op = absl::StrCat("{\"#\":\"1.", w.op, "\",\"A\":["), attr = absl::StrCat(",\"N\":\"", w.attr, "\"}");
    for (size_t at = text.find(op); at != std::string::npos; at = text.find(op, at + 1)) {
      const size_t end = text.find(attr, at), begin = end == std::string::npos ? end : text.rfind("{\"AT\":", end);
      if (begin == std::string::npos || begin < at || end > text.find("\"I\":[", at)) continue;
      const std::string was = text.substr(begin, end - begin), kind = absl::StrReplaceAll(was, {{w.now, w.before}});
      *changed += kind != was;
      text.replace(begin, was.size(), kind);
    }
  }
  return text;
}

TEST(OpPrograms, AreReadAndWrittenAsTheyWere) {
  ASSERT_EQ(Programs().size(), 253u);
  const TempFolder folder;
  std::set<std::string> opaque;
  for (const auto& [call, text] : Programs()) {
    SCOPED_TRACE(call);
    WriteFile(folder / "m.json", text);
    absl::StatusOr<Program> program = LoadModel(folder / "m.json");
    EXPECT_OK(program.status());
    if (!program.ok()) continue;
    EXPECT_OK(Verify(*program));
    ForEachOp(*program, [&](const Op& op) {
      if (op.def().opaque) opaque.insert(op.type().substr(op.type().find('.') + 1));
    });
    EXPECT_OK(SaveModel(*program, folder / "again.json", {.no_sync = true}));
    EXPECT_EQ(ReadFile(folder / "again.json"), text);
  }
  EXPECT_EQ(opaque, WithoutRecord());
}

// By their columns, whichever of the ops comes first.
TEST(OpPrograms, FetchesHaveTheOrderOfTheirColumns) {
  const TempFolder folder;
  const std::string first = R"("D":0},"N":"col")", second = R"("D":1},"N":"col")";
  int tried = 0;
  for (const auto& [call, text] : Programs()) {
    const size_t a = text.find(first), b = text.find(second);
    if (a == std::string::npos || b == std::string::npos) continue;
    SCOPED_TRACE(call);
    std::string swapped = text;
    swapped.replace(a, first.size(), second).replace(b, second.size(), first);
    WriteFile(folder / "m.json", text);
    ASSERT_OK_AND_ASSIGN(const Program program, LoadModel(folder / "m.json"));
    WriteFile(folder / "m.json", swapped);
    ASSERT_OK_AND_ASSIGN(const Program other, LoadModel(folder / "m.json"));
    ASSERT_EQ(other.fetches.size(), program.fetches.size());
    EXPECT_EQ(other.fetches[0]->type, program.fetches[1]->type);
    EXPECT_EQ(other.fetches[1]->type, program.fetches[0]->type);
    ASSERT_OK(SaveModel(other, folder / "again.json", {.no_sync = true}));
    EXPECT_EQ(ReadFile(folder / "again.json"), swapped);
    ++tried;
  }
  EXPECT_GE(tried, 5);
}

TEST(OpPrograms, OlderVersionsMeanTheSame) {
  const TempFolder folder;
  int changed = 0;
  for (const auto& [call, text] : Programs()) {
    WriteFile(folder / "m.json", text);
    absl::StatusOr<Program> newest = LoadModel(folder / "m.json");
    if (!newest.ok()) continue;  // of the test above
    const bool opaque = absl::StrContains(PrintProgram(*newest), "pd_op.");
    for (int version = 1; version < 4; ++version) {
      SCOPED_TRACE(absl::StrCat(call, ", version ", version));
      const std::string older = InVersion(text, version, &changed);
      WriteFile(folder / "m.json", older);
      absl::StatusOr<Program> program = LoadModel(folder / "m.json");
      EXPECT_OK(program.status());
      if (!program.ok()) continue;
      if (!opaque) {
        EXPECT_EQ(PrintProgram(*program), PrintProgram(*newest));  // what has no record keeps the file's attributes
      }
      EXPECT_OK(SaveModel(*program, folder / "again.json", {.no_sync = true}));
      EXPECT_EQ(ReadFile(folder / "again.json"), older);
    }
  }
  EXPECT_GT(changed, 20);  // kinds that were rewritten
}

}  // namespace
}  // namespace ampc
