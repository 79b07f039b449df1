#include "passes/fusion/fuse_quantized.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/op_registry.h"
#include "passes/fusion/constant_value.h"
#include "passes/fusion/conv.h"
#include "passes/fusion/pattern.h"
#include "passes/fusion/rewrite.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

// The integers that an operand of a product is dequantised from.
struct Integers {
  Var* x = nullptr;  // null: it is not
  Var* scale = nullptr;
  Var* zero_point = nullptr;
  int64_t axis = -1;  // of several scales
};

struct Chain {
  Integers x, w;
  Var* bias = nullptr;
  std::string activation;  // "": none
  float most = 0;          // of relu6
  const Op* quantize = nullptr;
  std::vector<const Op*> merged;  // behind the product, in order
};

class QuantizedFuser {
 public:
  explicit QuantizedFuser(Program& program)
      : program_(program), rewrite_(program), matmul_(Ops().Find("quantized_matmul")), conv_(Ops().Find("quantized_conv2d")) {}

  bool Run() {
    const bool changed = rewrite_.Run([this](Op& op) {
      Chain chain;
      if (!Match(op, &chain)) return false;
      Fuse(op, chain);
      return true;
    });
    if (changed) RemoveUnusedVars(program_);
    return changed;
  }

 private:
  bool Match(const Op& op, Chain* chain) const {
    if (op.type() == "quantized_matmul") return MatchSums(op, chain);
    const bool conv = IsImageConv(op), product = op.type() == "matmul_v2";
    if ((!conv && !product) || op.outputs().size() != 1 || op.outputs()[0]->type.dtype != DType::kF32) return false;
    chain->x = IntegersOf(*op.inputs()[0], op);
    chain->w = IntegersOf(*op.inputs()[1], op);
    if (chain->x.x == nullptr || chain->w.x == nullptr || !OneNumber(chain->x.scale)) return false;
    if (conv ? !TakesConv(op, chain) : !TakesProduct(op, *chain)) return false;
    Follow(op, chain);
    return true;
  }

  // Sums of products that are made fp32 and scaled: by one number, or by one for each column.
  bool MatchSums(const Op& op, Chain* chain) const {
    if (op.input("XScale") != nullptr) return false;
    const Op* cast = rewrite_.OnlyReader(*op.outputs()[0]);
    if (cast == nullptr || cast->type() != "cast" || cast->outputs()[0]->type.dtype != DType::kF32) return false;
    const Var& sums = *cast->outputs()[0];
    const Op* scale = rewrite_.OnlyReader(sums);
    if (scale == nullptr || scale->type() != "elementwise_mul" || scale->GetInt("axis", -1) != -1) return false;
    Var* by = scale->inputs()[0] == &sums ? scale->inputs()[1] : scale->inputs()[0];
    if (by == &sums || !Stable(*by) || by->type.dtype != DType::kF32 || !(OneNumber(by) || ForColumns(*by, sums))) return false;
    chain->x = {op.input("X"), nullptr, op.input("XZeroPoint")};
    chain->w = {op.input("Y"), by, op.input("YZeroPoint")};
    chain->merged = {cast, scale};
    Follow(op, chain);
    return true;
  }

  Integers IntegersOf(const Var& var, const Op& reader) const {
    const Op* op = var.kind == VarKind::kTemp ? uses_.producer(var) : nullptr;
    if (op == nullptr || op->type() != "affine_dequantize" || &op->block() != &reader.block()) return {};
    const Integers found{op->input("X"), op->input("Scale"), op->input("ZeroPoint"), op->GetInt("axis")};
    const DType dtype = found.x->type.dtype;
    if (dtype != DType::kU8 && dtype != DType::kI8) return {};
    for (const Var* v : {found.x, found.scale, found.zero_point}) {
      if (v != nullptr && !Stable(*v)) return {};
    }
    return found;
  }

  // The same value wherever the op stands.
  bool Stable(const Var& var) const { return var.kind == VarKind::kTemp || uses_.num_writers(var) == 0; }
  bool Constant(const Var* var) const {
    return var == nullptr || ((var->kind == VarKind::kConst || var->kind == VarKind::kParam) && uses_.num_writers(*var) == 0);
  }
  static bool OneNumber(const Var* var) { return var == nullptr || (var->type.IsStatic() && var->type.NumElements() == 1); }
  bool ConstantNumber(const Var* var) const { return Constant(var) && OneNumber(var); }

  // The kernel reads everything but the operand itself when it is planned.
  bool TakesConv(const Op& op, Chain* chain) const {
    if (op.input("ResidualData") != nullptr || HasActivation(op) || op.GetString("data_format") == "NHWC") return false;
    if (!ConstantNumber(chain->x.scale) || !ConstantNumber(chain->x.zero_point) || !Constant(chain->w.x) || !Constant(chain->w.scale))
      return false;
    if (!Constant(chain->w.zero_point) || !(OneNumber(chain->w.scale) || chain->w.axis == 0)) return false;
    Var* bias = op.input("Bias");
    if (bias != nullptr && !ConstantSource(*bias)) return false;
    chain->bias = bias;
    return true;
  }

  // A constant, or what a constant stands for.
  bool ConstantSource(const Var& var) const {
    if (Constant(&var)) return true;
    const Op* op = var.kind == VarKind::kTemp ? uses_.producer(var) : nullptr;
    return op != nullptr && op->type() == "affine_dequantize" &&
           std::all_of(op->inputs().begin(), op->inputs().end(), [this](const Var* v) { return Constant(v); });
  }

