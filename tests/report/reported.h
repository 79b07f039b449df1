// A conversion to report on: names that are markup, ops of every precision, weights that lose, repeated blocks, control flow.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "runtime/convert/convert.h"
#include "tests/formats/test_files.h"

namespace ampc::testing {

inline constexpr char kEvilName[] = "</script><script>alert(1)</script>&amp;'<!--";

inline std::string ReportedProgram() {
  std::string text = R"(program "<b>&\"report\"</b>" version=1

block main {
  feed  x : f32 [?, 4]
  feed  flag : bool [1]
  param w : f32 [4, 4] = [1e6, 1e-9, 1e-7, 3.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]
  param "<w>&" : f32 [4, 4] = 0.1
  carry y : f32 [?, 4]
  v0 = matmul_v2(x, w) : f32 [?, 4]
)";
  for (int k = 0; k < 6; ++k) {
    absl::StrAppend(&text, "  a", k, " = matmul_v2(v", k, ", \"<w>&\") : f32 [?, 4]\n  b", k, " = relu(a", k, ") : f32 [?, 4]\n  c", k,
                    " = exp(b", k, ") : f32 [?, 4]\n");
    absl::StrAppend(&text, "  d", k, " = tanh(c", k, ") : f32 [?, 4]\n  v", k + 1, " = elementwise_add(v", k, ", d", k, ") : f32 [?, 4]\n");
  }
  return absl::StrCat(text, "  \"", kEvilName, "\" = sigmoid(v6) : f32 [?, 4]\n  s = shape(\"", kEvilName, R"(") : i32 [2]
  y <- conditional_block(Cond=[flag], Input=[v6]) is_scalar_condition=true sub_block=&then
  out = softmax(y) : f32 [?, 4]
  fetch out, s
}

block then parent=main {
  y <- matmul_v2(v6, "<w>&")
}
)");
}

// Converts `text` in `folder`.
inline ConvertResult Convert(const TempFolder& folder, const std::string& text, const std::vector<std::string>& exclude = {}) {
  ConvertOptions options;
  WriteFile(folder / "model.prog", text);
  options.model = folder / "model.prog";
  options.output = folder / "low.ampc";
  options.command = "ampc convert 'a <b>.prog' --output low.ampc";
  options.no_sync = true;
  options.exclude = exclude;
  absl::StatusOr<ConvertResult> result = ampc::Convert(options);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? *std::move(result) : ConvertResult();
}

}  // namespace ampc::testing
