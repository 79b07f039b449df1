// Conversion and its inverse, comparison and explanation. Options are those of the command line, declared and checked by the same code.
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graph/base/error.h"
#include "graph/base/memory_files.h"
#include "graph/base/status_macros.h"
#include "graph/formats/files_read.h"
#include "graph/formats/format.h"
#include "graph/verify.h"
#include "passes/amp/training/verify_training.h"
#include "runtime/convert/convert.h"
#include "runtime/convert/explain.h"
#include "runtime/convert/model_facts.h"
#include "runtime/convert/report.h"
#include "runtime/convert/strip.h"
#include "tools/c_api/ampc.h"
#include "tools/c_api/errors.h"
#include "tools/c_api/model.h"
#include "tools/c_api/options.h"
#include "tools/c_api/outcome.h"
#include "tools/cli/convert_flags.h"
#include "tools/cli/options.h"
#include "tools/report/html_report.h"

namespace ampc::c_api {
namespace {

absl::StatusOr<Program> Load(const ampc_model& model) {
  const MemoryFiles files = FilesOf(model);
  const MemoryFiles::Scope memory(model.num_files == 0 ? nullptr : &files);
  return LoadModel(model.path);
}

// The options in effect for converting `input` to `output`.
absl::StatusOr<ConvertOptions> ReadOptions(const std::string& input, const std::string& output, const ampc_option* options,
                                           size_t num_options) {
  AMPC_RETURN_IF_ERROR(CheckOptions(options, num_options));
  ConvertFlags flags;
  const Options known("convert");
  AddConvertOptions(known, flags);
  AMPC_RETURN_IF_ERROR(ParseOptions(known, {input}, absl::MakeConstSpan(options, num_options), {"--output=" + output}));
  flags.options.command = known.CommandLine();
  AMPC_RETURN_IF_ERROR(ResolveConvertFlags(known, flags));
  return std::move(flags.options);
}

absl::StatusOr<ExplainOptions> ReadExplainOptions(const std::string& model, const ampc_option* options, size_t num_options) {
  AMPC_RETURN_IF_ERROR(CheckOptions(options, num_options));
  ExplainFlags flags;
  const Options known("explain");
  AddExplainOptions(known, flags);
  AMPC_RETURN_IF_ERROR(ParseOptions(known, {model}, absl::MakeConstSpan(options, num_options)));
  AMPC_RETURN_IF_ERROR(ResolveConvertFlags(known, flags.convert));
  return ExplainOptions{std::move(flags.convert.options), std::move(flags.ops), std::move(flags.cast)};
}

}  // namespace
}  // namespace ampc::c_api

using namespace ampc::c_api;

ampc_code ampc_convert(const char* input, const char* output, const ampc_option* options, size_t num_options) {
  return Call("ampc_convert", [=]() -> absl::Status {
    AMPC_RETURN_IF_ERROR(Need(input, "input"));
    AMPC_RETURN_IF_ERROR(Need(output, "output"));
    AMPC_ASSIGN_OR_RETURN(const ampc::ConvertOptions convert, ReadOptions(input, output, options, num_options));
    return ampc::Convert(convert).status();
  });
}

ampc_code ampc_convert_model(const ampc_model* model, const char* name, int in_memory, const ampc_option* options, size_t num_options,
                             const ampc_callbacks* callbacks, ampc_outcome** outcome) {
  return Call("ampc_convert_model", [=]() -> absl::Status {
    AMPC_RETURN_IF_ERROR(CheckModel(model, "model"));
    AMPC_RETURN_IF_ERROR(Need(name, "name"));
    AMPC_RETURN_IF_ERROR(Need(outcome, "outcome"));
    AMPC_ASSIGN_OR_RETURN(ampc::ConvertOptions convert, ReadOptions(model->path, name, options, num_options));
    auto made = std::make_unique<ampc_outcome>();
    const ampc::MemoryFiles files = FilesOf(*model);
    if (model->num_files > 0) convert.from = &files;
    if (in_memory != 0) convert.into = &made->files;
    convert.progress = ProgressOf(callbacks);
    const ampc::FilesRead read;
    AMPC_ASSIGN_OR_RETURN(ampc::ConvertResult converted, ampc::Convert(convert));
    converted.options.from = nullptr;  // these end with this call
    converted.options.into = nullptr;
    const auto result = std::make_shared<const ampc::ConvertResult>(std::move(converted));
    made->head = name;
    made->program = result->program;
    if (model->num_files == 0) made->read = {read.paths().begin(), read.paths().end()};
    made->notes = result->notes;
    made->json.make = [result] { return ampc::SummaryJson(*result); };
    made->report.make = [result] { return ampc::ReportJson(*result); };
    made->page.make = [result] { return ampc::ReportHtml(*result); };
    Give(std::move(made), callbacks, outcome);
    return absl::OkStatus();
  });
}

