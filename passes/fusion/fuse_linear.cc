#include "passes/fusion/fuse_linear.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/infer_context.h"
#include "graph/op_registry.h"
#include "graph/ops/fused_moves.h"
#include "passes/analysis/use_def.h"
#include "passes/analysis/versions.h"
#include "passes/fusion/constant_value.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

// A layer and its gradient as they were written.
struct Layer {
  Op *product = nullptr, *add = nullptr, *act = nullptr;  // act: null for none
  Op *add_grad = nullptr, *product_grad = nullptr;        // both or none
  Op* front_grad = nullptr;                               // the gradient of the activation that made X
  Layer* front = nullptr;                                 // the layer that has it
  Var* reserve = nullptr;                                 // what `act` keeps

  Var* result() const { return (act != nullptr ? act : add)->outputs()[0]; }
};

bool IsProduct(const Op& op) { return op.type() == "mul" || op.type() == "matmul_v2"; }

// A matrix on the right, and rows of x as they lie.
bool IsLinear(const Op& op) {
  const TensorType &x = op.input("X")->type, &w = op.input("Y")->type;
  if (!x.has_rank || x.rank() < 2 || w.rank() != 2) return false;
  if (op.type() == "mul") return op.GetInt("x_num_col_dims", 1) == x.rank() - 1 && op.GetInt("y_num_col_dims", 1) == 1;
  return !ops::HasFusedMoves(op) && !op.GetBool("trans_x");
}

bool IsGelu(const Op& op) { return op.type() == "gelu" && op.GetBool("approximate"); }

class LinearFuser {
 public:
  explicit LinearFuser(Program& program)
      : program_(program), uses_(program), forward_(Ops().Find("fused_gemm_epilogue")), backward_(Ops().Find("fused_gemm_epilogue_grad")) {}

  absl::StatusOr<bool> Run() {
    ReadVersions();
    for (const std::unique_ptr<Op>& op : program_.main().ops()) {
      if (op->type() == "elementwise_add") Match(*op);
    }
    if (layers_.empty()) return false;
    for (const std::unique_ptr<Layer>& layer : layers_) JoinFront(*layer);
    AMPC_RETURN_IF_ERROR(Rewrite());
    RemoveUnusedVars(program_);
    return true;
  }

 private:
  // How often the factors of a product or its gradient have been overwritten where the op stands, and where the fused op will stand.
  void ReadVersions() {
    Versions versions(program_);
    const auto sum = [&versions](const Op* product) {
      return product == nullptr ? 0 : versions.Of(*product->input("X")) + versions.Of(*product->input("Y"));
    };
    for (const std::unique_ptr<Op>& op : program_.main().ops()) {
      if (IsProduct(*op) || IsProductGradient(*op)) versions_[op.get()] = sum(op.get());
      if (op->type() == "elementwise_add") versions_[op.get()] = sum(ProductOf(*op));
      if (op->type() == "elementwise_add_grad") versions_[op.get()] = sum(ProductGradientOf(*op));
      versions.After(*op);
    }
  }

  static bool IsProductGradient(const Op& op) { return op.type() == "mul_grad" || op.type() == "matmul_v2_grad"; }

  Op* ProductOf(const Op& add) const {
    Op* op = uses_.producer(*add.input("X"));
    return op != nullptr && IsProduct(*op) ? op : nullptr;
  }

  // The op that alone reads the gradient of the addition's first operand.
  Op* ProductGradientOf(const Op& add_grad) const {
    const Var* gradient = add_grad.output("X@GRAD");
    if (gradient == nullptr || !IsTemp(*gradient) || !uses_.single_use(*gradient)) return nullptr;
    Op* op = uses_.uses(*gradient)[0].op;
    return IsProductGradient(*op) && op->input("Out@GRAD") == gradient ? op : nullptr;
  }

  bool IsTemp(const Var& var) const { return var.kind == VarKind::kTemp && &var.block() == &program_.main(); }
  bool InMain(const Op& op) const { return &op.block() == &program_.main(); }

  // Both are ops of the main block, between which nothing overwrites the factors.
  bool MayMove(const Op& product, const Op& to) const {
    return InMain(product) && InMain(to) && versions_.at(&product) == versions_.at(&to);
  }

  void Match(Op& add) {
    auto layer = std::make_unique<Layer>();
    layer->add = &add;
    layer->product = ProductOf(add);
    if (layer->product == nullptr || !MayMove(*layer->product, add) || !IsLinear(*layer->product) || !IsBias(*layer)) return;
    if (!MatchReaders(*layer)) return;
    MatchActivation(*layer);
    by_result_[layer->result()] = layer.get();
    layers_.push_back(std::move(layer));
  }

