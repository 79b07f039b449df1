// Two models on the same feeds. Options are those of the command line, declared and checked by the same code.
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/base/error.h"
#include "graph/base/memory_files.h"
#include "graph/base/status_macros.h"
#include "runtime/compare/compare_json.h"
#include "runtime/compare/compare_models.h"
#include "runtime/feeds.h"
#include "tools/c_api/ampc.h"
#include "tools/c_api/errors.h"
#include "tools/c_api/model.h"
#include "tools/c_api/options.h"
#include "tools/c_api/outcome.h"
#include "tools/c_api/tensors.h"
#include "tools/cli/compare_flags.h"

namespace ampc::c_api {
namespace {

absl::StatusOr<CompareFlags> ReadOptions(const ampc_model& a, const ampc_model& b, absl::Span<const ampc_option> options) {
  CompareFlags flags;
  const Options known("compare");
  AddCompareOptions(known, flags);
  AMPC_RETURN_IF_ERROR(ParseOptions(known, {a.path, b.path}, options));
  return flags;
}

absl::StatusOr<ComparedModel> Load(const ampc_model& model, const SessionOptions& options) {
  const MemoryFiles files = FilesOf(model);
  const MemoryFiles::Scope memory(model.num_files == 0 ? nullptr : &files);
  return ComparedModel::Load(model.path, options);
}

// The feeds of one run after the other: a name that is there again begins another.
absl::StatusOr<std::vector<FeedsOfARun>> RunsOf(absl::Span<const ampc_tensor> feeds) {
  std::vector<FeedsOfARun> runs;
  size_t begin = 0;
  std::set<absl::string_view> names;
  for (size_t i = 0; i <= feeds.size(); ++i) {
    if (i < feeds.size() && (feeds[i].name == nullptr || names.insert(feeds[i].name).second)) continue;
    AMPC_ASSIGN_OR_RETURN(TensorMap run, Feeds(feeds.subspan(begin, i - begin)));
    runs.push_back({absl::StrCat("run ", runs.size() + 1), std::move(run)});
    if (i == feeds.size()) break;
    begin = i;
    names = {feeds[i].name};
  }
  return runs;
}

absl::StatusOr<ModelComparison> Compare(const CompareFlags& flags, const ampc_model& a, const ampc_model& b,
                                        absl::Span<const ampc_tensor> feeds, std::string* note) {
  AMPC_ASSIGN_OR_RETURN(const ComparedModel first, Load(a, SessionOfA(flags)));
  AMPC_ASSIGN_OR_RETURN(const ComparedModel second, Load(b, SessionOfB(flags)));
  AMPC_ASSIGN_OR_RETURN(const std::vector<FeedsOfARun> given, RunsOf(feeds));
  return CompareOnFeeds(flags, first, second, &given, note);
}

}  // namespace
}  // namespace ampc::c_api

using namespace ampc::c_api;

ampc_code ampc_compare_models(const ampc_model* a, const ampc_model* b, const ampc_tensor* feeds, size_t num_feeds,
                              const ampc_option* options, size_t num_options, const ampc_callbacks* callbacks, ampc_outcome** outcome) {
  return Call("ampc_compare_models", [=]() -> absl::Status {
    AMPC_RETURN_IF_ERROR(CheckModel(a, "a"));
    AMPC_RETURN_IF_ERROR(CheckModel(b, "b"));
    AMPC_RETURN_IF_ERROR(NeedArray(feeds, num_feeds, "feeds"));
    AMPC_RETURN_IF_ERROR(CheckOptions(options, num_options));
    AMPC_RETURN_IF_ERROR(Need(outcome, "outcome"));
    AMPC_ASSIGN_OR_RETURN(ampc::CompareFlags flags, ReadOptions(*a, *b, absl::MakeConstSpan(options, num_options)));
    if (flags.feeds.random && num_feeds > 0)
      return ampc::UsageError("found feeds and the option random, which makes them; one of the two is needed");
    if (const auto progress = ProgressOf(callbacks)) {
      flags.options.on_stage = [progress](const std::string& stage) { return progress({stage, 0, 0}); };
    }
    std::string note;
    AMPC_ASSIGN_OR_RETURN(const ampc::ModelComparison found, Compare(flags, *a, *b, absl::MakeConstSpan(feeds, num_feeds), &note));
    auto made = std::make_unique<ampc_outcome>();
    if (!note.empty()) made->notes.push_back(note);
    made->json.make = [text = ampc::ComparisonJson(a->path, b->path, found)] { return text; };
    Give(std::move(made), callbacks, outcome);
    return found.passed ? absl::OkStatus() : ampc::NoError(found.reason);
  });
}
