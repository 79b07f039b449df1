#include "runtime/convert/sizes.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/evaluator.h"
#include "passes/amp/decide/op_times.h"
#include "passes/pipeline.h"
#include "runtime/feed_words.h"
#include "runtime/made_feeds.h"

namespace ampc {
namespace {

constexpr int kMostRounds = 6;
constexpr int64_t kMostShapeBytes = 4096;  // of a value that is no weight

bool IsOpen(const TensorType& type) {
  return !type.has_rank ||
         std::any_of(type.dims.begin() + (type.rank() > 1 ? 1 : 0), type.dims.end(), [](int64_t d) { return !IsKnown(d); });
}

bool IsOpenTemp(const Var& var) {
  return var.kind == VarKind::kTemp && var.type.kind == TypeKind::kTensor && var.type.IsFloat() && !var.type.IsStatic();
}

bool HasOpenTemps(const Program& program) {
  bool open = false;
  ForEachVar(program, [&open](const Var& var) { open = open || IsOpenTemp(var); });
  return open;
}

// Symbols that inference found for the program as it is, of dims that are about to be chosen.
void ForgetSymbols(Program& program) {
  for (int b = 0; b < program.num_blocks(); ++b) {
    for (const std::unique_ptr<Var>& var : program.block(b).vars()) {
      if (var->kind != VarKind::kTemp) continue;
      for (int64_t& dim : var->type.dims) dim = IsKnown(dim) ? dim : kUnknownDim;
    }
  }
}

// Dims that go through shape arithmetic that types alone do not follow: a copy is computed as far as it is known, round by round.
absl::Status FillByFolding(Program& sized) {
  if (!HasOpenTemps(sized)) return absl::OkStatus();
  const std::unique_ptr<Evaluator> evaluator = MakeCpuEvaluator();
  PassContext ctx;
  ctx.evaluator = evaluator.get();
  Program folded = sized.Clone();
  const Pipeline round = Pipeline().Add("fold-constants", {{"max_bytes", absl::StrCat(kMostShapeBytes)}}).Add("infer-types");
  for (int i = 0; i < kMostRounds && HasOpenTemps(folded); ++i) AMPC_RETURN_IF_ERROR(RunPipeline(round, {}, ctx, folded));
  absl::flat_hash_map<absl::string_view, const Var*> known;
  ForEachVar(folded, [&](const Var& var) { known.emplace(var.name(), &var); });
  for (int b = 0; b < sized.num_blocks(); ++b) {
    for (const std::unique_ptr<Var>& var : sized.block(b).vars()) {
      const auto found = known.find(var->name());
      if (IsOpenTemp(*var) && found != known.end() && Compatible(found->second->type, var->type)) var->type = found->second->type;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Program> WithDims(const Program& program, const FeedDims& dims) {
  Program sized = program.Clone();
  for (Var* feed : sized.feeds) {
    const auto given = dims.find(feed->exported());
    if (given != dims.end()) feed->type = TensorType(feed->type.dtype, Dims(given->second.begin(), given->second.end()));
  }
  ForgetSymbols(sized);
  PassContext ctx;
  AMPC_RETURN_IF_ERROR(RunPipeline(Pipeline().Add("infer-types"), {}, ctx, sized));
  AMPC_RETURN_IF_ERROR(FillByFolding(sized));
  return sized;
}

absl::StatusOr<Program> WithMadeDims(const Program& program, int choice, const FeedDims& given) {
  AMPC_ASSIGN_OR_RETURN(const auto dims, MadeDims(program, {.size = choice, .dims = given}));
  return WithDims(program, dims);
}

ProgramSizes MadeSizes(const Program& program, const FeedDims& given) {
  const auto is_chosen = [&](const Var* feed) { return IsOpen(feed->type) || given.contains(feed->exported()); };
  const bool open = std::any_of(program.feeds.begin(), program.feeds.end(), is_chosen);
  for (int choice = 0; open && choice < kMadeSizes; ++choice) {
    const absl::StatusOr<Program> sized = WithMadeDims(program, choice, given);
    if (!sized.ok()) continue;
    ProgramSizes sizes = SizesOf(program, *sized);
    std::vector<std::string> feeds;
    for (size_t i = 0; i < program.feeds.size(); ++i) {
      if (!is_chosen(program.feeds[i])) continue;
      feeds.push_back(absl::StrCat(program.feeds[i]->exported(), " [", absl::StrJoin(sized->feeds[i]->type.dims, ", "), "]"));
    }
    sizes.feeds = absl::StrJoin(feeds, ", ");
    return sizes;
  }
  return SizesOf(program, program);
}

ProgramSizes SizesFor(const ConvertOptions& options, const Program& program) {
  ProgramSizes sizes = MadeSizes(program, ParseDimsOptions(options.feed_dims).value_or(FeedDims()));
  if (options.times != nullptr) UseTimes(*options.times, program, options.dtype, &sizes);
  return sizes;
}

absl::Status CheckDims(const ConvertOptions& options, const Program& program) {
  AMPC_ASSIGN_OR_RETURN(FeedDims dims, ParseDimsOptions(options.feed_dims));
  if (dims.empty()) return absl::OkStatus();
  return Annotate(MadeDims(program, {.dims = std::move(dims)}).status(), "--dims");
}

}  // namespace ampc
