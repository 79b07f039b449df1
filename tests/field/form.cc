// Faults of a converted model, seen from its file and from its program.
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/formats/format.h"
#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/dtype_number.h"
#include "graph/ops/onnx/onnx_op.h"
#include "graph/verify.h"
#include "tests/field/field.h"

namespace ampc::testing {
namespace {

class Faults {
 public:
  void Add(absl::string_view what) { absl::StrAppend(&text_, what, "\n"); }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

// Names that are read before they are there; `known` has those of the graphs around.
void FindUnsorted(const onnx::GraphProto& graph, std::set<std::string> known, Faults* faults) {
  for (const auto& input : graph.input()) known.insert(input.name());
  for (const auto& tensor : graph.initializer()) known.insert(tensor.name());
  for (const auto& node : graph.node()) {
    for (const std::string& name : node.input()) {
      if (!name.empty() && !known.contains(name)) faults->Add(absl::StrCat(node.op_type(), " reads '", name, "' too early"));
    }
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) FindUnsorted(attribute.g(), known, faults);
    }
    known.insert(node.output().begin(), node.output().end());
  }
  for (const auto& output : graph.output()) {
    if (!known.contains(output.name())) faults->Add(absl::StrCat("output '", output.name(), "' is nowhere"));
  }
}

void FindTwins(const onnx::ModelProto& model, Faults* faults) {
  std::map<std::string, int> count;
  for (const onnx::GraphProto* graph : GraphsOf(model)) {
    for (const auto& node : graph->node()) ++count[node.name()];
  }
  for (const auto& [name, times] : count) {
    if (absl::StartsWith(name, "ampc/") && times > 1) faults->Add(absl::StrCat("node name '", name, "' ", times, " times"));
  }
}

void FindCastFaults(const Program& program, Faults* faults) {
  std::set<const Var*> read(program.fetches.begin(), program.fetches.end());
  std::map<const Var*, const Op*> inserted;
  ForEachOp(program, [&](const Op& op) {
    read.insert(op.inputs().begin(), op.inputs().end());
    if (op.type() == "cast" && op.marks.amp == AmpMark::kInserted) inserted[op.outputs()[0]] = &op;
  });
  std::set<std::string> seen;
  for (const auto& [result, op] : inserted) {
    const Var* source = op->inputs()[0];
    const std::string what = absl::StrCat("cast of '", source->name(), "' to '", result->name(), "'");
    if (source->type.dtype == result->type.dtype) faults->Add(absl::StrCat(what, " changes nothing"));
    if (inserted.contains(source)) faults->Add(absl::StrCat(what, " takes a cast"));
    if (!read.contains(result)) faults->Add(absl::StrCat(what, " is not read"));
    if (!seen.insert(absl::StrCat(op->block().index(), " ", source->name(), " ", Name(result->type.dtype))).second)
      faults->Add(absl::StrCat(what, " is there twice"));
  }
}

// Operands and results of one type variable have one type, which the operator's version has.
void FindTypeFaults(const Op& op, Faults* faults) {
  const onnx::OnnxDef* def = onnx::DefOf(op.def());
  if (def == nullptr) return;
  std::map<int, DType> bound;
  const auto look = [&](const std::vector<onnx::Formal>& formals, bool inputs) {
    for (size_t i = 0; i < formals.size(); ++i) {
      const auto vars = inputs ? op.inputs(static_cast<int>(i)) : op.outputs(static_cast<int>(i));
      for (const Var* var : vars) {
        const DType dtype = var->type.dtype;
        if (var->type.kind != TypeKind::kTensor || dtype == DType::kInvalid || formals[i].type < 0) continue;
        const std::string what = absl::StrCat(op.type(), ": ", formals[i].name, " '", var->name(), "' is ", Name(dtype));
        if ((def->schema->types[formals[i].type] & onnx::Bit(dtype)) == 0) faults->Add(what);
        if (formals[i].heterogeneous) continue;
        const DType other = bound.emplace(formals[i].type, dtype).first->second;
        if (other != dtype) faults->Add(absl::StrCat(what, ", another of its type is ", Name(other)));
      }
    }
  };
  look(def->schema->inputs, true);
  look(def->schema->outputs, false);
}

void FindDeclarationFaults(const onnx::GraphProto& graph, const Block& block, Faults* faults) {
  std::map<std::string, const Var*> vars;
  for (const std::unique_ptr<Var>& var : block.vars()) vars[var->exported()] = var.get();
  const auto look = [&](const onnx::ValueInfoProto& info) {
    const auto it = vars.find(info.name());
    const int number = info.type().tensor_type().elem_type();
    if (it == vars.end() || number == 0 || it->second->type.kind != TypeKind::kTensor) return;
    if (number != onnx::NumberOfDType(it->second->type.dtype))
      faults->Add(absl::StrCat("'", info.name(), "' is declared as type ", number));
  };
  for (const auto& info : graph.value_info()) look(info);
  for (const auto& info : graph.output()) look(info);
  for (const auto& info : graph.input()) look(info);
}

}  // namespace

std::vector<const onnx::GraphProto*> GraphsOf(const onnx::ModelProto& model) {
  std::vector<const onnx::GraphProto*> out;
  const auto add = [&out](const auto& self, const onnx::GraphProto& graph) -> void {
    out.push_back(&graph);
    for (const auto& node : graph.node()) {
      for (const auto& attribute : node.attribute()) {
        if (attribute.has_g()) self(self, attribute.g());
      }
    }
  };
  add(add, model.graph());
  return out;
}

std::string FaultsOf(const onnx::ModelProto& model, const std::string& path, bool sorted) {
  Faults faults;
  if (sorted) FindUnsorted(model.graph(), {}, &faults);
  FindTwins(model, &faults);
  const absl::StatusOr<Program> program = LoadModel(path);
  if (!program.ok()) return absl::StrCat(faults.Take(), program.status().message());
  if (const absl::Status verified = Verify(*program); !verified.ok()) faults.Add(verified.message());
  FindCastFaults(*program, &faults);
  ForEachOp(*program, [&faults](const Op& op) { FindTypeFaults(op, &faults); });
  const std::vector<const onnx::GraphProto*> graphs = GraphsOf(model);
  for (size_t g = 0; sorted && g < graphs.size(); ++g) FindDeclarationFaults(*graphs[g], program->block(static_cast<int>(g)), &faults);
  return faults.Take();
}

}  // namespace ampc::testing
