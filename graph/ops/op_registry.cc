#include "graph/op_registry.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/ops/gradients.h"
#include "graph/ops/onnx/dialect.h"

namespace ampc {

namespace ops {
#define AMPC_OP(name) OpDef name##Def();
#include "graph/ops/all_ops.inc"
#undef AMPC_OP
}  // namespace ops

namespace {

// What Paddle's front end and its CPU library add to every op. Listed so that the default does not print.
OpDef WithCommonExtras(OpDef def) {
  static const std::pair<const char*, AttrValue> kExtras[] = {
      {"op_role", int32_t{0}},
      {"op_role_var", std::vector<std::string>()},
      {"op_namescope", std::string("/")},
      {"op_device", std::string()},
      {"with_quant_attr", false},
      {"use_mkldnn", false},
      {"use_quantizer", false},
      {"mkldnn_data_type", std::string("float32")},
  };
  for (const auto& [name, value] : kExtras) {
    if (def.FindAttr(name) == nullptr) def.Extra(name, value);
  }
  return def;
}

OpRegistry BuildRegistry() {
  OpRegistry registry;
#define AMPC_OP(name) \
  if (!registry.Add(WithCommonExtras(ops::name##Def())).ok()) std::abort();  // twins: a mistake in the list, met by every test
#include "graph/ops/all_ops.inc"
#undef AMPC_OP
  for (const ops::GradientRow& row : ops::GradientRows()) {
    const OpDef* forward = registry.Find(row.forward);
    if (forward == nullptr || !registry.Add(WithCommonExtras(ops::GradientOf(*forward, row))).ok()) std::abort();  // as above
  }
  return registry;
}

}  // namespace

absl::Status OpRegistry::Add(OpDef def) {
  std::string name = def.name;
  const auto [it, added] = defs_.try_emplace(std::move(name), nullptr);
  if (!added) return InternalError(absl::StrCat("op '", def.name, "' has two records"));
  it->second = std::make_unique<OpDef>(std::move(def));
  return absl::OkStatus();
}

const OpDef* OpRegistry::Find(absl::string_view name) const {
  const auto it = defs_.find(name);
  return it == defs_.end() ? onnx::FindOp(name) : it->second.get();
}

std::vector<const OpDef*> OpRegistry::All() const {
  std::vector<const OpDef*> all;
  for (const auto& [name, def] : defs_) all.push_back(def.get());
  return all;
}

const OpRegistry& Ops() {
  static const OpRegistry& registry = *new OpRegistry(BuildRegistry());
  return registry;
}

}  // namespace ampc