  bool IsBias(const Layer& layer) const {
    const Var &y = *layer.add->input("X"), &b = *layer.add->input("Y"), &w = *layer.product->input("Y");
    const DType type = y.type.dtype;
    if (!IsFusedType(type)) return false;
    if (w.type.dtype != type || layer.product->input("X")->type.dtype != type || b.type.dtype != type) return false;
    if (layer.add->outputs()[0]->type.dtype != type || !IsTemp(*layer.add->outputs()[0])) return false;
    const int64_t columns = w.type.dims[layer.product->GetBool("trans_y") ? 0 : 1];
    const int64_t axis = layer.add->GetInt("axis", -1);
    return b.type.rank() == 1 && IsKnown(columns) && b.type.dims[0] == columns && (axis == -1 || axis == y.type.rank() - 1);
  }

  // The readers of the product: the addition, and its gradient where that goes into the layer's.
  bool MatchReaders(Layer& layer) const {
    const Var& y = *layer.add->input("X");
    if (!IsTemp(y) || uses_.fetched(y) || uses_.uses(y).size() > 2) return false;
    for (const Use& use : uses_.uses(y)) {
      if (use.op == layer.add) continue;
      layer.add_grad = use.op;
    }
    if (layer.add_grad == nullptr) return uses_.single_use(y);
    const Op& grad = *layer.add_grad;
    if (grad.type() != "elementwise_add_grad" || grad.input("X") != &y || grad.input("Y") != layer.add->input("Y")) return false;
    if (grad.GetInt("axis", -1) != layer.add->GetInt("axis", -1) || grad.input("Out@GRAD")->type.dtype != y.type.dtype) return false;
    const Var* bias = grad.output("Y@GRAD");
    if (bias != nullptr && bias->type.dtype != y.type.dtype) return false;
    layer.product_grad = ProductGradientOf(grad);
    return layer.product_grad != nullptr && MatchesProduct(layer) && MayMove(*layer.product_grad, grad);
  }

  static bool MatchesProduct(const Layer& layer) {
    const Op &product = *layer.product, &grad = *layer.product_grad;
    if (grad.type() != absl::StrCat(product.type(), "_grad")) return false;
    for (const char* slot : {"X", "Y"}) {
      if (grad.input(slot) != product.input(slot)) return false;
    }
    for (const char* attr : {"trans_x", "trans_y"}) {
      if (grad.GetBool(attr) != product.GetBool(attr)) return false;
    }
    for (const char* attr : {"x_num_col_dims", "y_num_col_dims"}) {
      if (grad.GetInt(attr, 1) != product.GetInt(attr, 1)) return false;
    }
    return true;
  }

  void MatchActivation(Layer& layer) const {
    const Var& z = *layer.add->outputs()[0];
    if (uses_.fetched(z)) return;
    for (const Use& use : uses_.uses(z)) {
      const Op& op = *use.op;
      const bool relu = op.type() == "relu" && uses_.uses(z).size() == 1;
      if (!relu && !IsGelu(op)) continue;
      const Var& result = *op.outputs()[0];
      if (InMain(op) && IsTemp(result) && result.type.dtype == z.type.dtype) layer.act = use.op;
      break;
    }
    if (layer.act != nullptr && IsGelu(*layer.act) && uses_.uses(z).size() > 1) layer.reserve = layer.add->outputs()[0];
  }

  // The gradient of the activation in front goes into DX.
  void JoinFront(Layer& layer) {
    const Var* dx = layer.product_grad == nullptr ? nullptr : layer.product_grad->output("X@GRAD");
    const auto front = by_result_.find(layer.product->input("X"));
    if (dx == nullptr || front == by_result_.end() || front->second->act == nullptr) return;
    if (!IsTemp(*dx) || !uses_.single_use(*dx)) return;
    const Layer& made = *front->second;
    Op& grad = *uses_.uses(*dx)[0].op;
    const bool gelu = IsGelu(*made.act);
    if (!InMain(grad) || grad.type() != absl::StrCat(made.act->type(), "_grad") || grad.input("Out@GRAD") != dx) return;
    if (gelu ? grad.input("X") != made.add->outputs()[0] || !grad.GetBool("approximate") : grad.input("Out") != made.result()) return;
    const Var* du = grad.output("X@GRAD");
    if (du == nullptr || !IsTemp(*du) || du->type.dtype != dx->type.dtype) return;
    layer.front_grad = &grad;
    layer.front = front->second;
    if (layer.front->reserve == nullptr) layer.front->reserve = NewMask(made.result()->name());
  }

