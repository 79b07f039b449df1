#include "passes/train/clip_gradients.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "passes/append_op.h"

namespace ampc {
namespace {

constexpr char kScope[] = "/gradient_clip/";

class GlobalNorm {
 public:
  GlobalNorm(Program& main, double norm, OptimizerStyle style) : block_(main.main()), norm_(norm), style_(style) {}

  absl::Status Run(std::vector<VarGradient*> clipped) {
    if (clipped.empty()) return absl::OkStatus();
    for (VarGradient* entry : clipped) {
      AMPC_RETURN_IF_ERROR(Measure(*entry));
    }
    AMPC_ASSIGN_OR_RETURN(Var * factor, Factor(clipped.back()));
    for (VarGradient* entry : clipped) {
      AMPC_RETURN_IF_ERROR(Shorten(*entry, factor));
    }
    for (const auto& [op, owner] : owners_) Label(*op, style_, *owner, kScope);
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Var*> Add(absl::string_view type, const SlotVars& operands, absl::string_view name, std::vector<Attr> attrs,
                           const VarGradient* owner) {
    return AddTo(type, operands, NewTemp(block_, name), std::move(attrs), owner);
  }
  absl::StatusOr<Var*> AddTo(absl::string_view type, const SlotVars& operands, Var* out, std::vector<Attr> attrs,
                             const VarGradient* owner) {
    AMPC_ASSIGN_OR_RETURN(Op * op, AppendOp(block_, type, operands, {{"Out", {out}}}, std::move(attrs), kRoleOptimize));
    owners_.emplace_back(op, owner);
    return out;
  }

  // The sum of squares, in f32 for a low gradient - except where a release keeps it low.
  absl::Status Measure(const VarGradient& entry) {
    const DType dtype = entry.gradient->type.dtype;
    const bool low = IsLowPrecision(dtype);
    Var* sum;
    if (style_ == OptimizerStyle::kPaddle20 || (style_ == OptimizerStyle::kPaddle24 && low)) {
      AMPC_ASSIGN_OR_RETURN(Var * square, Add("square", {{"X", {entry.gradient}}}, "square_0.tmp_0", {}, &entry));
      Var* one = NewTemp(block_, "reduce_sum_0.tmp_0");
      one->type = TensorType(dtype, {1});  // these releases have no rank 0
      std::vector<int32_t> dim;
      if (style_ == OptimizerStyle::kPaddle20) dim = {0};
      AMPC_ASSIGN_OR_RETURN(sum,
                            AddTo("reduce_sum", {{"X", {square}}}, one, {{"dim", dim}, {"reduce_all", true}, {"keep_dim", false}}, &entry));
    } else {
      std::vector<Attr> attrs;
      if (style_ == OptimizerStyle::kOwn && low) attrs = {{"out_dtype", DType::kF32}};
      AMPC_ASSIGN_OR_RETURN(sum, Add("squared_l2_norm", {{"X", {entry.gradient}}}, "squared_l2_norm_0.tmp_0", std::move(attrs), &entry));
    }
    sums_[sum->type.dtype].push_back(sum);
    return absl::OkStatus();
  }

  // norm / max(norm, the root of all sums), in f64 where a gradient is, else in f32.
  absl::StatusOr<Var*> Factor(const VarGradient* owner) {
    const DType wide = sums_.contains(DType::kF64) ? DType::kF64 : DType::kF32;
    std::vector<Var*> parts;
    for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
      const auto found = sums_.find(dtype);
      if (found == sums_.end()) continue;
      AMPC_ASSIGN_OR_RETURN(Var * part, Add("sum", {{"X", found->second}}, "sum_0.tmp_0", {}, owner));
      if (dtype != wide) {
        AMPC_ASSIGN_OR_RETURN(part, Add("cast", {{"X", {part}}}, "cast_0.tmp_0", {{"in_dtype", dtype}, {"out_dtype", wide}}, owner));
      }
      parts.push_back(part);
    }
    Var* total = parts[0];
    if (parts.size() > 1) {
      AMPC_ASSIGN_OR_RETURN(total, Add("sum", {{"X", parts}}, "sum_0.tmp_0", {}, owner));
    }
    AMPC_ASSIGN_OR_RETURN(total, Add("sqrt", {{"X", {total}}}, "sqrt_0.tmp_0", {}, owner));
    std::vector<Attr> fill = {{"shape", std::vector<int64_t>{1}}, {"value", static_cast<float>(norm_)}, {"dtype", wide}};
    AMPC_ASSIGN_OR_RETURN(Var * norm, Add("fill_constant", {}, "fill_constant_0.tmp_0", std::move(fill), owner));
    AMPC_ASSIGN_OR_RETURN(Var * most, Add("elementwise_max", {{"X", {norm}}, {"Y", {total}}}, "elementwise_max_0.tmp_0", {}, owner));
    return Add("elementwise_div", {{"X", {norm}}, {"Y", {most}}}, "elementwise_div_0.tmp_0", {}, owner);
  }

