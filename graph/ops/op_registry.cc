#include "graph/op_registry.h"

#include <cstdlib>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
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

// The attributes that Paddle's front end and its CPU library add to every op. Listed so that the default does not print.
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

// The op's name from that in the list: CAllreduceSum is c_allreduce_sum, SquaredL2Norm squared_l2_norm, Conv2DTranspose conv2d_transpose.
std::string OpName(absl::string_view listed) {
  std::string name;
  for (size_t i = 0; i < listed.size(); ++i) {
    const bool of_number = i > 0 && absl::ascii_isdigit(listed[i - 1]) && (i + 1 == listed.size() || !absl::ascii_islower(listed[i + 1]));
    if (absl::ascii_isupper(listed[i]) && i > 0 && !of_number) name += '_';
    name += absl::ascii_tolower(listed[i]);
  }
  return name;
}

const OpRegistry* BuildRegistry() {
  auto* registry = new OpRegistry();
  const auto add = [registry](std::string name, OpRegistry::Maker make) {
    if (!registry->Add(std::move(name), std::move(make)).ok()) std::abort();  // duplicates: a mistake in the list, met by every test
  };
#define AMPC_OP(name) add(OpName(#name), [] { return WithCommonExtras(ops::name##Def()); });
#include "graph/ops/all_ops.inc"
#undef AMPC_OP
  // A gradient op that is listed itself keeps its own record.
  const auto add_gradient = [registry](const std::string& forward) {
    const auto make = [registry, forward]() -> std::optional<OpDef> {
      const OpDef& def = *registry->Find(forward);
      return def.gradient_slots.has_value() ? std::optional<OpDef>(WithCommonExtras(ops::GradientOf(def))) : std::nullopt;
    };
    registry->Add(absl::StrCat(forward, "_grad"), make).IgnoreError();
  };
#define AMPC_OP(name) add_gradient(OpName(#name));
#include "graph/ops/all_ops.inc"
#undef AMPC_OP
  return registry;
}

}  // namespace

absl::Status OpRegistry::Add(std::string name, Maker make) {
  const auto [it, added] = records_.try_emplace(std::move(name));
  if (!added) return InternalError(absl::StrCat("op '", it->first, "' has two records"));
  it->second.make = std::move(make);
  return absl::OkStatus();
}

const OpDef* OpRegistry::Record::Get() {
  std::call_once(made, [this] {
    if (std::optional<OpDef> record = make(); record.has_value()) def = std::make_unique<const OpDef>(*std::move(record));
  });
  return def.get();
}

const OpDef* OpRegistry::Find(absl::string_view name) const {
  const auto it = records_.find(name);
  return it == records_.end() ? onnx::FindOp(name) : it->second.Get();
}

std::vector<const OpDef*> OpRegistry::All() const {
  std::vector<const OpDef*> all;
  for (auto& [name, record] : records_) {
    if (const OpDef* def = record.Get(); def != nullptr) all.push_back(def);
  }
  return all;
}

const OpRegistry& Ops() {
  static const OpRegistry& registry = *BuildRegistry();
  return registry;
}

}  // namespace ampc