  Var* NewMask(const std::string& of) {
    Block& main = program_.main();
    return main.AddVar(main.UniqueName(absl::StrCat(of, ".mask")), VarKind::kTemp, TensorType());
  }

  absl::Status Rewrite() {
    absl::flat_hash_map<const Op*, const Layer*> forward, backward;
    absl::flat_hash_map<const Op*, bool> gone;
    for (const std::unique_ptr<Layer>& layer : layers_) {
      forward[layer->add] = layer.get();
      if (layer->add_grad != nullptr) backward[layer->add_grad] = layer.get();
      for (const Op* op : {layer->product, layer->act, layer->product_grad, layer->front_grad}) gone[op] = true;
    }
    std::vector<std::unique_ptr<Op>> ops = program_.main().TakeOps();
    absl::Status status;
    for (std::unique_ptr<Op>& op : ops) {
      const auto f = forward.find(op.get()), b = backward.find(op.get());
      if (f == forward.end() && b == backward.end() && !gone.contains(op.get())) continue;
      graveyard_.push_back(std::move(op));
      if (f != forward.end()) op = Forward(*f->second);
      if (b != backward.end()) op = Backward(*b->second);
      if (op != nullptr) status.Update(SetTypes(*op));
    }
    std::erase(ops, nullptr);
    program_.main().SetOps(std::move(ops));
    return status;
  }

  static void Set(Op& op, const char* slot, Var* var) {
    if (var == nullptr) return;
    const int in = op.def().InputSlot(slot);
    in >= 0 ? op.SetInputs(in, {&var, 1}) : op.SetOutputs(op.def().OutputSlot(slot), {&var, 1});
  }

  std::unique_ptr<Op> NewOp(const OpDef* def, const Layer& layer, const Op& in_place_of) const {
    std::unique_ptr<Op> op = program_.main().NewOp(def);
    if (layer.product->GetBool("trans_y")) op->SetAttr("trans_y", true);
    if (const AttrValue* role = in_place_of.explicit_attr("op_role")) op->SetAttr("op_role", *role);
    op->marks = in_place_of.marks;
    op->line = in_place_of.line;
    op->lowered_from = in_place_of.lowered_from;
    return op;
  }

  std::unique_ptr<Op> Forward(const Layer& layer) const {
    std::unique_ptr<Op> op = NewOp(forward_, layer, *layer.add);
    Set(*op, "X", layer.product->input("X"));
    Set(*op, "Y", layer.product->input("Y"));
    Set(*op, "Bias", layer.add->input("Y"));
    Set(*op, "Out", layer.result());
    Set(*op, "ReserveSpace", layer.reserve);
    if (layer.act != nullptr) op->SetAttr("activation", layer.act->type());
    return op;
  }

  std::unique_ptr<Op> Backward(const Layer& layer) const {
    std::unique_ptr<Op> op = NewOp(backward_, layer, *layer.add_grad);
    Set(*op, "DOut", layer.add_grad->input("Out@GRAD"));
    Set(*op, "X", layer.product->input("X"));
    Set(*op, "Y", layer.product->input("Y"));
    Set(*op, "DX", (layer.front_grad != nullptr ? layer.front_grad : layer.product_grad)->output("X@GRAD"));
    Set(*op, "DY", layer.product_grad->output("Y@GRAD"));
    Set(*op, "DBias", layer.add_grad->output("Y@GRAD"));
    if (layer.front_grad == nullptr) return op;
    Set(*op, "ReserveSpace", layer.front->reserve);
    op->SetAttr("activation_grad", layer.front_grad->type());
    return op;
  }

  // A mask has its type by inference; the others keep theirs.
  static absl::Status SetTypes(const Op& op) {
    AMPC_ASSIGN_OR_RETURN(const std::vector<std::optional<TensorType>> types, InferOp(op, TypeEnv()));
    for (size_t i = 0; i < types.size(); ++i) {
      Var* var = op.outputs()[i];
      if (var->type.dtype == DType::kInvalid && types[i].has_value()) var->type = *types[i];
    }
    return absl::OkStatus();
  }

  Program& program_;
  const UseDef uses_;
  const OpDef *forward_, *backward_;
  absl::flat_hash_map<const Op*, int> versions_;
  std::vector<std::unique_ptr<Layer>> layers_;
  absl::flat_hash_map<const Var*, Layer*> by_result_;
  std::vector<std::unique_ptr<Op>> graveyard_;  // layers still point at them
};

}  // namespace

PassInfo FuseLinearPass() {
  return SimplePass("fuse-linear", "makes one op of a linear layer of a training program, and one of its gradient",
                    [](PassContext&, Program& program) -> absl::StatusOr<bool> { return LinearFuser(program).Run(); });
}

}  // namespace ampc
