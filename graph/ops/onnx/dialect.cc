#include "graph/ops/onnx/dialect.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/base/mutex.h"
#include "graph/op_registry.h"
#include "graph/ops/onnx/by_lowering.h"
#include "graph/ops/onnx/lowering.h"
#include "graph/ops/onnx/onnx_op.h"

namespace ampc::onnx {

#define AMPC_ONNX_FAMILY(name) void Add##name(OnnxOps& ops);
#include "graph/ops/onnx/families.inc"
#undef AMPC_ONNX_FAMILY

namespace {

constexpr absl::string_view kPrefix = "onnx.", kMicrosoft = "com.microsoft.";

std::string NameOfOp(const Schema& schema) {
  return absl::StrCat(DomainOf(schema.type).empty() ? kPrefix : absl::string_view(), schema.type, ".", schema.since);
}

constexpr TypeSet kLow = Bit(DType::kF16) | Bit(DType::kBF16);
constexpr TypeSet kFloats = kLow | Bit(DType::kF32) | Bit(DType::kF64);
constexpr TypeSet kIndexes = Bit(DType::kI32) | Bit(DType::kI64);

SlotPrecision PrecisionOf(const OnnxOp& op, const Formal& formal, TypeSet types) {
  for (const auto& [name, precision] : op.precision) {
    if (name == formal.name) return precision;
  }
  if ((types & kFloats) == 0) return SlotPrecision::kAsIs;
  return (types & kLow) == 0 ? SlotPrecision::kFp32 : SlotPrecision::kFollow;
}

// A slot of one type with an operand or result that follows the op's compute type follows it, too.
void UnifyPrecision(const Schema& schema, OnnxDef& def) {
  std::vector<bool> follows(schema.types.size(), false);
  const auto each = [&](auto&& f) {
    for (size_t i = 0; i < schema.inputs.size(); ++i) f(schema.inputs[i], def.inputs[i]);
    for (size_t i = 0; i < schema.outputs.size(); ++i) f(schema.outputs[i], def.outputs[i]);
  };
  each([&](const Formal& formal, const SlotDef& slot) {
    if (slot.precision == SlotPrecision::kFollow) follows[formal.type] = true;
  });
  each([&](const Formal& formal, SlotDef& slot) {
    if (slot.precision == SlotPrecision::kFp32 && follows[formal.type]) slot.precision = SlotPrecision::kFollow;
  });
}

std::vector<SlotDef> MakeSlots(const OnnxOp& op, const Schema& schema, const std::vector<Formal>& formals,
                               const std::vector<std::string>& names, const std::vector<SlotDef>& native) {
  std::vector<SlotDef> slots;
  for (size_t i = 0; i < formals.size(); ++i) {
    const TypeSet types = schema.types[formals[i].type];
    SlotDef slot;
    slot.name = !op.same ? formals[i].name : i < names.size() ? names[i] : native[i].name;
    // A subgraph's operands and results may be none at all.
    slot.optional = formals[i].optional || formals[i].heterogeneous;
    slot.variadic = formals[i].variadic;
    slot.precision = PrecisionOf(op, formals[i], types);
    slot.host_value = (types & ~kIndexes) == 0;
    slots.push_back(std::move(slot));
  }
  return slots;
}

void AddAttrs(const Schema& schema, OnnxDef& def) {
  for (const FormalAttr& attr : schema.attrs) {
    if (attr.kind == '?') continue;
    if (attr.required) {
      def.Required(attr.name, attr.value);
    } else {
      def.A(attr.name, attr.value);
    }
    if (attr.kind == 't') def.A(absl::StrCat(attr.name, "_dtype"), DType::kInvalid);
    if (attr.kind == 'g' && def.InputSlot(kCaptures) < 0) def.OptVarIn(std::string(kCaptures), SlotPrecision::kAsIs);
  }
}

// The native op's effect on values, and additions of the operator's own record.
void AddFunction(const OnnxOp& op, const OpDef* native, OnnxDef& def) {
  def.traits = op.traits | (native == nullptr ? 0 : native->traits);
  def.bounds = op.bounds != nullptr || native == nullptr ? op.bounds : native->bounds;
  def.weight_use = op.weight_use;
  def.low_on_cuda = op.low_on_cuda || native == nullptr || native->low_on_cuda;
  for (AttrDef& attr : def.attrs) {
    for (const auto& [name, use] : op.uses) {
      if (attr.name == name) attr.use = use;
    }
  }
}

InferredDef MakeDef(const Schema& schema, const OnnxOp& op) {
  InferredDef def(NameOfOp(schema));
  const OpDef* native = op.native.empty() ? nullptr : Ops().Find(op.native);
  if (native == nullptr && !op.native.empty()) std::abort();  // a mistake in a record, met by every test
  def.operator_name = schema.type;
  def.schema = &schema;
  def.op = &op;
  def.native = native;
  def.Doc(DomainOf(schema.type).empty() ? absl::StrCat("ONNX's ", schema.type, " of operator set ", schema.since, ".")
                                        : absl::StrCat("ONNX Runtime's ", OperatorOf(schema.type), "."));
  static const std::vector<SlotDef> kNone;
  def.inputs = MakeSlots(op, schema, schema.inputs, op.in_slots, native == nullptr ? kNone : native->inputs);
  def.outputs = MakeSlots(op, schema, schema.outputs, op.out_slots, native == nullptr ? kNone : native->outputs);
  UnifyPrecision(schema, def);
  AddAttrs(schema, def);
  AddFunction(op, native, def);
  if (op.same) {
    // The native inference reads its attributes' defaults.
    for (const AttrDef& attr : native->attrs) {
      if (def.FindAttr(attr.name) == nullptr) def.Extra(attr.name, attr.value);
    }
  }
  def.Amp(op.amp, op.amp_reason).AmpWhen(op.amp_when);
  if (op.amp_reason.empty() && native != nullptr) def.Amp(native->amp, native->amp_reason);
  if (def.amp_reason.empty()) def.amp_reason = "nothing is known of its behaviour in low precision";
  def.pure = op.pure && (native == nullptr || native->pure) && def.InputSlot(kCaptures) < 0;
  def.Infer(&InferOnnx);
  return def;
}

// The ops that begin and end a subgraph.
OpDef MakeEnter() {
  OpDef def{std::string(kEnter)};
  def.Doc("Defines the inputs of a subgraph: the first op of its block.").VarOut("inputs");
  return def;
}
OpDef MakeYield() {
  OpDef def{std::string(kYield)};
  def.Doc("Gives the outputs of a subgraph to the op that has it: the last op of its block.").OptVarIn("outputs");
  return def;
}
OpDef Boundary(OpDef def) {
  def.Infer([](InferContext&) { return absl::OkStatus(); })
      .CostIs([](const Op&) { return Cost(); })
      .Amp(AmpClass::kNever, "what crosses the border of a subgraph keeps its type");
  def.Impure().Gradient("none: control flow is not differentiated");
  return def;
}

// Defs are made when they are asked for: a model needs few of them.
class Dialect {
 public:
  Dialect() {
#define AMPC_ONNX_FAMILY(name) Add##name(ops_);
#include "graph/ops/onnx/families.inc"
#undef AMPC_ONNX_FAMILY
    for (const OnnxOp& op : ops_.all()) {
      if (!records_.emplace(op.type, &op).second) std::abort();  // duplicates: a mistake in the records, met by every test
    }
  }

