// Defaults of attributes: what a record leaves out means what Paddle 3's own table says, where it has the op and the attribute by the same
// name.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/formats/pir/op_table.h"
#include "graph/op_registry.h"

namespace ampc::pir {
namespace {

// A number of C++, 1.f and 0L too, as it is written shortest; other text as it is.
std::string Plain(absl::string_view text) {
  text = absl::StripSuffix(absl::StripSuffix(text, "f"), "L");
  float number = 0;
  return absl::SimpleAtof(text, &number) ? absl::StrCat(number) : std::string(absl::StripPrefix(absl::StripSuffix(text, "\""), "\""));
}

std::string PlainList(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, "{") || !absl::ConsumeSuffix(&text, "}")) return Plain(text);
  std::vector<std::string> parts;
  for (const absl::string_view part : absl::StrSplit(text, ',', absl::SkipEmpty()))
    parts.push_back(Plain(absl::StripAsciiWhitespace(part)));
  return absl::StrCat("{", absl::StrJoin(parts, ","), "}");
}

// The same of a record's value; "?" for what the table writes in words of its own.
std::string TextOf(const AttrValue& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, bool>) return v ? "true" : "false";
        if constexpr (std::is_same_v<T, std::string>) return v;
        if constexpr (std::is_arithmetic_v<T>) return absl::StrCat(static_cast<float>(v));
        if constexpr (std::is_same_v<T, std::vector<int32_t>> || std::is_same_v<T, std::vector<int64_t>> ||
                      std::is_same_v<T, std::vector<float>>) {
          return absl::StrCat("{", absl::StrJoin(v, ","), "}");
        }
        return "?";
      },
      value);
}

// Records that say something else: Paddle 2 reduces along dim 0, each interpolation has a method of its own, and programs always give
// the rest.
const std::set<std::string>& Others() {
  static const auto* const kOthers = new std::set<std::string>{
      "reduce_all.dim",
      "reduce_any.dim",
      "logsumexp.axis",
      "bicubic_interp_v2.interp_method",
      "linear_interp_v2.interp_method",
      "nearest_interp_v2.interp_method",
      "trilinear_interp_v2.interp_method",
      "put_along_axis.Reduce",
      "unique.axis",
      "unique.is_sorted",
  };
  return *kOthers;
}

TEST(Defaults, AreThoseOfPaddlesTable) {
  int compared = 0;
  std::set<std::string> others;
  for (const OpRow& row : AllRows()) {
    const OpDef* def = row.named ? Ops().Find(row.native) : nullptr;
    if (def == nullptr) continue;
    for (const AttrRow& attr : row.attrs) {
      const AttrDef* has = def->FindAttr(attr.attr);
      if (has == nullptr || has->required || attr.required || TextOf(has->value) == "?") continue;
      ++compared;
      const std::string name = absl::StrCat(row.native, ".", attr.attr);
      if (TextOf(has->value) == PlainList(attr.value)) continue;
      others.insert(name);
      EXPECT_TRUE(Others().contains(name)) << name << " is " << TextOf(has->value) << ", the table has " << attr.value;
    }
  }
  EXPECT_EQ(others, Others());
  EXPECT_GT(compared, 100);
}

// Of ops and attributes that the table lacks: Paddle 2's own.
TEST(Defaults, OfOptimizersAndOldAttributes) {
  const struct {
    const char *op, *attr, *value;
  } kRows[] = {
      {"adam", "beta1", "0.9"},
      {"adam", "beta2", "0.999"},
      {"adam", "epsilon", "1e-08"},
      {"adamw", "beta1", "0.9"},
      {"adamw", "beta2", "0.999"},
      {"adamw", "epsilon", "1e-08"},
      {"adamw", "coeff", "0.01"},
      {"adamw", "with_decay", "false"},
      {"lamb", "beta1", "0.9"},
      {"lamb", "beta2", "0.999"},
      {"lamb", "epsilon", "1e-06"},
      {"grouped_update", "beta1", "0.9"},
      {"grouped_update", "beta2", "0.999"},
      {"batch_norm", "momentum", "0.9"},
      {"batch_norm", "epsilon", "1e-05"},
      {"conv2d", "Scale_in", "1"},
      {"conv2d", "Scale_out", "1"},
      {"mul", "x_num_col_dims", "1"},
      {"mul", "y_num_col_dims", "1"},
      {"mul", "force_fp32_output", "false"},
  };
  for (const auto& row : kRows) {
    const OpDef* def = Ops().Find(row.op);
    ASSERT_NE(def, nullptr) << row.op;
    const AttrDef* attr = def->FindAttr(row.attr);
    ASSERT_NE(attr, nullptr) << row.op << "." << row.attr;
    EXPECT_EQ(TextOf(attr->value), row.value) << row.op << "." << row.attr;
  }
}

}  // namespace
}  // namespace ampc::pir