  static bool TakesProduct(const Op& op, const Chain& chain) {
    if (op.GetBool("trans_x") || !op.input("X")->type.has_rank || !op.input("Y")->type.has_rank) return false;
    const int x = op.input("X")->type.rank(), y = op.input("Y")->type.rank();
    if (x < 2 || y < 2 || op.GetFloat("alpha", 1) != 1 || !OneNumber(chain.x.zero_point)) return false;
    const int64_t columns = op.GetBool("trans_y") ? y - 2 : y - 1;
    return (OneNumber(chain.w.scale) && OneNumber(chain.w.zero_point)) || chain.w.axis == columns;
  }

  // Takes in what reads the product alone.
  void Follow(const Op& op, Chain* chain) const {
    const Var* y = chain->merged.empty() ? op.outputs()[0] : chain->merged.back()->outputs()[0];
    for (const Op* next = rewrite_.OnlyReader(*y); next != nullptr && next->outputs().size() == 1; next = rewrite_.OnlyReader(*y)) {
      if (next->type() == "affine_quantize") {
        if (!Quantizes(op, *next)) return;
        chain->quantize = next;
        chain->merged.push_back(next);
        return;
      }
      if (next->outputs()[0]->type.dtype != DType::kF32 || !(TakeBias(op, *next, *y, chain) || TakeActivation(*next, chain))) return;
      chain->merged.push_back(next);
      y = next->outputs()[0];
    }
  }

  bool Quantizes(const Op& op, const Op& next) const {
    const DType to = next.outputs()[0]->type.dtype;
    Var *scale = next.input("Scale"), *zero_point = next.input("ZeroPoint");
    if ((to != DType::kU8 && to != DType::kI8) || !OneNumber(scale) || !OneNumber(zero_point)) return false;
    return IsImageConv(op) ? Constant(scale) && Constant(zero_point) : Stable(*scale) && (zero_point == nullptr || Stable(*zero_point));
  }

  // A sum with one number for each column.
  bool TakeBias(const Op& op, const Op& next, const Var& y, Chain* chain) const {
    if (IsImageConv(op) || next.type() != "elementwise_add" || chain->bias != nullptr || !chain->activation.empty() ||
        next.GetInt("axis", -1) != -1)
      return false;
    Var* other = next.inputs()[0] == &y ? next.inputs()[1] : next.inputs()[0];
    if (other == &y || !Stable(*other) || !ForColumns(*other, y) || other->type.dtype != DType::kF32) return false;
    chain->bias = other;
    return true;
  }

  // One number for each column of `y`.
  static bool ForColumns(const Var& var, const Var& y) {
    if (!var.type.IsStatic() || !y.type.has_rank || var.type.rank() == 0 || var.type.rank() > y.type.rank()) return false;
    return var.type.NumElements() == var.type.dims.back() && var.type.dims.back() == y.type.dims.back();
  }

  static bool TakeActivation(const Op& next, Chain* chain) {
    if (!chain->activation.empty()) return false;
    const std::string& type = next.type();
    if (type == "relu") {
      chain->activation = "relu";
    } else if (type == "relu6") {
      chain->activation = "relu6";
      chain->most = static_cast<float>(next.GetFloat("threshold", 6));
    } else if (type == "clip") {
      const std::optional<Pattern::Ends> ends = Pattern::ClipEnds(next);
      if (!ends.has_value() || ends->low != 0 || !(ends->high > 0)) return false;
      chain->activation = ends->high < 3e38 ? "relu6" : "relu";
      chain->most = static_cast<float>(ends->high);
    } else {
      return false;
    }
    return true;
  }

  void Fuse(Op& op, Chain chain) {
    const bool conv = IsImageConv(op);
    if (chain.x.scale == nullptr) chain.x.scale = AddConstant(op.block(), "one", HostTensor::FromValues<float>({}, {1.0f}));
    std::unique_ptr<Op> fused = Rewrite::NewOp(conv ? conv_ : matmul_, op);
    const auto set = [&](const std::string& slot, Var* var) {
      if (var != nullptr) fused->SetInputs(fused->def().InputSlot(slot), {&var, 1});
    };
    const std::string x = conv ? "Input" : "X", w = conv ? "Filter" : "Y";
    for (const auto& [name, from] : {std::pair(x, &chain.x), std::pair(w, &chain.w)}) {
      set(name, from->x);
      set(name + "Scale", from->scale);
      set(name + "ZeroPoint", from->zero_point);
    }
    set("Bias", chain.bias);
    if (chain.quantize != nullptr) {
      set("OutScale", chain.quantize->input("Scale"));
      set("OutZeroPoint", chain.quantize->input("ZeroPoint"));
      fused->SetAttr("out_dtype", chain.quantize->outputs()[0]->type.dtype);
    }
    for (const char* attr : {"strides", "paddings", "padding_algorithm", "groups", "dilations", "trans_y"}) {
      if (fused->def().FindAttr(attr) != nullptr && op.explicit_attr(attr) != nullptr) fused->SetAttr(attr, *op.explicit_attr(attr));
    }
    if (!chain.activation.empty()) fused->SetAttr("fuse_activation", chain.activation);
    if (chain.activation == "relu6") fused->SetAttr("fuse_alpha", chain.most);
    const Op& last = chain.merged.empty() ? op : *chain.merged.back();
    fused->SetOutputs(0, last.outputs());
    for (const Op* merged : chain.merged) rewrite_.Drop(*merged);
    if (&last != &op) rewrite_.Drop(op);
    rewrite_.Replace(last, std::move(fused));
  }

  Program& program_;
  Rewrite rewrite_;
  const UseDef& uses_ = rewrite_.uses();
  const OpDef* matmul_;
  const OpDef* conv_;
};

}  // namespace

PassInfo FuseQuantizedPass() {
  return SimplePass("fuse-quantized", "makes products of dequantised operands products of integers",
                    [](PassContext&, Program& program) -> absl::StatusOr<bool> { return QuantizedFuser(program).Run(); });
}

}  // namespace ampc
