// If, Loop, Scan and SequenceMap. Their results have the types that their blocks yield; how they are executed is
// passes/onnx/lower_control.h.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/infer_context.h"
#include "graph/ops/onnx/onnx_op.h"
#include "graph/ops/onnx/scan_axes.h"
#include "graph/ops/onnx/subgraph.h"

namespace ampc::onnx {
namespace {

absl::Status NeedCount(const InferContext& ctx, absl::string_view block, absl::string_view what, size_t found, size_t needed) {
  if (found == needed) return absl::OkStatus();
  return BadInputError(absl::StrCat(Describe(ctx.op()), ": its ", block, " has ", found, " ", what, ", needs ", needed));
}

// `a` and `b` are two things that become one value.
absl::Status NeedOneType(const InferContext& ctx, absl::string_view a_name, const TensorType& a, absl::string_view b_name,
                         const TensorType& b) {
  if (a.LacksDType() || b.LacksDType() || (a.kind == b.kind && a.dtype == b.dtype)) return absl::OkStatus();
  return BadInputError(absl::StrCat(Describe(ctx.op()), ": ", a_name, " is ", ToString(a), " and ", b_name, " is ", ToString(b),
                                    "; both need one element type"));
}

std::string Output(absl::string_view block, size_t i, const Subgraph& graph) {
  return absl::StrCat("output ", i, " of its ", block, " ('", graph.outputs[i]->name(), "')");
}

absl::Status InferIf(InferContext& ctx) {
  AMPC_ASSIGN_OR_RETURN(const Subgraph yes, SubgraphOf(ctx.op(), "then_branch"));
  AMPC_ASSIGN_OR_RETURN(const Subgraph no, SubgraphOf(ctx.op(), "else_branch"));
  const size_t n = ctx.op().outputs().size();
  AMPC_RETURN_IF_ERROR(NeedCount(ctx, "then_branch", "outputs", yes.outputs.size(), n));
  AMPC_RETURN_IF_ERROR(NeedCount(ctx, "else_branch", "outputs", no.outputs.size(), n));
  for (size_t i = 0; i < n; ++i) {
    const TensorType &a = yes.outputs[i]->type, &b = no.outputs[i]->type;
    AMPC_RETURN_IF_ERROR(NeedOneType(ctx, Output("then_branch", i, yes), a, Output("else_branch", i, no), b));
    ctx.Out("outputs", static_cast<int>(i), Union(a, b));
  }
  return absl::OkStatus();
}

// State `i`: what comes in, what the body takes and what it gives are of one type. Returns the type of the result.
absl::StatusOr<TensorType> StateType(const InferContext& ctx, const Subgraph& body, size_t i, const TensorType& initial, size_t entry,
                                     size_t output) {
  const std::string name = absl::StrCat("initial state ", i);
  const TensorType& in = body.inputs[entry]->type;
  const TensorType& out = body.outputs[output]->type;
  AMPC_RETURN_IF_ERROR(
      NeedOneType(ctx, name, initial, absl::StrCat("input ", entry, " of its body ('", body.inputs[entry]->name(), "')"), in));
  AMPC_RETURN_IF_ERROR(NeedOneType(ctx, name, initial, Output("body", output, body), out));
  return Union(initial, out);
}

absl::Status InferLoop(InferContext& ctx) {
  AMPC_ASSIGN_OR_RETURN(const Subgraph body, SubgraphOf(ctx.op(), "body"));
  const size_t states = ctx.Count("v_initial"), results = ctx.op().outputs().size();
  AMPC_RETURN_IF_ERROR(NeedCount(ctx, "body", "inputs", body.inputs.size(), states + 2));
  AMPC_RETURN_IF_ERROR(NeedCount(ctx, "body", "outputs", body.outputs.size(), std::max(results, states) + 1));
  AMPC_RETURN_IF_ERROR(
      NeedOneType(ctx, "the condition", TensorType::Unranked(DType::kBool), Output("body", 0, body), body.outputs[0]->type));
  const char* slot = "v_final_and_scan_outputs";
  for (size_t i = 0; i < states; ++i) {
    AMPC_ASSIGN_OR_RETURN(TensorType type, StateType(ctx, body, i, ctx.In("v_initial", static_cast<int>(i)), i + 2, i + 1));
    ctx.Out(slot, static_cast<int>(i), std::move(type));
  }
  int64_t steps = kUnknownDim;
  if (const auto count = ctx.Ints("M"); count.has_value() && count->size() == 1 && (*count)[0] == 0) steps = 0;
  for (size_t i = states; i < results; ++i) {
    TensorType type = body.outputs[i + 1]->type;
    if (type.has_rank) type.dims.insert(type.dims.begin(), steps);
    ctx.Out(slot, static_cast<int>(i), std::move(type));
  }
  return absl::OkStatus();
}

absl::Status InferScan(InferContext& ctx) {
  AMPC_ASSIGN_OR_RETURN(const Subgraph body, SubgraphOf(ctx.op(), "body"));
  AMPC_ASSIGN_OR_RETURN(const ScanAxes axes, ReadScanAxes(ctx.op()));
  AMPC_RETURN_IF_ERROR(NeedCount(ctx, "body", "inputs", body.inputs.size(), axes.operands.size()));
  AMPC_RETURN_IF_ERROR(NeedCount(ctx, "body", "outputs", body.outputs.size(), axes.states + axes.outputs));
  const char* slot = "final_state_and_scan_outputs";
  for (int i = 0; i < axes.states; ++i) {
    AMPC_ASSIGN_OR_RETURN(TensorType type, StateType(ctx, body, i, axes.EntryType(i), i, i));
    if (axes.batched && type.has_rank && axes.operands[i]->type.has_rank)
      type.dims.insert(type.dims.begin(), axes.operands[i]->type.dims[0]);
    ctx.Out(slot, i, std::move(type));
  }
  for (int i = 0; i < axes.outputs; ++i) {
    ctx.Out(slot, axes.states + i, axes.OutputType(i, body.outputs[axes.states + i]->type));
  }
  return absl::OkStatus();
}

// The body takes an element of each sequence, and gives one of each result.
absl::Status InferSequenceMap(InferContext& ctx) {
  AMPC_ASSIGN_OR_RETURN(const Subgraph body, SubgraphOf(ctx.op(), "body"));
  const size_t operands = 1 + ctx.Count("additional_inputs"), results = ctx.op().outputs().size();
  AMPC_RETURN_IF_ERROR(NeedCount(ctx, "body", "inputs", body.inputs.size(), operands));
  AMPC_RETURN_IF_ERROR(NeedCount(ctx, "body", "outputs", body.outputs.size(), results));
  for (size_t i = 0; i < results; ++i) {
    TensorType type = TensorType::Unranked(body.outputs[i]->type.dtype);
    type.kind = TypeKind::kTensorArray;
    ctx.Out("out_sequence", static_cast<int>(i), std::move(type));
  }
  return absl::OkStatus();
}

}  // namespace

void AddControl(OnnxOps& ops) {
  const char* reason =
      "control flow computes nothing; the ops of its blocks are decided one by one, and what crosses their borders keeps its type";
  const std::pair<const char*, InferFn> rows[] = {
      {"If", &InferIf}, {"Loop", &InferLoop}, {"Scan", &InferScan}, {"SequenceMap", &InferSequenceMap}};
  for (const auto& [type, infer] : rows) {
    ops.Add(type).Infer(infer).Amp(AmpClass::kNever, reason).Impure().TakesSequences();
  }
}

}  // namespace ampc::onnx