  const OpDef* Find(absl::string_view name) {
    for (const OpDef* def : {&enter_, &yield_}) {
      if (def->name == name) return def;
    }
    if (!absl::ConsumePrefix(&name, kPrefix) && !absl::StartsWith(name, kMicrosoft)) return nullptr;
    const size_t dot = name.rfind('.');
    int since = 0;
    if (dot == absl::string_view::npos || !absl::SimpleAtoi(name.substr(dot + 1), &since)) return Newest(name);
    const Schema* schema = FindSchema(name.substr(0, dot), since);
    const OpDef* def = schema == nullptr || schema->since != since ? nullptr : Of(schema);
    return def != nullptr && absl::EndsWith(def->name, name) ? def : nullptr;  // "onnx.Conv.011" is none
  }
  // The newest version that was not taken out again.
  const OpDef* Newest(absl::string_view type) {
    const Schema* schema = nullptr;
    for (int opset = NewestOpset(); opset > 0 && schema == nullptr; --opset) schema = FindSchema(type, opset);
    return Of(schema);
  }
  // Null for null, and for an operator without a record.
  const OpDef* Of(const Schema* schema) {
    const auto record = schema == nullptr ? records_.end() : records_.find(schema->type);
    if (record == records_.end()) return nullptr;
    const MutexLock lock(mutex_);
    std::unique_ptr<InferredDef>& def = defs_[schema];
    if (def == nullptr) {
      def = std::make_unique<InferredDef>(MakeDef(*schema, *record->second));
      def->CostIs(&CostOnnx).Gradient("none: an ONNX model is not differentiated").Alias("onnx", schema->type);
    }
    return def.get();
  }
  std::vector<const OpDef*> All() {
    std::vector<const OpDef*> all;
    for (const Schema& schema : Schemas()) {
      const OpDef* def = schema.deprecated ? nullptr : Of(&schema);
      if (def != nullptr) all.push_back(def);
    }
    all.push_back(&enter_);
    all.push_back(&yield_);
    return all;
  }

 private:
  OnnxOps ops_;
  absl::flat_hash_map<absl::string_view, const OnnxOp*> records_;
  OpDef enter_ = Boundary(MakeEnter());
  OpDef yield_ = Boundary(MakeYield());
  Mutex mutex_;
  absl::flat_hash_map<const Schema*, std::unique_ptr<InferredDef>> defs_;
};

Dialect& TheDialect() {
  static Dialect& dialect = *new Dialect();
  return dialect;
}

}  // namespace

const OpDef* FindOp(absl::string_view name) { return TheDialect().Find(name); }

const OpDef* FindOp(absl::string_view type, int opset) { return TheDialect().Of(FindSchema(type, opset)); }

std::vector<const OpDef*> AllOps() { return TheDialect().All(); }

const OnnxDef* DefOf(const OpDef& def) { return def.infer == &InferOnnx ? static_cast<const OnnxDef*>(&def) : nullptr; }

absl::string_view TypeName(const OpDef& def) { return DefOf(def) == nullptr ? def.name : def.operator_name; }

absl::string_view NativeName(const OpDef& def) {
  const OnnxDef* onnx = DefOf(def);
  if (onnx != nullptr) return onnx->op->native;
  return absl::StartsWith(def.name, kPrefix) ? absl::string_view() : def.name;
}

}  // namespace ampc::onnx
