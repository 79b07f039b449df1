#include "graph/formats/foreign.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"

namespace ampc {
namespace {

constexpr size_t kMostNames = 10000;  // of a folder that are looked at

bool EndsWithAny(absl::string_view path, std::initializer_list<absl::string_view> extensions) {
  return std::any_of(extensions.begin(), extensions.end(),
                     [&](absl::string_view extension) { return absl::EndsWithIgnoreCase(path, extension); });
}

std::vector<std::string> NamesIn(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end && names.size() < kMostNames; at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string ForeignFolder(const std::string& path) {
  std::vector<std::string> models;
  for (const std::string& name : NamesIn(path)) {
    if (name == "saved_model.pb")
      return "is a TensorFlow SavedModel; tf2onnx makes an .onnx file of it (python -m tf2onnx.convert --saved-model)";
    if (EndsWithAny(name, {".onnx", ".pdmodel", ".ampc", ".prog"}))
      models.push_back(absl::StrCat("'", (std::filesystem::path(path) / name).string(), "'"));
  }
  if (models.empty()) return "";
  if (models.size() > 5) models.resize(5);
  return absl::StrCat("is a folder with ", absl::StrJoin(models, ", "), " in it; give one of these");
}

// An ONNX file begins with its version and, mostly, its producer: fields 1 and 2 of ModelProto.
bool LooksLikeOnnx(absl::string_view head) {
  return head.size() > 3 && head[0] == '\x08' && head[1] > 0 && head[1] < 32 &&
         (head[2] == '\x12' || head[2] == '\x3a' || head[2] == '\x1a');
}

std::string ForeignContent(const std::string& path, absl::string_view head) {
  const auto begins = [&](absl::string_view magic) { return absl::StartsWith(head, magic); };
  if (begins(absl::string_view("PK\x03\x04", 4))) {
    if (EndsWithAny(path, {".npz"})) return "is an archive of tensors; it goes where feeds go (--input)";
    if (EndsWithAny(path, {".keras"})) return "is a Keras model; tf2onnx makes an .onnx file of it";
    if (EndsWithAny(path, {".mlpackage"})) return "is a Core ML model, which is not read";
    return "is a zip archive, as PyTorch saves checkpoints and TorchScript; export the model in Python: torch.onnx.export(model, inputs, "
           "'model.onnx')";
  }
  if (begins("\x80\x02") || begins("\x80\x04") || begins("\x80\x05")) {
    return "is a Python pickle, as PyTorch and Paddle save weights; export the model in Python: torch.onnx.export(model, inputs, "
           "'model.onnx'), or paddle.jit.save";
  }
  if (begins("\x89HDF\r\n")) return "is an HDF5 file, as Keras saves models; tf2onnx makes an .onnx file of it";
  if (head.size() > 8 && head.substr(4, 4) == "TFL3")
    return "is a TensorFlow Lite model; tf2onnx makes an .onnx file of it (python -m tf2onnx.convert --tflite)";
  if (begins("ftrt") || begins("ptrt") || EndsWithAny(path, {".engine", ".plan", ".trt"})) {
    return "is a TensorRT engine, which is compiled for one GPU; give the model that it was made of";
  }
  if (EndsWithAny(path, {".xml"}) && (absl::StrContains(head, "<?xml") || absl::StrContains(head, "<net"))) {
    return "is an OpenVINO model; give the model that it was made of";
  }
  if (begins("\x1f\x8b")) return "is compressed with gzip; unpack it first (gunzip)";
  if (begins("BZh") ||
      begins("\xfd"
             "7zXZ") ||
      begins("\x28\xb5\x2f\xfd"))
    return "is compressed; unpack it first";
  if (LooksLikeOnnx(head) && !EndsWithAny(path, {".onnx"})) return "looks like an ONNX model under another name; name it .onnx";
  if (EndsWithAny(path, {".pb"}))
    return "looks like a TensorFlow graph; tf2onnx makes an .onnx file of it (python -m tf2onnx.convert --graphdef)";
  if (EndsWithAny(path, {".pdiparams", ".safetensors", ".npy"})) return "has tensors and no program; give the model beside it";
  return "";
}

}  // namespace

std::string ForeignFile(const std::string& path, bool is_directory, absl::string_view head) {
  return is_directory ? ForeignFolder(path) : ForeignContent(path, head);
}

std::string NearFile(const std::string& path) {
  const std::filesystem::path wanted(path);
  const std::filesystem::path folder = wanted.has_parent_path() ? wanted.parent_path() : ".";
  const std::string near = Suggest(wanted.filename().string(), NamesIn(folder));
  if (near.empty() || !wanted.has_parent_path()) return near;
  const size_t quote = near.find('\'');
  return absl::StrCat(near.substr(0, quote + 1), (wanted.parent_path() / "").string(), near.substr(quote + 1));
}

}  // namespace ampc
