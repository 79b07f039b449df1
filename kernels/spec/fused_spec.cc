#include "kernels/spec/fused_spec.h"

#include <cmath>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/op_registry.h"
#include "graph/ops/fused_steps.h"
#include "graph/text/parser.h"
#include "kernels/spec/elementwise_spec.h"

namespace ampc {
namespace {

using functors::Params;
using functors::UnaryOp;

absl::Status Refused(const Op& op, absl::string_view what) { return UnsupportedError(absl::StrCat(Describe(op), ": ", what)); }

Params<float> Narrow(const Params<double>& p) { return {static_cast<float>(p.a), static_cast<float>(p.b), static_cast<float>(p.c)}; }

// The steps as ops: their own program, whose feeds are the operands.
absl::StatusOr<Program> ParseSteps(const KernelSpec& spec) {
  std::string text;
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    absl::StrAppend(&text, "feed v", i, " : ", Name(spec.inputs[i].dtype), " [");
    for (size_t d = 0; d < spec.inputs[i].dims.size(); ++d) absl::StrAppend(&text, d == 0 ? "" : ", ", spec.inputs[i].dims[d]);
    absl::StrAppend(&text, "]\n");
  }
  const AttrValue* steps = spec.op->attr("steps");
  if (steps == nullptr || !std::holds_alternative<std::vector<std::string>>(*steps)) return Refused(*spec.op, "steps are missing");
  for (const std::string& step : std::get<std::vector<std::string>>(*steps)) absl::StrAppend(&text, step, "\n");
  ParseOptions options;
  options.bare = true;
  options.open_files = false;
  return ParseProgram(text, options);
}

class Reader {
 public:
  Reader(const KernelSpec& spec, FusedSpec* out) : spec_(spec), program_(out->program), excess_(spec.op->GetBool("excess")) {}

  absl::Status Read(const Program& body) {
    program_.operands = static_cast<int>(body.feeds.size());
    for (size_t i = 0; i < body.feeds.size(); ++i) Define(body.feeds[i]->name(), static_cast<int>(i));
    for (const std::unique_ptr<Op>& op : body.main().ops()) {
      int reg = ReadAsItIs(*op);
      if (reg < 0) {
        AMPC_RETURN_IF_ERROR(ReadStep(*op));
        reg = program_.operands + program_.steps - 1;
      }
      Define(op->outputs()[0]->name(), reg);
    }
    for (const int64_t value : spec_.op->GetInts("results")) {
      if (value < 0 || value >= static_cast<int64_t>(named_.size())) return Refused(*spec_.op, absl::StrCat("there is no value ", value));
      program_.result[program_.results++] = static_cast<uint8_t>(named_[value]);
    }
    return absl::OkStatus();
  }

 private:
  void Define(const std::string& name, int reg) {
    registers_[name] = reg;
    named_.push_back(reg);
  }

  static bool IsCast(const Op& op) { return op.type() == "cast" || op.type() == "amp_cast"; }

  // The register of a step whose values a cast to float32 keeps; -1 for anything else: results are values of steps.
  int ReadAsItIs(const Op& op) const {
    const int x = IsCast(op) && op.outputs()[0]->type.dtype == DType::kF32 ? Register(op, 0) : -1;
    return x >= program_.operands ? x : -1;
  }

  absl::Status Add(ElementStep step) {
    if (program_.steps == ElementProgram::kMaxSteps) return Refused(*spec_.op, "there are too many steps");
    program_.step[program_.steps++] = step;
    return absl::OkStatus();
  }

  uint8_t Register(const Op& op, int flat) const { return static_cast<uint8_t>(registers_.at(op.inputs()[flat]->name())); }

  absl::Status ReadStep(const Op& op) {
    ElementStep step{.x = Register(op, 0), .round = op.outputs()[0]->type.dtype};
    if (IsCast(op)) return Add(step);
    if (excess_) step.round = DType::kF32;
    if (op.type() == "sum") return ReadSum(op);
    if (const BinaryRow* row = FindBinary(op)) {
      step.kind = StepKind::kBinary;
      step.functor = static_cast<uint8_t>(row->functor);
      step.y = Register(op, 1);
      return Add(step);
    }
    if (op.input("Out@GRAD") != nullptr) return ReadGradient(op, step);
    step.kind = StepKind::kUnary;
    return ReadUnary(op, step);
  }

