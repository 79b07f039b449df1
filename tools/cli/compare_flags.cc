#include "tools/cli/compare_flags.h"

#include "graph/base/status_macros.h"
#include "runtime/feeds.h"

namespace ampc {

void AddCompareOptions(const Options& options, CompareFlags& flags) {
  options.Add("a", flags.a, "the reference model").Required();
  options.Add("b", flags.b, "the model to judge").Required();
  AddFeedOptions(options, &flags.feeds);
  const Options verdict = options.Under("Verdict");
  options.Add("--params-a", flags.params_a, "file with the weights of the first model").Values("FILE");
  options.Add("--params-b", flags.params_b, "file with the weights of the second model").Values("FILE");
  verdict.Add("--tolerance", flags.options.of_largest, "largest allowed max rel of every output").NotNegative();
  verdict.Add("--rtol", flags.options.rtol, "each element may differ by ATOL + RTOL |a|").NotNegative();
  verdict.Add("--atol", flags.options.atol, "as --rtol").NotNegative();
  options.Flag("--outputs-only", flags.options.outputs_only, "only outputs; the models run fused, as they run otherwise");
  options.Add("--device", flags.device, "cpu, or cuda:N in a build with CUDA").ShowDefault();
  options.Add("--device-b", flags.device_b, "where the second model runs; default: --device");
  options.Add("--threads", flags.threads, "threads of one run; 0: all processors").ShowDefault();
}

SessionOptions SessionOfA(const CompareFlags& flags) {
  SessionOptions options{
      .device = flags.device, .threads = flags.threads, .strict_rounding = !flags.options.outputs_only, .params = flags.params_a};
  options.excess_precision = false;
  return options;
}

SessionOptions SessionOfB(const CompareFlags& flags) {
  SessionOptions options = SessionOfA(flags);
  options.params = flags.params_b;
  if (!flags.device_b.empty()) options.device = flags.device_b;
  return options;
}

absl::StatusOr<ModelComparison> CompareOnFeeds(const CompareFlags& flags, const ComparedModel& a, const ComparedModel& b,
                                               const TensorMap* given, std::string* note) {
  ModelComparison comparison;
  const auto compare_in_types = [&](const TensorMap& feeds) -> absl::Status {
    AMPC_ASSIGN_OR_RETURN(const TensorMap of_a, InTypesOf(feeds, a.session().inputs()));
    AMPC_ASSIGN_OR_RETURN(const TensorMap of_b, InTypesOf(feeds, b.session().inputs()));
    AMPC_ASSIGN_OR_RETURN(comparison, CompareModels(a, of_a, b, of_b, flags.options));
    return absl::OkStatus();
  };
  if (given != nullptr || flags.feeds.random) {
    AMPC_RETURN_IF_ERROR(given != nullptr ? compare_in_types(*given) : UseFeeds(flags.feeds, a.session(), compare_in_types, note));
    return comparison;
  }
  AMPC_ASSIGN_OR_RETURN(const std::vector<FeedsOfARun> of_a, RunsOfFiles(flags.feeds, a.session().inputs()));
  AMPC_ASSIGN_OR_RETURN(const std::vector<FeedsOfARun> of_b, RunsOfFiles(flags.feeds, b.session().inputs()));
  return CompareRuns(a, of_a, b, of_b, flags.options);
}

}  // namespace ampc
