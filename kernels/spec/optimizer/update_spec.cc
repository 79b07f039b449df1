#include "kernels/spec/optimizer/update_spec.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"

namespace ampc {
namespace {

struct KindSlots {
  UpdateKind kind;
  std::vector<const char*> ops, moments, powers;
};

const std::vector<KindSlots>& Kinds() {
  static const auto* const kinds = new std::vector<KindSlots>{
      {UpdateKind::kSgd, {"sgd"}, {}, {}},
      {UpdateKind::kMomentum, {"momentum"}, {"Velocity"}, {}},
      {UpdateKind::kAdam, {"adam", "adamw"}, {"Moment1", "Moment2"}, {"Beta1Pow", "Beta2Pow"}},
      {UpdateKind::kLamb, {"lamb"}, {"Moment1", "Moment2"}, {"Beta1Pow", "Beta2Pow"}},
  };
  return *kinds;
}

const KindSlots* FindKind(absl::string_view type) {
  for (const KindSlots& kind : Kinds()) {
    for (const char* op : kind.ops) {
      if (type == op) return &kind;
    }
  }
  return nullptr;
}

ScalarSlot ReadScalar(const SpecView& view, absl::string_view slot, double fallback) {
  ScalarSlot scalar;
  scalar.fixed = view.Number(slot).value_or(fallback);
  if (view.In(slot) < 0 || view.Number(slot).has_value()) return scalar;
  scalar.flat = view.In(slot);
  scalar.type = view.InDesc(slot).dtype;
  return scalar;
}

// Reads the operands of one parameter after the other; all of them have the types of the first.
class Reader {
 public:
  Reader(const SpecView& view, UpdateSpec& spec) : view_(view), spec_(spec) {}

  absl::Status Read(const KindSlots& kind, int i) {
    i_ = i;
    UpdateOperands p;
    AMPC_RETURN_IF_ERROR(Pair("Param", &p.weight, &p.weight_out));
    p.elements = view_.OutDesc("ParamOut", i).NumElements();
    AMPC_RETURN_IF_ERROR(Same(view_.OutDesc("ParamOut", i).dtype, &spec_.param_type));
    AMPC_RETURN_IF_ERROR(view_.CheckType(spec_.param_type, {DType::kF32, DType::kF64}));
    if (view_.In("MasterParam", i) >= 0) {
      p.low = p.weight;
      p.low_out = p.weight_out;
      AMPC_RETURN_IF_ERROR(Pair("MasterParam", &p.weight, &p.weight_out));
    }
    AMPC_RETURN_IF_ERROR(Same(view_.spec().inputs[p.weight].dtype, &spec_.weight_type));
    const DType storage = StorageType(spec_.param_type);
    for (size_t k = 0; k < kind.moments.size(); ++k) {
      AMPC_RETURN_IF_ERROR(Pair(kind.moments[k], &p.moments[k], &p.moments_out[k]));
      AMPC_RETURN_IF_ERROR(Same(view_.InDesc(kind.moments[k], i).dtype, &spec_.moment_type));
      AMPC_RETURN_IF_ERROR(view_.CheckType(spec_.moment_type, {storage}));
    }
    for (size_t k = 0; k < kind.powers.size(); ++k) {
      AMPC_RETURN_IF_ERROR(Pair(kind.powers[k], &p.powers[k], &p.powers_out[k]));
      AMPC_RETURN_IF_ERROR(view_.CheckType(view_.InDesc(kind.powers[k], i).dtype, {storage}));
    }
    p.grad = view_.In("Grad", i);
    AMPC_RETURN_IF_ERROR(Same(view_.InDesc("Grad", i).dtype, &spec_.grad_type));
    AMPC_RETURN_IF_ERROR(view_.CheckType(spec_.grad_type, {storage}));
    spec_.params.push_back(p);
    return absl::OkStatus();
  }

 private:
  // The operand in slot `in` and its result in <in>Out, both needed.
  absl::Status Pair(absl::string_view in, int* at, int* at_out) {
    *at = view_.In(in, i_);
    *at_out = view_.Out(absl::StrCat(in, "Out"), i_);
    if (*at < 0) return view_.Unsupported(absl::StrCat("runs only with the operand ", in));
    if (*at_out < 0) return view_.Unsupported(absl::StrCat("runs only with the result ", in, "Out"));
    return absl::OkStatus();
  }

  absl::Status Same(DType found, DType* type) {
    if (i_ == 0) *type = found;
    return *type == found ? absl::OkStatus() : view_.Unsupported("runs only with parameters of the same types");
  }

  const SpecView& view_;
  UpdateSpec& spec_;
  int i_ = 0;
};

}  // namespace

absl::StatusOr<UpdateSpec> ReadUpdateSpec(const SpecView& view) {
  const Op& op = view.op();
  const std::string type = op.type() == "grouped_update" ? op.GetString("op") : op.type();
  const KindSlots* const kind = FindKind(type);
  if (kind == nullptr) return view.Internal(absl::StrCat("'", type, "' is no optimizer op"));
  UpdateSpec spec;
  spec.kind = kind->kind;
  Reader reader(view, spec);
  for (int i = 0; i < view.NumIn("Param"); ++i) AMPC_RETURN_IF_ERROR(reader.Read(*kind, i));
  spec.is_double = spec.param_type == DType::kF64;
  spec.skip = view.In("SkipUpdate");
  spec.lr = ReadScalar(view, "LearningRate", 0);
  spec.grad_scale = ReadScalar(view, "GradScale", 1);
  if (spec.kind == UpdateKind::kMomentum) {
    spec.mu = op.GetFloat("mu");
    spec.rescale = op.GetFloat("rescale_grad");
    spec.decay = op.GetString("regularization_method") == "l2_decay" ? op.GetFloat("regularization_coeff") : 0;
    spec.nesterov = op.GetBool("use_nesterov");
  }
  if (spec.kind == UpdateKind::kAdam || spec.kind == UpdateKind::kLamb) {
    spec.beta1 = ReadScalar(view, "Beta1Tensor", op.GetFloat("beta1"));
    spec.beta2 = ReadScalar(view, "Beta2Tensor", op.GetFloat("beta2"));
    spec.epsilon = ReadScalar(view, "EpsilonTensor", op.GetFloat("epsilon"));
  }
  if (spec.kind == UpdateKind::kAdam) spec.own_powers = !op.GetBool("use_global_beta_pow");
  if (type == "adamw") {
    spec.lr_ratio = op.GetFloat("lr_ratio");
    spec.coeff = op.GetBool("with_decay") ? op.GetFloat("coeff") : 0;
  }
  if (spec.kind == UpdateKind::kLamb) {
    spec.decay = op.GetFloat("weight_decay");
    spec.adapts = spec.decay > 0 || op.GetBool("always_adapt");
  }
  return spec;
}

std::vector<std::pair<int, int>> KeptValues(const UpdateSpec& spec) {
  std::vector<std::pair<int, int>> kept;
  const auto add = [&kept](int at, int at_out) {
    if (at >= 0) kept.emplace_back(at, at_out);
  };
  for (const UpdateOperands& p : spec.params) {
    add(p.weight, p.weight_out);
    add(p.low, p.low_out);
    for (int k = 0; k < 2; ++k) {
      add(p.moments[k], p.moments_out[k]);
      add(p.powers[k], p.powers_out[k]);
    }
  }
  return kept;
}

}  // namespace ampc
