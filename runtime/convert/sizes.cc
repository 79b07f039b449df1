#include "runtime/convert/sizes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/status_macros.h"
#include "passes/pipeline.h"
#include "runtime/made_feeds.h"

namespace ampc {
namespace {

bool IsOpen(const TensorType& type) {
  return !type.has_rank ||
         std::any_of(type.dims.begin() + (type.rank() > 1 ? 1 : 0), type.dims.end(), [](int64_t d) { return !IsKnown(d); });
}

}  // namespace

absl::StatusOr<Program> WithDims(const Program& program, const std::map<std::string, std::vector<int64_t>>& dims) {
  Program sized = program.Clone();
  for (Var* feed : sized.feeds) {
    const auto given = dims.find(feed->exported());
    if (given != dims.end()) feed->type = TensorType(feed->type.dtype, Dims(given->second.begin(), given->second.end()));
  }
  PassContext ctx;
  AMPC_RETURN_IF_ERROR(RunPipeline(Pipeline().Add("infer-types"), {}, ctx, sized));
  return sized;
}

absl::StatusOr<Program> WithMadeDims(const Program& program, int choice) {
  AMPC_ASSIGN_OR_RETURN(const auto dims, MadeDims(program, {.size = choice}));
  return WithDims(program, dims);
}

ProgramSizes MadeSizes(const Program& program) {
  const bool open = std::any_of(program.feeds.begin(), program.feeds.end(), [](const Var* feed) { return IsOpen(feed->type); });
  for (int choice = 0; open && choice < kMadeSizes; ++choice) {
    const absl::StatusOr<Program> sized = WithMadeDims(program, choice);
    if (!sized.ok()) continue;
    ProgramSizes sizes = SizesOf(program, *sized);
    std::vector<std::string> feeds;
    for (size_t i = 0; i < program.feeds.size(); ++i) {
      if (!IsOpen(program.feeds[i]->type)) continue;
      feeds.push_back(absl::StrCat(program.feeds[i]->exported(), " [", absl::StrJoin(sized->feeds[i]->type.dims, ", "), "]"));
    }
    sizes.feeds = absl::StrJoin(feeds, ", ");
    return sizes;
  }
  return SizesOf(program, program);
}

}  // namespace ampc