  absl::Status ReadUnary(const Op& op, ElementStep step) {
    UnaryOp functor;
    Params<double> params;
    if (const UnaryRow* row = FindUnary(op)) {
      functor = FunctorOf(*row, op);
      params = ParamsOf(*row, op);
    } else if (op.type() == "scale") {
      functor = op.GetBool("bias_after_scale", true) ? UnaryOp::kScaleThenBias : UnaryOp::kBiasThenScale;
      params = {op.GetFloat("scale", 1), op.GetFloat("bias", 0), 0};
    } else if (op.type() == "clip") {
      functor = UnaryOp::kClip;
      params = {op.GetFloat("min"), op.GetFloat("max"), 0};
    } else if (op.type() == "pow") {
      const double factor = op.GetFloat("factor", 1);
      functor = PowerFunctor(factor);
      params = functor == UnaryOp::kScaleThenBias ? Params<double>{1, -0.0, 0} : Params<double>{factor, 0, 0};
    } else {
      return Refused(op, "the op is no step of fused_elementwise");
    }
    step.functor = static_cast<uint8_t>(functor);
    step.params = Narrow(params);
    return Add(step);
  }

  absl::Status ReadGradient(const Op& op, ElementStep step) {
    const int slot = op.input("X") != nullptr ? op.def().InputSlot("X") : op.def().InputSlot("Out");
    const Var* value = slot < 0 ? nullptr : op.input(slot);
    if (value == nullptr) return Refused(op, "neither X nor Out is there");
    step.kind = StepKind::kGradient;
    step.x = static_cast<uint8_t>(registers_.at(value->name()));
    step.y = static_cast<uint8_t>(registers_.at(op.input("Out@GRAD")->name()));
    functors::UnaryGradient functor;
    Params<double> params;
    if (const UnaryGradientRow* row = FindUnaryGradient(op)) {
      functor = FunctorOf(*row, op);
      params = ParamsOf(*row, op);
    } else if (op.type() == "clip_grad") {
      functor = functors::UnaryGradient::kClipGrad;
      params = {op.GetFloat("min"), op.GetFloat("max"), 0};
    } else if (op.type() == "pow_grad") {
      params.a = op.GetFloat("factor", 1);
      functor = PowerGradient(params.a);
    } else {
      return Refused(op, "the op is no step of fused_elementwise");
    }
    step.functor = static_cast<uint8_t>(functor);
    step.params = Narrow(params);
    return Add(step);
  }

  // Added from first to last in float, rounded once.
  absl::Status ReadSum(const Op& op) {
    const int n = static_cast<int>(op.inputs().size());
    const DType type = excess_ ? DType::kF32 : op.outputs()[0]->type.dtype;
    ElementStep step{.x = Register(op, 0), .round = type};
    if (n == 1) return Add(step);
    step.kind = StepKind::kBinary;
    step.functor = static_cast<uint8_t>(Op2::kAdd);
    for (int i = 1; i < n; ++i) {
      step.y = Register(op, i);
      step.round = i + 1 < n ? DType::kF32 : type;
      AMPC_RETURN_IF_ERROR(Add(step));
      step.x = static_cast<uint8_t>(program_.operands + program_.steps - 1);
    }
    return absl::OkStatus();
  }

  const KernelSpec& spec_;
  ElementProgram& program_;
  const bool excess_;
  absl::flat_hash_map<std::string, int> registers_;
  std::vector<int> named_;  // the register of each value v0, v1, ...
};

}  // namespace

absl::StatusOr<FusedSpec> ReadFused(const KernelSpec& spec) {
  if (spec.inputs.size() > ElementProgram::kMaxOperands || spec.outputs.size() > ElementProgram::kMaxResults) {
    return Refused(*spec.op, "there are too many operands or results");
  }
  FusedSpec out;
  out.whole.assign(spec.outputs[0].dims.begin(), spec.outputs[0].dims.end());
  const std::vector<int64_t> axes = spec.op->GetInts("axes");
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    const Dims& dims = spec.inputs[i].dims;
    std::vector<int64_t> aligned(out.whole.size(), 1);
    const int64_t room = static_cast<int64_t>(out.whole.size()) - static_cast<int64_t>(dims.size());
    const int64_t axis = room == 0 ? 0 : axes[i] < 0 ? room : axes[i];
    if (room < 0 || axis > room) return Refused(*spec.op, absl::StrCat("operand ", i, " does not fit the result"));
    for (size_t d = 0; d < dims.size(); ++d) aligned[axis + static_cast<int64_t>(d)] = dims[d];
    out.operands.push_back(std::move(aligned));
  }
  AMPC_ASSIGN_OR_RETURN(const Program body, ParseSteps(spec));
  AMPC_RETURN_IF_ERROR(Reader(spec, &out).Read(body));
  return out;
}

}  // namespace ampc
