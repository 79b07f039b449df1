#include "passes/fusion/conv_transpose_product.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/op_registry.h"
#include "graph/ops/window.h"
#include "passes/fusion/constant_value.h"
#include "passes/fusion/conv.h"
#include "passes/fusion/rewrite.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;

class ProductMaker {
 public:
  explicit ProductMaker(Program& program) : program_(program), rewrite_(program) {}

  bool Run() {
    for (const char* type : {"matmul_v2", "transpose2", "reshape2", "elementwise_add"}) {
      if (Ops().Find(type) == nullptr) return false;
    }
    const bool changed = rewrite_.Run([this](const Op& op) { return op.type() == "conv2d_transpose" && Fits(op) && Replace(op); });
    if (changed) RemoveUnusedVars(program_);
    return changed;
  }

 private:
  bool Fits(const Op& op) const {
    const TensorType &x = op.input("Input")->type, &w = op.input("Filter")->type, &y = op.output("Output")->type;
    if (x.rank() != 4 || y.rank() != 4 || !w.IsStatic() || w.rank() != 4 || !IsFusedType(x.dtype) || w.dtype != x.dtype) return false;
    if (HasActivation(op) || op.GetInt("groups", 1) != 1 || op.GetString("data_format") == "NHWC") return false;
    if (!op.GetInts("output_padding").empty() || !op.GetInts("output_size").empty() || op.GetString("padding_algorithm") == "SAME")
      return false;
    const absl::StatusOr<ops::Windows> windows = ops::ReadWindows(op, {kUnknownDim, kUnknownDim}, {w.dims[2], w.dims[3]});
    if (!windows.ok() || w.dims[2] * w.dims[3] < 2) return false;
    for (const ops::Window& window : *windows) {
      if (window.kernel != window.stride || window.dilation != 1 || window.before != 0 || window.after != 0) return false;
    }
    const Var* bias = op.input("Bias");
    if (uses_.num_writers(*op.input("Filter")) > 0 || (bias != nullptr && uses_.num_writers(*bias) > 0)) return false;
    return IsKnown(y.dims[1]) && (IsKnown(x.dims[2]) || IsKnown(x.dims[3]));
  }

  // [in, out, kh, kw] as [in, kh * kw * out].
  static Floats Transposed(const Floats& w, const Dims& dims) {
    Floats product(w.size());
    const int64_t out = dims[1], window = dims[2] * dims[3];
    for (int64_t i = 0; i < dims[0]; ++i) {
      for (int64_t o = 0; o < out; ++o) {
        for (int64_t k = 0; k < window; ++k) product[(i * window + k) * out + o] = w[(i * out + o) * window + k];
      }
    }
    return product;
  }

  bool Replace(const Op& op) {
    Var *x = op.input("Input"), *filter = op.input("Filter"), *y = op.output("Output");
    const std::optional<Floats> w = ConstantFloats(*filter);
    const std::optional<Floats> bias = op.input("Bias") == nullptr ? Floats() : ConstantFloats(*op.input("Bias"));
    if (!w.has_value() || !bias.has_value()) return false;
    const Dims in = x->type.dims, f = filter->type.dims, out = y->type.dims;
    const int64_t all = f[1] * f[2] * f[3];
    const DType dtype = x->type.dtype;
    Var* weight = AddConstant(op.block(), absl::StrCat(filter->name(), ".product"), MakeConstant(dtype, {f[0], all}, Transposed(*w, f)));
    Var* value = Add(op, "transpose2", {x}, "axis", {0, 2, 3, 1}, {in[0], in[2], in[3], in[1]});
    value = Add(op, "matmul_v2", {value, weight}, nullptr, {}, {in[0], in[2], in[3], all});
    if (!bias->empty()) {
      Floats repeated;
      for (int64_t k = 0; k < f[2] * f[3]; ++k) repeated.insert(repeated.end(), bias->begin(), bias->end());
      Var* sum = AddConstant(op.block(), absl::StrCat(y->name(), ".bias"), MakeConstant(dtype, {all}, repeated));
      value = Add(op, "elementwise_add", {value, sum}, nullptr, {}, value->type.dims);
    }
    const auto size = [](int64_t d) { return static_cast<int32_t>(d); };
    value = Add(op, "reshape2", {value}, "shape", {0, 0, 0, size(f[2]), size(f[3]), size(f[1])}, {in[0], in[2], in[3], f[2], f[3], f[1]});
    value = Add(op, "transpose2", {value}, "axis", {0, 1, 3, 2, 4, 5}, {in[0], in[2], f[2], in[3], f[3], f[1]});
    const auto known = [&](int64_t d) { return IsKnown(d) ? size(d) : -1; };
    value = Add(op, "reshape2", {value}, "shape", {0, known(out[2]), known(out[3]), size(f[1])}, {in[0], out[2], out[3], f[1]});
    rewrite_.Replace(op, Make(op, "transpose2", {value}, "axis", {0, 3, 1, 2}, y));
    return true;
  }

  // An op in front of `op`; its result.
  Var* Add(const Op& op, const char* type, std::vector<Var*> operands, const char* attr, Ints ints, Dims dims) {
    Var* result =
        Rewrite::NewTemp(op.block(), absl::StrCat(op.output("Output")->name(), ".product"), op.input("Input")->type.dtype, std::move(dims));
    rewrite_.InsertBefore(op, Make(op, type, operands, attr, std::move(ints), result));
    return result;
  }

  static std::unique_ptr<Op> Make(const Op& like, const char* type, const std::vector<Var*>& operands, const char* attr, Ints ints,
                                  Var* result) {
    const OpDef* def = Ops().Find(type);
    std::unique_ptr<Op> op = Rewrite::NewOp(def, like);
    const char* const slots[] = {"X", "Y"};
    for (size_t i = 0; i < operands.size(); ++i) op->SetInputs(def->InputSlot(slots[i]), {&operands[i], 1});
    op->SetOutputs(def->OutputSlot("Out"), {&result, 1});
    if (attr != nullptr) op->SetAttr(attr, std::move(ints));
    return op;
  }

  Program& program_;
  Rewrite rewrite_;
  const UseDef& uses_ = rewrite_.uses();
};

}  // namespace

PassInfo ConvTransposeToProductPass() {
  return SimplePass("conv-transpose-to-product", "makes transposed convolutions whose windows lie side by side matrix products",
                    [](PassContext&, Program& program) -> absl::StatusOr<bool> { return ProductMaker(program).Run(); });
}

}  // namespace ampc
