#include "runtime/convert/model_facts.h"

#include <algorithm>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/op_record.h"
#include "graph/ops/onnx/dialect.h"

namespace ampc {
namespace {

// Costs are those of ops that the verifier would pass; what is inspected may lack an operand.
bool IsWhole(const Op& op) {
  const auto filled = [&](const std::vector<SlotDef>& slots, auto of_slot) {
    for (size_t s = 0; s < slots.size(); ++s) {
      if (!slots[s].optional && of_slot(static_cast<int>(s)).empty()) return false;
    }
    return true;
  };
  return filled(op.def().inputs, [&](int s) { return op.inputs(s); }) && filled(op.def().outputs, [&](int s) { return op.outputs(s); });
}

bool IsCast(const Op& op) { return op.type() == "cast" || op.type() == "amp_cast"; }

// Results decide: an op computes in the type that it makes. An op without float results goes by its operands.
DType FloatTypeOf(const Op& op) {
  for (const Var* v : op.outputs()) {
    if (v->type.IsFloat()) return v->type.dtype;
  }
  for (const Var* v : op.inputs()) {
    if (v->type.IsFloat()) return v->type.dtype;
  }
  return DType::kInvalid;
}

// {ops, low ops} of each record.
using Counts = absl::flat_hash_map<const OpDef*, std::pair<int, int>>;

void AddOp(const Op& op, ModelFacts& facts, Counts& counts) {
  ++facts.num_ops;
  auto& [count, low_count] = counts[&op.def()];
  ++count;
  if (IsCast(op)) {
    ++facts.casts;
    if (op.marks.amp == AmpMark::kInserted) ++facts.inserted_casts;
    return;
  }
  const DType type = FloatTypeOf(op);
  if (type == DType::kInvalid) return;
  ++facts.float_ops;
  const bool low = IsLowPrecision(type);
  facts.low_ops += low ? 1 : 0;
  low_count += low ? 1 : 0;
  const double flops = IsWhole(op) ? ProductFlops(op) : 0;
  facts.matmul_flops += flops;
  if (low) facts.low_matmul_flops += flops;
}

}  // namespace

std::string ModelFacts::ShareText() const { return matmul_flops > 0 ? absl::StrFormat("%.1f %%", 100 * low_flops_share()) : "none"; }
std::string ModelFacts::FlopsText() const { return absl::StrCat(ShareText(), matmul_flops > 0 ? " low" : ""); }

void ModelFacts::Write(JsonWriter& json) const {
  json.Field("ops", num_ops)
      .Field("float_ops", float_ops)
      .Field("low_ops", low_ops)
      .Field("casts", casts)
      .Field("inserted_casts", inserted_casts);
  json.Key("low_flops_share");
  matmul_flops > 0 ? json.Double(low_flops_share()) : json.Null();
  json.Field("weights", num_weights).Field("weight_bytes", weight_bytes);
  json.Key("weights_by_dtype").BeginObject();
  for (const auto& [dtype, count] : weights_by_dtype) {
    json.Key(Name(dtype)).BeginObject(JsonWriter::kInline).Field("count", count.first).Field("bytes", count.second).EndObject();
  }
  json.EndObject().Key("ops_by_type").BeginObject();
  for (const auto& [type, count] : ops_by_type) {
    json.Key(type).BeginObject(JsonWriter::kInline).Field("count", count.first).Field("low", count.second).EndObject();
  }
  json.EndObject().Key("opaque_types").BeginArray(JsonWriter::kInline);
  for (const std::string& type : opaque_types) json.String(type);
  json.EndArray();
}

ModelFacts FactsOf(const Program& program) {
  ModelFacts facts;
  Counts counts;
  ForEachOp(program, [&](const Op& op) { AddOp(op, facts, counts); });
  std::set<std::string> opaque;
  for (const auto& [def, count] : counts) {
    if (def->name == onnx::kEnter || def->name == onnx::kYield) continue;  // no node of the file
    auto& [all, low] = facts.ops_by_type[std::string(onnx::TypeName(*def))];
    all += count.first;
    low += count.second;
    if (def->opaque) opaque.insert(def->name);
  }
  facts.opaque_types.assign(opaque.begin(), opaque.end());
  ForEachVar(program, [&](const Var& v) {
    if (v.weight == nullptr || v.kind == VarKind::kConst) return;
    const DType dtype = v.weight->final_dtype();
    const int64_t bytes = static_cast<int64_t>(v.weight->bytes / std::max<size_t>(1, SizeOf(v.weight->dtype)) * SizeOf(dtype));
    ++facts.num_weights;
    facts.weight_bytes += bytes;
    auto& [count, total] = facts.weights_by_dtype[dtype];
    ++count;
    total += bytes;
  });
  return facts;
}

std::string InspectJson(const std::string& model, const Program& program) {
  JsonWriter json(JsonWriter::kIndented);
  json.BeginObject().Field("model", model).Field("blocks", program.num_blocks());
  const auto signature = [&](const char* key, const std::vector<Var*>& vars) {
    json.Key(key).BeginArray();
    for (const Var* v : vars) {
      json.BeginObject(JsonWriter::kInline)
          .Field("name", v->exported())
          .Field("dtype", Name(v->type.dtype))
          .Key("dims")
          .Ints(v->type.dims)
          .EndObject();
    }
    json.EndArray();
  };
  signature("feeds", program.feeds);
  signature("fetches", program.fetches);
  FactsOf(program).Write(json);
  json.EndObject();
  return json.Take() + "\n";
}

std::string VerdictJson(const std::string& model, const absl::Status& verdict) {
  JsonWriter json;
  json.BeginObject(JsonWriter::kInline).Field("model", model).Field("ok", verdict.ok()).Field("problem", verdict.message()).EndObject();
  return json.Take() + "\n";
}

}  // namespace ampc
