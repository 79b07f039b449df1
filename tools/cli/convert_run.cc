#include "tools/cli/convert_run.h"

#include <string>
#include <vector>

#include "graph/base/atomic_file_set.h"
#include "graph/base/json_writer.h"
#include "graph/base/status_macros.h"
#include "tools/cli/calibrate.h"
#include "tools/cli/config_writer.h"
#include "tools/cli/outputs.h"
#include "tools/cli/tensors.h"
#include "tools/report/html_report.h"

namespace ampc {
namespace {

std::vector<std::string> Inputs(const ConvertFlags& flags) {
  std::vector<std::string> files = ModelFiles(flags.request.input, flags.request.params);
  files.push_back(flags.config);
  files.push_back(flags.request.ranges);
  for (const std::string& source : flags.calibrate) files.push_back(FileOfFeeds(source));
  return files;
}

std::vector<std::string> Outputs(const ConvertFlags& flags) {
  std::vector<std::string> files = SavedFiles(flags.request.output, flags.request.params_output, flags.request.program_only);
  for (const std::string* file : {&flags.report, &flags.write_config, &flags.request.save_ranges}) files.push_back(*file);
  return files;
}

std::string ConfigText(const ConvertRequest& request) {
  JsonWriter json(JsonWriter::kIndented);
  WriteConvertConfig(request, json);
  return json.Take() + "\n";
}

}  // namespace

absl::StatusOr<ConvertResult> RunConvert(ConvertFlags& flags) {
  AMPC_RETURN_IF_ERROR(CheckOutputs(Outputs(flags), Inputs(flags)));
  if (!flags.calibrate.empty()) {
    flags.request.measure = [&flags](const Program& program) { return MeasureRanges(program, flags.calibrate); };
  }
  flags.request.add_files = [&flags](const ConvertResult& result, AtomicFileSet& files) -> absl::Status {
    ConvertRequest in_effect = flags.request;
    in_effect.options = result.options;
    in_effect.target = result.target;
    if (!flags.report.empty()) AMPC_RETURN_IF_ERROR(files.AddBefore(flags.report, MakeReport(flags.report, in_effect, result)));
    if (flags.write_config.empty()) return absl::OkStatus();
    return files.AddBefore(flags.write_config, ConfigText(in_effect));
  };
  return ConvertModel(flags.request);
}

}  // namespace ampc