  absl::Status Shorten(VarGradient& entry, Var* factor) {
    const DType dtype = entry.gradient->type.dtype;
    if (factor->type.dtype != dtype) {
      Var*& cast = casts_[dtype];
      if (cast == nullptr || style_ != OptimizerStyle::kOwn) {  // the releases cast anew for each gradient
        AMPC_ASSIGN_OR_RETURN(
            cast, Add("cast", {{"X", {factor}}}, "cast_0.tmp_0", {{"in_dtype", factor->type.dtype}, {"out_dtype", dtype}}, &entry));
      }
      factor = cast;
    }
    const bool in_place = style_ == OptimizerStyle::kPaddle24 || style_ == OptimizerStyle::kPaddle26;
    Var* out = in_place                              ? NextVersion(block_, *entry.gradient)
               : style_ == OptimizerStyle::kPaddle20 ? NewTemp(block_, "elementwise_mul_0.tmp_0")
                                                     : NewTemp(block_, absl::StrCat(entry.gradient->name(), "@CLIP"));
    AMPC_ASSIGN_OR_RETURN(entry.gradient, AddTo("elementwise_mul", {{"X", {entry.gradient}}, {"Y", {factor}}}, out, {}, &entry));
    return absl::OkStatus();
  }

  Block& block_;
  double norm_;
  OptimizerStyle style_;
  std::map<DType, std::vector<Var*>> sums_;
  std::map<DType, Var*> casts_;
  std::vector<std::pair<Op*, const VarGradient*>> owners_;  // labelled at the end: a label names the gradient that came out
};

// Each gradient by itself: `clip` or `clip_by_norm`.
absl::Status ClipEach(Block& block, const GradientClip& clip, OptimizerStyle style, VarGradient& entry) {
  const bool by_value = clip.kind == GradientClip::Kind::kValue;
  std::vector<Attr> attrs;
  if (by_value) {
    attrs = {{"min", static_cast<float>(clip.low)}, {"max", static_cast<float>(clip.high)}};
  } else {
    attrs = {{"max_norm", static_cast<float>(clip.high)}};
  }
  Var* out = NewTemp(block, absl::StrCat(entry.gradient->name(), "@CLIP"));
  AMPC_ASSIGN_OR_RETURN(Op * op, AppendOp(block, by_value ? "clip" : "clip_by_norm", {{"X", {entry.gradient}}}, {{"Out", {out}}},
                                          std::move(attrs), kRoleOptimize));
  entry.gradient = out;
  Label(*op, style, entry, kScope);
  return absl::OkStatus();
}

absl::Status Check(const GradientClip& clip) {
  if (clip.kind == GradientClip::Kind::kValue) {
    if (std::isfinite(clip.low) && std::isfinite(clip.high) && clip.low <= clip.high) return absl::OkStatus();
    return UsageError(
        absl::StrCat("gradient clip: found values from ", clip.low, " to ", clip.high, ", needs finite ones in rising order"));
  }
  if (std::isfinite(clip.high) && clip.high > 0) return absl::OkStatus();
  return UsageError(absl::StrCat("gradient clip: found norm ", clip.high, ", needs a finite one above 0"));
}

}  // namespace

void Label(Op& op, OptimizerStyle style, const VarGradient& owner, absl::string_view scope) {
  if (style == OptimizerStyle::kOwn) return;
  op.SetAttr("op_role_var", std::vector<std::string>{owner.var->exported(), owner.gradient->exported()});
  op.SetAttr("op_namescope", std::string(scope));
}

absl::Status ClipGradients(Program& main, const GradientClip& clip, OptimizerStyle style, std::vector<VarGradient>& gradients) {
  if (clip.kind == GradientClip::Kind::kNone) return absl::OkStatus();
  AMPC_RETURN_IF_ERROR(Check(clip));
  const std::set<std::string> except(clip.except.begin(), clip.except.end());
  std::vector<VarGradient*> clipped;
  for (VarGradient& entry : gradients) {
    if (!except.contains(entry.var->name())) clipped.push_back(&entry);
  }
  if (clip.kind == GradientClip::Kind::kGlobalNorm) return GlobalNorm(main, clip.high, style).Run(std::move(clipped));
  for (VarGradient* entry : clipped) AMPC_RETURN_IF_ERROR(ClipEach(main.main(), clip, style, *entry));
  return absl::OkStatus();
}

}  // namespace ampc
