#include "passes/onnx/lower_loop.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/scan_axes.h"
#include "graph/ops/onnx/subgraph.h"
#include "passes/onnx/emit.h"

namespace ampc::onnx {
namespace {

// One value, of rank 1 where `like` is, else of rank 0.
template <typename T>
HostTensor One(const TensorType& like, T value) {
  const int64_t dims[] = {1};
  return HostTensor::FromValues<T>(absl::MakeConstSpan(dims, like.has_rank && like.rank() == 1 ? 1 : 0), absl::MakeConstSpan(&value, 1));
}

// A while in the making: its carries, and the ops of its body, which are taken out while those around them are made.
class LoopMaker {
 public:
  LoopMaker(const Op& op, const Subgraph& body, Block& block)
      : op_(op), graph_(body), outer_(block), inner_(*body.block), block_(block), ops_(body.block->TakeOps()) {
    yield_ = std::move(ops_.back());
    ops_.pop_back();
    if (!ops_.empty() && ops_.front()->type() == kEnter) {
      enter_ = std::move(ops_.front());
      ops_.erase(ops_.begin());
    }
  }

  Emit& outer() { return outer_; }
  Emit& inner() { return inner_; }
  Var* entry(size_t i) const { return graph_.inputs[i]; }
  Var* output(size_t i) const { return graph_.outputs[i]; }

  // A carry that begins as `initial`.
  Var* Carry(absl::string_view base, TensorType type, Var* initial) {
    Var* carry = outer_.Carry(base, std::move(type));
    outer_.Into(carry, "assign", {{"X", {initial}}});
    carries_.push_back(carry);
    return carry;
  }
  // The iteration number, from 0, in the rank that the body expects.
  Var* Counter(const TensorType& like) {
    Var* const zero = outer_.Const("zero", One<int64_t>(like, 0));
    counter_ = Carry("iteration", zero->type, zero);
    return counter_;
  }
  // The values that the body reads of the block around it besides those that the op captures.
  void Reads(Var* var) { reads_.push_back(var); }

  // After what the body begins with: its own ops.
  void AppendBody() {
    for (std::unique_ptr<Op>& op : ops_) graph_.block->Append(std::move(op));
  }
  // `value` becomes an element of an array.
  Var* Collect(Var* value, Var* index) {
    Var* array = outer_.Array(absl::StrCat(value->name(), ".elements"), value->type);
    inner_.Into(array, "write_to_array", {{"X", {value}}, {"I", {index}}});
    return array;
  }
  void CountUp() { inner_.Into(counter_, "increment", {{"X", {counter_}}}, {{"step", 1.0f}}); }

  // The while itself, which runs as long as `more`, a carry, is true.
  absl::Status Finish(Var* more) {
    AMPC_RETURN_IF_ERROR(outer_.status());
    AMPC_RETURN_IF_ERROR(inner_.status());
    const absl::Span<Var* const> captures = op_.inputs(op_.def().InputSlot(kCaptures));
    reads_.insert(reads_.end(), captures.begin(), captures.end());
    return AppendOp(block_, "while", {{"X", reads_}, {"Condition", {more}}}, {{"Out", carries_}},
                    {{"sub_block", BlockRef{graph_.block->index()}}}, kRoleForward)
        .status();
  }

