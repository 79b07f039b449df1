// The search for the fastest mixed precision. Options are those of the command line, declared and checked by the same code.
#include "runtime/tune/tune.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "graph/base/error.h"
#include "graph/base/memory_files.h"
#include "graph/base/status_macros.h"
#include "tools/c_api/ampc.h"
#include "tools/c_api/errors.h"
#include "tools/c_api/model.h"
#include "tools/c_api/options.h"
#include "tools/c_api/outcome.h"
#include "tools/cli/tune_flags.h"

using namespace ampc::c_api;

ampc_code ampc_tune_model(const ampc_model* model, const ampc_option* options, size_t num_options, const ampc_callbacks* callbacks,
                          ampc_outcome** outcome) {
  return Call("ampc_tune_model", [=]() -> absl::Status {
    AMPC_RETURN_IF_ERROR(CheckModel(model, "model"));
    AMPC_RETURN_IF_ERROR(CheckOptions(options, num_options));
    AMPC_RETURN_IF_ERROR(Need(outcome, "outcome"));
    ampc::TuneFlags flags;
    const ampc::Options known("tune");
    ampc::AddTuneOptions(known, flags);
    // The files are arguments of the command line, which have no keys there.
    std::vector<ampc_option> others;
    std::vector<std::string> inputs;
    for (const ampc_option& option : absl::MakeConstSpan(options, num_options)) {
      if (std::string(option.key) == "input") {
        inputs.emplace_back(option.value);
      } else {
        others.push_back(option);
      }
    }
    AMPC_RETURN_IF_ERROR(ParseOptions(known, {model->path}, others));
    flags.tune.inputs = std::move(inputs);
    AMPC_RETURN_IF_ERROR(ampc::ResolveTuneFlags(known, flags));
    const ampc::MemoryFiles files = FilesOf(*model);
    if (model->num_files > 0) flags.tune.convert.from = &files;
    if (const auto progress = ProgressOf(callbacks)) {
      flags.tune.progress = [progress](const std::string& stage, int evaluations) {
        return progress({stage, static_cast<double>(evaluations), 0});
      };
    }
    AMPC_ASSIGN_OR_RETURN(const ampc::TuneResult result, ampc::Tune(flags.tune));
    auto made = std::make_unique<ampc_outcome>();
    made->notes = result.notes;
    made->json.make = [text = ampc::TuneJson(result)] { return text; };
    Give(std::move(made), callbacks, outcome);
    return result.chosen.has_value() ? absl::OkStatus() : ampc::NoError("no assignment with low ops is good enough");
  });
}
