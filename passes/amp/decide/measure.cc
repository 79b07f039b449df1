#include "passes/amp/decide/measure.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/mapped_file.h"
#include "graph/base/status_macros.h"
#include "passes/amp/decide/ranges.h"
#include "passes/make_pass.h"
#include "passes/option_text.h"

namespace ampc {
namespace {

struct MeasureOptions {
  std::vector<std::string> inputs;
  std::string ranges;
  DType low = DType::kF16;
  bool mark = true;
};

absl::StatusOr<Ranges> ReadRanges(const std::string& path) {
  AMPC_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  absl::StatusOr<Ranges> ranges = ParseRanges(file.text());
  return ranges.ok() ? std::move(ranges) : Annotate(ranges.status(), path);
}

absl::StatusOr<bool> Measure(const MeasureOptions& options, PassContext& ctx, Program& program) {
  auto ranges = std::make_unique<Ranges>();
  if (!options.ranges.empty()) {
    AMPC_ASSIGN_OR_RETURN(*ranges, ReadRanges(options.ranges));
  }
  if (!options.inputs.empty()) {
    if (ctx.executor == nullptr) return UnsupportedError("inputs need an executor, and there is none here");
    Ranges measured;
    AMPC_RETURN_IF_ERROR(ctx.executor->Run(program, options.inputs, [&measured](absl::string_view name, absl::Span<const float> values) {
      measured[std::string(name)].Add(values);
    }));
    for (const auto& [name, range] : measured) (*ranges)[name].Add(range);
  }
  const int marks = options.mark ? MarkByRanges(*ranges, options.low, program) : 0;
  if (marks > 0) ctx.notes.push_back(absl::StrCat("the ranges of values keep ", marks, marks == 1 ? " op" : " ops", " in fp32"));
  ctx.Put(std::move(ranges));
  return marks > 0;
}

}  // namespace

PassInfo MeasurePass() {
  PassInfo info;
  info.name = "measure";
  info.summary = "keeps in fp32 what measured values say would leave the low type's range or vanish";
  info.options = {{"inputs", "files with the feeds of one run each, on which the program is run"},
                  {"ranges", "a file with ranges that an earlier run measured"},
                  {"dtype", "f16 (default) or bf16"},
                  {"mark", "true (default), or false: only measure"}};
  info.make = [](const PassOptions& text) -> absl::StatusOr<std::unique_ptr<Pass>> {
    MeasureOptions options;
    if (const auto it = text.find("inputs"); it != text.end()) options.inputs = SplitItems(it->second);
    if (const auto it = text.find("ranges"); it != text.end()) options.ranges = UnescapeItem(it->second);
    AMPC_ASSIGN_OR_RETURN(options.low, LowDTypeOption(text, "dtype", DType::kF16));
    AMPC_ASSIGN_OR_RETURN(options.mark, BoolOption(text, "mark", true));
    return MakePass([options](PassContext& ctx, Program& program) { return Measure(options, ctx, program); });
  };
  return info;
}

}  // namespace ampc