 private:
  const Op& op_;
  const Subgraph graph_;
  Emit outer_, inner_;
  Block& block_;
  std::vector<std::unique_ptr<Op>> ops_;
  std::unique_ptr<Op> enter_, yield_;
  std::vector<Var*> carries_, reads_;
  Var* counter_ = nullptr;
};

}  // namespace

absl::Status LowerLoop(const Op& op, Block& block) {
  AMPC_ASSIGN_OR_RETURN(const Subgraph body, SubgraphOf(op, "body"));
  LoopMaker loop(op, body, block);
  Var* const limit = op.input("M");
  Var* const condition = op.input("cond");
  const absl::Span<Var* const> initial = op.inputs(op.def().InputSlot("v_initial"));
  Var* const counter = loop.Counter(loop.entry(0)->type);
  Var* first = condition;
  if (limit != nullptr) {
    first = loop.outer().Temp("more", "less_than", {{"X", {counter}}, {"Y", {limit}}});
    if (condition != nullptr) first = loop.outer().Temp("more", "logical_and", {{"X", {condition}}, {"Y", {first}}});
    loop.Reads(limit);
  }
  if (first == nullptr) first = loop.outer().Const("more", HostTensor::Of<bool>({}, {true}));
  Var* const more = loop.Carry("more", TensorType::Unranked(DType::kBool), first);
  std::vector<Var*> states;
  for (size_t i = 0; i < initial.size(); ++i) states.push_back(loop.Carry(loop.entry(i + 2)->name(), loop.entry(i + 2)->type, initial[i]));

  loop.inner().Into(loop.entry(0), "assign", {{"X", {counter}}});
  // An iteration begins only where it is true.
  Var* const running = loop.entry(1);
  running->kind = VarKind::kConst;
  running->literal = std::make_shared<const HostTensor>(One<bool>(running->type, true));
  running->type = TensorType(DType::kBool, Dims(running->literal->dims().begin(), running->literal->dims().end()));
  for (size_t i = 0; i < states.size(); ++i) loop.inner().Into(loop.entry(i + 2), "assign", {{"X", {states[i]}}});
  loop.AppendBody();
  std::vector<Var*> arrays;
  for (size_t i = states.size(); i < op.outputs().size(); ++i) arrays.push_back(loop.Collect(loop.output(i + 1), loop.entry(0)));
  for (size_t i = 0; i < states.size(); ++i) loop.inner().Into(states[i], "assign", {{"X", {loop.output(i + 1)}}});
  loop.CountUp();
  Var* next = loop.output(0);
  if (limit != nullptr) {
    Var* const below = loop.inner().Temp("more", "less_than", {{"X", {counter}}, {"Y", {limit}}});
    next = loop.inner().Temp("more", "logical_and", {{"X", {next}}, {"Y", {below}}});
  }
  loop.inner().Into(more, "assign", {{"X", {next}}});
  AMPC_RETURN_IF_ERROR(loop.Finish(more));
  for (size_t i = 0; i < op.outputs().size(); ++i) {
    if (i < states.size()) {
      loop.outer().Into(op.outputs()[i], "assign", {{"X", {states[i]}}});
    } else {
      loop.outer().Into(op.outputs()[i], "tensor_array_to_tensor", {{"X", {arrays[i - states.size()]}}},
                        {{"axis", 0}, {"use_stack", true}});
    }
  }
  return loop.outer().status();
}

absl::Status LowerSequenceMap(const Op& op, Block& block) {
  AMPC_ASSIGN_OR_RETURN(const Subgraph body, SubgraphOf(op, "body"));
  LoopMaker loop(op, body, block);
  Var* const count = loop.outer().Temp("length", "lod_array_length", {{"X", {op.input("input_sequence")}}});
  Var* const counter = loop.Counter(TensorType());
  Var* const more =
      loop.Carry("more", TensorType::Unranked(DType::kBool), loop.outer().Temp("more", "less_than", {{"X", {counter}}, {"Y", {count}}}));
  loop.Reads(count);
  for (size_t i = 0; i < body.inputs.size(); ++i) {
    Var* const operand = op.inputs()[i];
    loop.Reads(operand);
    if (operand->type.kind == TypeKind::kTensorArray) {
      loop.inner().Into(loop.entry(i), "sequence_at", {{"X", {operand}}, {"I", {counter}}});
    } else {
      loop.inner().Into(loop.entry(i), "assign", {{"X", {operand}}});
    }
  }
  loop.AppendBody();
  std::vector<Var*> arrays;
  for (size_t i = 0; i < op.outputs().size(); ++i) arrays.push_back(loop.Collect(loop.output(i), counter));
  loop.CountUp();
  loop.inner().Into(more, "less_than", {{"X", {counter}}, {"Y", {count}}});
  AMPC_RETURN_IF_ERROR(loop.Finish(more));
  for (size_t i = 0; i < arrays.size(); ++i) loop.outer().Into(op.outputs()[i], "assign", {{"X", {arrays[i]}}});
  return loop.outer().status();
}

namespace {

// Scan, piece by piece. In each iteration `step` is the position along the axis that is scanned; with a batch, `sample` is the sample.
class ScanMaker {
 public:
  ScanMaker(const Op& op, const Subgraph& body, const ScanAxes& axes, Block& block) : op_(op), axes_(axes), loop_(op, body, block) {}

