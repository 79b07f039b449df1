#include "tools/cli/outputs.h"

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/atomic_file.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace ampc {
namespace {

namespace fs = std::filesystem;

// A folder is made by the format that writes into it; a device or a pipe must not be opened twice.
bool IsPlainFile(const std::string& path) {
  std::error_code ignored;
  return !absl::EndsWith(path, "/") && (!fs::exists(path, ignored) || fs::is_regular_file(path, ignored));
}

bool SameFile(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return fs::equivalent(a, b, ignored) || (IsPlainFile(a) && fs::path(a).lexically_normal() == fs::path(b).lexically_normal());
}

}  // namespace

std::string WeightsBeside(const std::string& model) {
  const std::string ending = fs::path(model).extension().string();
  if (ending == ".onnx") return model + ".data";
  const char* weights = ending == ".pdmodel" ? ".pdiparams" : ending == ".ampc" || ending == ".prog" ? ".safetensors" : "";
  return *weights == '\0' ? "" : fs::path(model).replace_extension(weights).string();
}

std::vector<std::string> ModelFiles(const std::string& model, const std::string& params) { return {model, params.empty() ? WeightsBeside(model) : params}; }

absl::Status CheckOutputs(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string& output = outputs[i];
    if (output.empty()) continue;
    for (const std::string& input : inputs) {
      if (!input.empty() && SameFile(output, input)) return UsageError(absl::StrCat("output '", output, "' is the input; another name is needed"));
    }
    for (size_t k = 0; k < i; ++k) {
      if (SameFile(output, outputs[k])) return UsageError(absl::StrCat("two outputs are the same file '", output, "'; another name is needed"));
    }
  }
  for (const std::string& output : outputs) {
    if (!output.empty() && IsPlainFile(output)) AMPC_RETURN_IF_ERROR(AtomicFileWriter::Create(output).status());
  }
  return absl::OkStatus();
}

}  // namespace ampc
