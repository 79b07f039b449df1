#include "graph/formats/onnx/node_names.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graph/formats/onnx/messages.h"
#include "graph/formats/onnx/origin.h"
#include "graph/formats/onnx/wire.h"

namespace ampc::onnx {
namespace {

constexpr int kMetadata = 9, kKey = 1, kValue = 2;  // of NodeProto, and of an entry

absl::string_view BytesOf(const Program& program, const Op& op) {
  const OnnxOrigin* origin = OriginOf(program);
  const bool known = origin != nullptr && op.origin >= 0 && static_cast<size_t>(op.origin) < origin->ops.size();
  return known ? origin->ops[static_cast<size_t>(op.origin)].bytes : absl::string_view();
}

// The strings of a list as Python prints it: ['', 'layer1', 'layer1.conv1'].
std::vector<std::string> PythonList(absl::string_view text) {
  std::vector<std::string> words;
  for (size_t at = 0; (at = text.find_first_of("'\"", at)) != absl::string_view::npos;) {
    const size_t end = text.find(text[at], at + 1);
    if (end == absl::string_view::npos) break;
    words.emplace_back(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return words;
}

absl::string_view TorchScopes(absl::string_view node) {
  WireReader reader(node);
  for (WireField field; reader.Next(&field);) {
    if (!field.Is(kMetadata, kBytes)) continue;
    absl::string_view key, value;
    WireReader entry(field.bytes);
    for (WireField part; entry.Next(&part);) {
      if (part.Is(kKey, kBytes)) key = part.bytes;
      if (part.Is(kValue, kBytes)) value = part.bytes;
    }
    if (key == "pkg.torch.onnx.name_scopes") return value;
  }
  return "";
}

}  // namespace

absl::string_view NodeName(const Program& program, const Op& op) {
  NodeView node;
  const absl::string_view bytes = BytesOf(program, op);
  return !bytes.empty() && ReadNode(bytes, &node) ? node.name : absl::string_view();
}

std::vector<std::string> NodeScopes(const Program& program, const Op& op) {
  std::vector<std::string> scopes;
  const absl::string_view name = NodeName(program, op);
  if (const size_t slash = name.rfind('/'); slash != absl::string_view::npos) scopes.emplace_back(name.substr(0, slash + 1));
  std::vector<std::string> modules = PythonList(TorchScopes(BytesOf(program, op)));
  if (!modules.empty()) modules.pop_back();  // the node itself
  for (const std::string& module : modules) {
    if (module.empty()) continue;
    scopes.push_back(module);
    scopes.push_back(absl::StrCat("/", absl::StrReplaceAll(module, {{".", "/"}}), "/"));
  }
  return scopes;
}

}  // namespace ampc::onnx