  absl::Status Run() {
    steps_ = Size(axes_.batched ? 1 : axes_.in_axes[0]);
    last_ = Minus("last", steps_, loop_.outer().Int("one", 1), loop_.outer());
    Var* total = steps_;
    if (axes_.batched) total = loop_.outer().Temp("iterations", "elementwise_mul", {{"X", {Size(0)}}, {"Y", {steps_}}});
    counter_ = loop_.Counter(TensorType());
    Var* const first = loop_.outer().Temp("more", "less_than", {{"X", {counter_}}, {"Y", {total}}});
    Var* const more = loop_.Carry("more", TensorType::Unranked(DType::kBool), first);
    for (Var* read : {steps_, last_, total}) loop_.Reads(read);
    if (axes_.batched) lengths_ = op_.input("sequence_lens");
    if (lengths_ != nullptr) loop_.Reads(lengths_);
    Begin();
    loop_.AppendBody();
    End();
    loop_.inner().Into(more, "less_than", {{"X", {counter_}}, {"Y", {total}}});
    AMPC_RETURN_IF_ERROR(loop_.Finish(more));
    Results();
    return loop_.outer().status();
  }

 private:
  // Dim `axis` of the first scan input: i64, rank 0.
  Var* Size(int64_t axis) {
    Var* const x = axes_.operands[axes_.states];
    if (axis < 0 && !x->type.has_rank)
      loop_.outer().Fail(UnsupportedError(absl::StrCat(Describe(op_), ": the rank of '", x->name(), "' is not known")));
    if (axis < 0) axis += x->type.rank();
    Var* const dims = loop_.outer().Temp("dims", "shape", {{"Input", {x}}});
    Var* const dim = loop_.outer().Temp("dim", "gather", {{"X", {dims}}, {"Index", {loop_.outer().Int("axis", axis)}}});
    return loop_.outer().Temp("steps", "cast", {{"X", {dim}}}, {{"in_dtype", DType::kI32}, {"out_dtype", DType::kI64}});
  }
  static Var* Minus(absl::string_view base, Var* x, Var* y, Emit& emit) {
    return emit.Temp(base, "elementwise_sub", {{"X", {x}}, {"Y", {y}}});
  }
  Var* Row(Var* x, Var* index, int64_t axis) {
    return loop_.inner().Temp("row", "gather", {{"X", {x}}, {"Index", {index}}}, {{"axis", static_cast<int32_t>(axis)}});
  }
  Var* Position(bool reversed) { return reversed ? Minus("position", last_, step_, loop_.inner()) : step_; }
  // A sequence that is read from its end begins at its own; what lies behind it is read, too, and not used.
  Var* PositionIn(bool reversed) {
    if (!reversed || lengths_ == nullptr) return Position(reversed);
    Var* const end = Minus("end", length_, loop_.inner().Int("one", 1), loop_.inner());
    return loop_.inner().Temp("position", "elementwise_mod", {{"X", {Minus("position", end, step_, loop_.inner())}}, {"Y", {steps_}}});
  }
  // `value` while the sequence lasts, `otherwise` behind its end.
  Var* WhileItLasts(Var* value, Var* otherwise) {
    if (lengths_ == nullptr) return value;
    Emit& emit = loop_.inner();
    const auto row = [&emit](Var* x) { return emit.Temp("row", "unsqueeze2", {{"X", {x}}}, {{"axes", std::vector<int64_t>{0}}}); };
    Var* const both = emit.Temp("both", "concat", {{"X", {row(otherwise), row(value)}}}, {{"axis", 0}});
    return emit.Temp("value", "gather", {{"X", {both}}, {"Index", {lasts_}}});
  }

  // The entries get their values.
  void Begin() {
    step_ = loop_.inner().Temp("step", "assign", {{"X", {counter_}}});
    if (axes_.batched) {
      sample_ = loop_.inner().Temp("sample", "elementwise_floordiv", {{"X", {step_}}, {"Y", {steps_}}});
      step_ = loop_.inner().Temp("step", "elementwise_mod", {{"X", {step_}}, {"Y", {steps_}}});
    }
    if (lengths_ != nullptr) {
      length_ = loop_.inner().Temp("length", "gather", {{"X", {lengths_}}, {"Index", {sample_}}});
      Var* const lasts = loop_.inner().Temp("lasts", "less_than", {{"X", {step_}}, {"Y", {length_}}});
      lasts_ = loop_.inner().Temp("lasts", "cast", {{"X", {lasts}}}, {{"in_dtype", DType::kBool}, {"out_dtype", DType::kI64}});
    }
    for (int i = 0; i < axes_.states; ++i) {
      Var* const entry = loop_.entry(i);
      states_.push_back(loop_.Carry(entry->name(), axes_.batched ? axes_.operands[i]->type : entry->type, axes_.operands[i]));
      if (axes_.batched) {
        loop_.inner().Into(entry, "gather", {{"X", {states_[i]}}, {"Index", {sample_}}});
      } else {
        loop_.inner().Into(entry, "assign", {{"X", {states_[i]}}});
      }
    }
    for (int i = 0; i < axes_.inputs(); ++i) {
      Var* const x = axes_.operands[axes_.states + i];
      loop_.Reads(x);
      const int32_t axis = static_cast<int32_t>(axes_.in_axes[i]);
      Var* const from = axes_.batched ? Row(x, sample_, 0) : x;
      loop_.inner().Into(loop_.entry(axes_.states + i), "gather", {{"X", {from}}, {"Index", {PositionIn(axes_.in_reversed[i])}}},
                         {{"axis", axis}});
    }
  }

