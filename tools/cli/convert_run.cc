#include "tools/cli/convert_run.h"

#include <string>
#include <vector>

#include "graph/base/atomic_file.h"
#include "graph/base/json_writer.h"
#include "graph/base/status_macros.h"
#include "tools/cli/calibrate.h"
#include "tools/cli/config_writer.h"
#include "tools/cli/outputs.h"
#include "tools/report/html_report.h"

namespace ampc {
namespace {

std::vector<std::string> Inputs(const ConvertFlags& flags) {
  std::vector<std::string> files = ModelFiles(flags.request.input, flags.request.params);
  files.push_back(flags.config);
  files.push_back(flags.request.ranges);
  files.insert(files.end(), flags.calibrate.begin(), flags.calibrate.end());
  return files;
}

std::string ConfigText(const ConvertRequest& request) {
  JsonWriter json(JsonWriter::kIndented);
  WriteConvertConfig(request, json);
  return json.Take() + "\n";
}

}  // namespace

absl::StatusOr<ConvertResult> RunConvert(ConvertFlags& flags) {
  AMPC_RETURN_IF_ERROR(CheckOutputs({flags.request.output, flags.request.params_output, flags.report, flags.write_config, flags.request.save_ranges}, Inputs(flags)));
  if (!flags.calibrate.empty()) {
    flags.request.measure = [&flags](const Program& program) { return MeasureRanges(program, flags.calibrate); };
  }
  AMPC_ASSIGN_OR_RETURN(ConvertResult result, ConvertModel(flags.request));
  if (!flags.report.empty()) AMPC_RETURN_IF_ERROR(WriteFileAtomically(flags.report, MakeReport(flags.report, flags.request, result)));
  if (!flags.write_config.empty()) AMPC_RETURN_IF_ERROR(WriteFileAtomically(flags.write_config, ConfigText(flags.request)));
  return result;
}

}  // namespace ampc
