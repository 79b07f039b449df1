#include "tests/golden_ops/golden_case.h"
#include "tests/testlib/read_only_feeds.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/bfloat16.h"
#include "graph/base/error.h"
#include "graph/base/half.h"
#include "graph/base/status_macros.h"
#include "graph/formats/paddle/import.h"
#include "graph/formats/tensor_io/safetensors.h"
#include "graph/infer_context.h"

namespace ampc::testing {
namespace {

float Rounded(float value, DType to) {
  if (to == DType::kF16) return static_cast<float>(Half(value));
  if (to == DType::kBF16) return static_cast<float>(BFloat16(value));
  return value;
}

// A float32 tensor, rounded to `rounded`, as a tensor of type `as`, which holds such values exactly. Others stay as they are.
HostTensor Convert(const HostTensor& t, DType rounded, DType as) {
  if (t.dtype() != DType::kF32) return t;
  HostTensor out = *HostTensor::Create(as, t.dims());
  for (int64_t i = 0; i < t.num_elements(); ++i) {
    const float value = Rounded(t.values<float>()[i], rounded);
    if (as == DType::kF16) out.mutable_values<Half>()[i] = Half(value);
    if (as == DType::kBF16) out.mutable_values<BFloat16>()[i] = BFloat16(value);
    if (as == DType::kF32) out.mutable_values<float>()[i] = value;
  }
  return out;
}

bool Follows(const Op& op, int flat) {
  return op.inputs()[flat]->type.dtype == DType::kF32 && op.def().inputs[op.InputSlotOf(flat)].precision == SlotPrecision::kFollow;
}

bool Retargets(const Op& op, const AttrDef& attr) { return attr.retarget && op.GetDType(attr.name) == DType::kF32; }

void LowerOp(Op& op, DType low) {
  for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
    Var& var = *op.inputs()[i];
    if (!Follows(op, i)) continue;
    var.type.dtype = low;
    if (var.literal != nullptr) var.literal = std::make_shared<const HostTensor>(Convert(*var.literal, low, low));
  }
  for (const AttrDef& attr : op.def().attrs) {
    if (Retargets(op, attr)) op.SetAttr(attr.name, low);
  }
  for (int i = 0; i < static_cast<int>(op.outputs().size()); ++i) {  // for results whose declared types inference reads or leaves
    Var& var = *op.outputs()[i];
    if (var.type.dtype == DType::kF32 && op.def().outputs[op.OutputSlotOf(i)].precision == SlotPrecision::kFollow) var.type.dtype = low;
  }
}

absl::Status InferResults(Op& op) {
  AMPC_ASSIGN_OR_RETURN(const auto types, InferOp(op, TypeEnv()));
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i].has_value()) op.outputs()[i]->type = *types[i];
  }
  return absl::OkStatus();
}