  // The outputs are kept.
  void End() {
    for (int i = 0; i < axes_.outputs; ++i) {
      Var* value = loop_.output(axes_.states + i);
      if (lengths_ != nullptr)
        value = WhileItLasts(value, loop_.inner().Temp("none", "fill_any_like", {{"X", {value}}}, {{"value", 0.0f}}));
      arrays_.push_back(loop_.Collect(value, axes_.batched ? counter_ : Position(axes_.out_reversed[i])));
    }
    for (int i = 0; i < axes_.states; ++i) {
      Var* const value = WhileItLasts(loop_.output(i), loop_.entry(i));
      if (!axes_.batched) {
        loop_.inner().Into(states_[i], "assign", {{"X", {value}}});
        continue;
      }
      Var* const row = loop_.inner().Temp("row", "unsqueeze2", {{"X", {value}}}, {{"axes", std::vector<int64_t>{0}}});
      Var* const ids = loop_.inner().Temp("ids", "unsqueeze2", {{"X", {sample_}}}, {{"axes", std::vector<int64_t>{0}}});
      loop_.inner().Into(states_[i], "assign",
                         {{"X", {loop_.inner().Temp("states", "scatter", {{"X", {states_[i]}}, {"Ids", {ids}}, {"Updates", {row}}})}}});
    }
    loop_.CountUp();
  }

  void Results() {
    Emit& emit = loop_.outer();
    for (int i = 0; i < axes_.states; ++i) emit.Into(op_.outputs()[i], "assign", {{"X", {states_[i]}}});
    for (int i = 0; i < axes_.outputs; ++i) {
      Var* const result = op_.outputs()[axes_.states + i];
      std::vector<Attr> attrs = {{"axis", static_cast<int32_t>(axes_.out_axes[i])}, {"use_stack", true}};
      if (!axes_.batched) {
        emit.Into(result, "tensor_array_to_tensor", {{"X", {arrays_[i]}}}, std::move(attrs));
        continue;
      }
      // [samples * steps, ...] becomes [samples, steps, ...].
      Var* const flat = emit.Temp("flat", "tensor_array_to_tensor", {{"X", {arrays_[i]}}}, std::move(attrs));
      flat->type = loop_.output(axes_.states + i)->type;
      if (flat->type.has_rank) flat->type.dims.insert(flat->type.dims.begin(), kUnknownDim);
      Var* const before = emit.Temp("dims", "shape", {{"Input", {axes_.operands[axes_.states]}}});
      Var* const after = emit.Temp("dims", "shape", {{"Input", {flat}}});
      const auto part = [&](Var* dims, int64_t from, int64_t to) {
        return emit.Temp("dims", "slice", {{"Input", {dims}}},
                         {{"axes", std::vector<int64_t>{0}}, {"starts", std::vector<int64_t>{from}}, {"ends", std::vector<int64_t>{to}}});
      };
      Var* const dims = emit.Temp("dims", "concat", {{"X", {part(before, 0, 2), part(after, 1, 64)}}});
      emit.Into(result, "reshape2", {{"X", {flat}}, {"Shape", {dims}}});
    }
  }

  const Op& op_;
  const ScanAxes& axes_;
  LoopMaker loop_;
  Var *steps_ = nullptr, *last_ = nullptr, *counter_ = nullptr, *step_ = nullptr, *sample_ = nullptr;
  Var *lengths_ = nullptr, *length_ = nullptr, *lasts_ = nullptr;  // of sequences: all, the sample's, 1 or 0
  std::vector<Var*> states_, arrays_;
};

}  // namespace

absl::Status LowerScan(const Op& op, Block& block) {
  AMPC_ASSIGN_OR_RETURN(const Subgraph body, SubgraphOf(op, "body"));
  AMPC_ASSIGN_OR_RETURN(const ScanAxes axes, ReadScanAxes(op));
  return ScanMaker(op, body, axes, block).Run();
}

}  // namespace ampc::onnx