ampc_code ampc_explain_model(const ampc_model* model, const ampc_option* options, size_t num_options, const ampc_callbacks* callbacks,
                             ampc_outcome** outcome) {
  return Call("ampc_explain_model", [=]() -> absl::Status {
    AMPC_RETURN_IF_ERROR(CheckModel(model, "model"));
    AMPC_RETURN_IF_ERROR(Need(outcome, "outcome"));
    AMPC_ASSIGN_OR_RETURN(ampc::ExplainOptions explain, ReadExplainOptions(model->path, options, num_options));
    const ampc::MemoryFiles files = FilesOf(*model);
    if (model->num_files > 0) explain.convert.from = &files;
    explain.convert.progress = ProgressOf(callbacks);
    AMPC_ASSIGN_OR_RETURN(const ampc::ExplainedConversion explained, ampc::ExplainConversion(explain));
    auto made = std::make_unique<ampc_outcome>();
    made->notes = explained.result.notes;
    made->json.make = [text = ampc::ExplainJson(explained)] { return text; };
    Give(std::move(made), callbacks, outcome);
    return absl::OkStatus();
  });
}

ampc_code ampc_strip_model(const ampc_model* model, const ampc_model* weights, const char* name, int in_memory,
                           const ampc_callbacks* callbacks, ampc_outcome** outcome) {
  return Call("ampc_strip_model", [=]() -> absl::Status {
    AMPC_RETURN_IF_ERROR(CheckModel(model, "model"));
    if (weights != nullptr) AMPC_RETURN_IF_ERROR(CheckModel(weights, "weights"));
    AMPC_RETURN_IF_ERROR(Need(name, "name"));
    AMPC_RETURN_IF_ERROR(Need(outcome, "outcome"));
    auto made = std::make_unique<ampc_outcome>();
    ampc::MemoryFiles files = FilesOf(*model);
    if (weights != nullptr) {
      const ampc::MemoryFiles more = FilesOf(*weights);
      for (const auto& [file, bytes] : more.files()) files.Add(file, bytes);
    }
    ampc::StripOptions strip{.model = model->path, .output = name, .weights = weights == nullptr ? "" : weights->path, .from = &files};
    if (in_memory != 0) strip.into = &made->files;
    strip.progress = ProgressOf(callbacks);
    const ampc::FilesRead read;
    AMPC_ASSIGN_OR_RETURN(const ampc::StripResult stripped, ampc::Strip(strip));
    made->head = name;
    made->program = stripped.program;
    if (files.files().empty()) made->read = {read.paths().begin(), read.paths().end()};
    made->notes = stripped.notes;
    made->json.make = [stripped, from = std::string(model->path), to = std::string(name)] { return ampc::StripJson(from, to, stripped); };
    Give(std::move(made), callbacks, outcome);
    return absl::OkStatus();
  });
}

ampc_code ampc_inspect_model(const ampc_model* model, ampc_outcome** outcome) {
  return Call("ampc_inspect_model", [=]() -> absl::Status {
    AMPC_RETURN_IF_ERROR(CheckModel(model, "model"));
    AMPC_RETURN_IF_ERROR(Need(outcome, "outcome"));
    AMPC_ASSIGN_OR_RETURN(const ampc::Program program, Load(*model));
    auto made = std::make_unique<ampc_outcome>();
    made->json.make = [text = ampc::InspectJson(model->path, program)] { return text; };
    Give(std::move(made), nullptr, outcome);
    return absl::OkStatus();
  });
}

ampc_code ampc_verify_model(const ampc_model* model, ampc_outcome** outcome) {
  return Call("ampc_verify_model", [=]() -> absl::Status {
    AMPC_RETURN_IF_ERROR(CheckModel(model, "model"));
    AMPC_RETURN_IF_ERROR(Need(outcome, "outcome"));
    AMPC_ASSIGN_OR_RETURN(const ampc::Program program, Load(*model));
    absl::Status verdict = ampc::Verify(program);
    if (verdict.ok()) verdict = ampc::VerifyTraining(program);
    auto made = std::make_unique<ampc_outcome>();
    made->json.make = [path = std::string(model->path), verdict] { return ampc::VerdictJson(path, verdict); };
    Give(std::move(made), nullptr, outcome);
    return verdict.ok() ? verdict : ampc::NoError(absl::StrCat(model->path, ": ", verdict.message()));
  });
}