// Feeds that the case gives as constants become literals.
absl::Status PlaceConstants(const TensorMap& constants, Program& program) {
  for (const auto& [name, value] : constants) {
    Var* var = program.main().FindVar(name);
    if (var == nullptr || var->kind != VarKind::kFeed) return InternalError(absl::StrCat("the program has no feed '", name, "'"));
    var->kind = VarKind::kConst;
    var->literal = std::make_shared<const HostTensor>(value);
  }
  std::erase_if(program.feeds, [](const Var* var) { return var->kind == VarKind::kConst; });
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<GoldenCase>> ReadGoldenFile(const std::string& path) {
  AMPC_ASSIGN_OR_RETURN(auto tensors, ReadSafetensors(path));
  std::map<std::string, GoldenCase> cases;
  for (auto& [key, tensor] : tensors) {
    const size_t slash = key.find('/');
    if (slash == std::string::npos) return BadInputError(absl::StrCat(path, ": '", key, "' is not <case>/..."));
    GoldenCase& golden = cases[key.substr(0, slash)];
    const std::string rest = key.substr(slash + 1);
    const std::string name = rest.substr(rest.find('/') + 1);
    if (rest == "program") {
      golden.program.assign(reinterpret_cast<const char*>(tensor.data()), tensor.size_bytes());
    } else if (rest.starts_with("in/")) {
      golden.in[name] = std::move(tensor);
    } else if (rest.starts_with("const/")) {
      golden.constants[name] = std::move(tensor);
    } else if (rest.starts_with("out/")) {
      golden.out[name] = std::move(tensor);
    } else {
      return BadInputError(absl::StrCat(path, ": '", key, "' is none of program, in/, const/, out/"));
    }
  }
  std::vector<GoldenCase> out;
  for (auto& [name, golden] : cases) {
    if (golden.program.empty() || golden.out.empty())
      return BadInputError(absl::StrCat(path, ": case '", name, "' has no program or no results"));
    golden.name = name;
    out.push_back(std::move(golden));
  }
  return out;
}

Op* SingleOp(Program& program) {
  return program.num_blocks() == 1 && program.main().ops().size() == 1 ? program.main().ops()[0].get() : nullptr;
}

absl::StatusOr<Program> ImportCase(const GoldenCase& golden, const Variant& variant) {
  AMPC_ASSIGN_OR_RETURN(Program program, paddle::ImportProgram(WeightBuffer(golden.program), {.model = golden.name, .params = ""}));
  AMPC_RETURN_IF_ERROR(PlaceConstants(golden.constants, program));
  Op* op = SingleOp(program);
  if (op == nullptr) return program;
  if (variant.low != DType::kF32) LowerOp(*op, variant.low);
  if (variant.unknown_dims) {
    for (Var* feed : program.feeds) feed->type.dims.assign(feed->type.dims.size(), kUnknownDim);
  }
  AMPC_RETURN_IF_ERROR(InferResults(*op));
  return program;
}

bool CanBeLow(const GoldenCase& golden) {
  absl::StatusOr<Program> program = ImportCase(golden, {});
  Op* op = program.ok() ? SingleOp(*program) : nullptr;
  if (op == nullptr) return false;
  bool can = false;
  for (int i = 0; i < static_cast<int>(op->inputs().size()); ++i) can = can || Follows(*op, i);
  for (const AttrDef& attr : op->def().attrs) can = can || Retargets(*op, attr);
  return can;
}

absl::StatusOr<ReadyCase> MakeReady(const GoldenCase& golden, const Variant& variant, DType rounded) {
  GoldenCase used = golden;
  AMPC_ASSIGN_OR_RETURN(Program declared, ImportCase(golden, {}));
  if (const Op* op = SingleOp(declared)) {  // only what a low op would read low is rounded
    for (int i = 0; i < static_cast<int>(op->inputs().size()); ++i) {
      if (!Follows(*op, i)) continue;
      const std::string& name = op->inputs()[i]->exported();
      TensorMap& of = used.in.contains(name) ? used.in : used.constants;
      of[name] = Convert(of[name], rounded, DType::kF32);
    }
  }
  ReadyCase ready;
  AMPC_ASSIGN_OR_RETURN(ready.program, ImportCase(used, variant));
  for (const Var* feed : ready.program.feeds) {
    ready.feeds[feed->exported()] = Convert(used.in[feed->exported()], DType::kF32, feed->type.dtype);
  }
  return ready;
}

absl::StatusOr<TensorMap> RunCase(const GoldenCase& golden, const Variant& variant, DType rounded) {
  AMPC_ASSIGN_OR_RETURN(ReadyCase ready, MakeReady(golden, variant, rounded));
  AMPC_ASSIGN_OR_RETURN(const Session session, Session::Create(std::move(ready.program), {.threads = 1, .strict_rounding = true}));
  AMPC_ASSIGN_OR_RETURN(const ReadOnlyFeeds feeds, ReadOnlyFeeds::Of(ready.feeds));
  return session.Run(feeds.feeds());
}

}  // namespace ampc::testing
