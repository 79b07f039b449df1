#include "passes/analysis/time_model.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "graph/op_record.h"
#include "graph/op_registry.h"
#include "graph/ops/onnx/dialect.h"
#include "passes/analysis/block_runs.h"
#include "passes/analysis/per_record.h"
#include "passes/analysis/schema_support.h"

namespace ampc {
namespace {

double DeclaredElements(const TensorType& type) {
  double n = 1;
  for (const int64_t d : type.dims) n *= IsKnown(d) ? static_cast<double>(d) : 1.0;
  return n;
}

// Bytes that an op reads and writes in float32, and the elements that follow its precision.
struct Traffic {
  double bytes = 0, elements = 0;
};

double BytesInASecond(const DeviceNumbers& device, double bytes) { return bytes <= device.near ? device.near_bytes : device.far_bytes; }

// A sweep over that many bytes.
double SweepSeconds(const DeviceNumbers& device, double bytes) { return bytes / BytesInASecond(device, bytes) + device.sweep; }

// As many times as many results of a convolution or product are computed as there are, in vectors along channels or columns.
double Padding(const Op& op, double lanes) {
  const TensorType& type = op.outputs()[0]->type;
  if (!type.has_rank || type.rank() < 2) return 1;
  const bool convolves = type.rank() > 2 && absl::StrContains(onnx::NativeName(op.def()), "conv");
  const int64_t along = type.dims[convolves ? 1 : type.rank() - 1];
  return along > 0 ? std::ceil(static_cast<double>(along) / lanes) * lanes / static_cast<double>(along) : 1;
}

bool IsPointwise(const OpDef& def) {
  const absl::string_view name = onnx::NativeName(def);
  const OpDef* native = Ops().Find(name);
  return name == "batch_norm" || (native != nullptr && native->fused_step);
}

bool IsFloat32(const Var& var) { return var.type.dtype == DType::kF32 || var.was == DType::kF32; }

}  // namespace

ProgramSizes SizesOf(const Program& program, const Program& sized) {
  ProgramSizes sizes;
  sizes.runs = BlockRuns(sized);
  sizes.costs.resize(program.num_op_ids());
  sizes.elements.resize(program.num_var_ids(), 1);
  for (int b = 0; b < program.num_blocks(); ++b) {
    const Block &from = program.block(b), &to = sized.block(b);
    for (size_t i = 0; i < from.ops().size(); ++i) {
      sizes.costs[from.ops()[i]->id()] = CostOf(*to.ops()[i]);
    }
    for (size_t i = 0; i < from.vars().size(); ++i) sizes.elements[from.vars()[i]->id()] = DeclaredElements(to.vars()[i]->type);
  }
  return sizes;
}

TimeModel::TimeModel(const Program& program, const ProgramSizes* sizes, const DeviceNumbers& device, DType low)
    : sizes_(sizes), feeds_(sizes == nullptr ? "" : sizes->feeds), device_(device), low_(low), known_(program.num_var_ids(), false) {
  runs_ = sizes != nullptr && sizes->runs.size() == static_cast<size_t>(program.num_blocks()) ? sizes->runs : BlockRuns(program);
  ForEachVar(program, [this](const Var& var) { known_[var.id()] = var.kind == VarKind::kParam || var.kind == VarKind::kConst; });
  ForEachOp(program, [this](const Op& op) {
    if (!op.def().pure || !op.SubBlocks().empty()) return;
    const bool known = std::all_of(op.inputs().begin(), op.inputs().end(), [this](const Var* var) { return known_[var->id()]; });
    for (const Var* var : op.outputs()) known_[var->id()] = known && var->kind == VarKind::kTemp;
  });
  FindJoined(program);
}

// Plans compute an element-wise op together with the product, convolution or element-wise op before it, where nothing else reads what is
// between.
void TimeModel::FindJoined(const Program& program) {
  joined_in_.assign(program.num_op_ids(), -1);
  if (device_.joined == 0) return;
  std::vector<const Op*> maker(program.num_var_ids(), nullptr);
  std::vector<int> readers(program.num_var_ids(), 0);
  ForEachOp(program, [&](const Op& op) {
    for (const Var* var : op.inputs()) ++readers[var->id()];
    for (const Var* var : op.outputs()) maker[var->id()] = &op;
  });
  for (const Var* fetch : program.fetches) ++readers[fetch->id()];
  PerRecord<bool> pointwise;
  ForEachOp(program, [&](const Op& op) {
    if (op.outputs().empty() || !pointwise.Of(op.def(), IsPointwise)) return;
    for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
      const Var& var = *op.inputs()[i];
      const Op* before = maker[var.id()];
      const bool alone = var.kind == VarKind::kTemp && !known_[var.id()] && readers[var.id()] == 1;
      if (!alone || before == nullptr || Elements(var) != Elements(*op.outputs()[0])) continue;
      if (AmpClassOf(*before) != AmpClass::kAllow && !pointwise.Of(before->def(), IsPointwise)) continue;
      joined_in_[op.id()] = i;
      return;
    }
  });
}

double TimeModel::Elements(const Var& var) const {
  return sizes_ != nullptr && var.id() < static_cast<int>(sizes_->elements.size()) ? sizes_->elements[var.id()]
                                                                                   : DeclaredElements(var.type);
}

bool TimeModel::FollowsIn(const Op& op, int flat) const {
  return IsFloat32(*op.inputs()[flat]) && InputPrecisionFor(op.def(), op.InputSlotOf(flat), low_) == SlotPrecision::kFollow;
}

bool TimeModel::FollowsOut(const Op& op, int flat) const {
  return IsFloat32(*op.outputs()[flat]) && OutputPrecisionFor(op.def(), op.OutputSlotOf(flat), low_) == SlotPrecision::kFollow;
}

double TimeModel::OpSeconds(const Op& op, bool low) const {
  if (op.marks.amp == AmpMark::kInserted) return 0;
  if (std::all_of(op.outputs().begin(), op.outputs().end(), [this](const Var* var) { return known_[var->id()]; })) return 0;
  const bool may_be_measured = sizes_ != nullptr && op.id() < static_cast<int>(sizes_->measured.size());
  const MeasuredOp measured = may_be_measured ? sizes_->measured[op.id()] : MeasuredOp();
  if (!measured.fp32.has_value()) return runs_[op.block().index()] * FromWork(op, low);
  if (!low) return *measured.fp32;
  if (measured.low.has_value()) return *measured.low;
  const double fp32 = FromWork(op, false);
  return fp32 > 0 ? *measured.fp32 * FromWork(op, true) / fp32 : *measured.fp32;
}

double TimeModel::FromWork(const Op& op, bool low) const {
  const Cost cost = sizes_ != nullptr && op.id() < static_cast<int>(sizes_->costs.size()) ? sizes_->costs[op.id()] : CostOf(op);
  if (cost.flops == 0 && cost.bytes == 0) return 0;
  const bool grouped = op.GetInt("groups", 1) > 1 || op.GetInt("group", 1) > 1;
  const double f32_rate = grouped ? device_.f32_grouped : device_.f32_flops;
  const double rate =
      low_ == DType::kBF16 ? (grouped ? device_.bf16_grouped : device_.bf16_flops) : (grouped ? device_.f16_grouped : device_.f16_flops);
  low = low && rate > 0;  // no instructions for it: float32 is computed, and lies in memory
  Traffic traffic;
  double declared = 0;  // what the record counts, which may be a part of it: the rows that an index names
  const auto add = [&](const Var& var, bool follows) {
    const double elements = Elements(var);
    declared += elements * static_cast<double>(SizeOf(var.type.dtype));
    traffic.bytes += elements * static_cast<double>(follows ? 4 : SizeOf(var.type.dtype));
    if (follows) traffic.elements += elements;
  };
  const int joined = op.id() < static_cast<int>(joined_in_.size()) ? joined_in_[op.id()] : -1;
  for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
    if (i != joined) add(*op.inputs()[i], FollowsIn(op, i));
  }
  if (joined >= 0) {
    const double read = (traffic.bytes - (low ? 2 * traffic.elements : 0)) / BytesInASecond(device_, traffic.bytes);
    return Elements(*op.outputs()[0]) / device_.joined + read;
  }
  for (int i = 0; i < static_cast<int>(op.outputs().size()); ++i) add(*op.outputs()[i], FollowsOut(op, i));
  const double part = declared > 0 ? std::min(1.0, cost.bytes / declared) : 1;
  traffic.bytes *= part;
  traffic.elements *= part;

  const bool multiplies = AmpClassOf(op) == AmpClass::kAllow;
  const double work = multiplies && !grouped ? cost.flops * Padding(op, device_.lanes) : cost.flops;
  const double fp32 = std::max(work / f32_rate, SweepSeconds(device_, traffic.bytes));
  if (!low) return fp32;
  const double rounded = multiplies || device_.in_tiles == 0 ? 0 : traffic.elements / device_.in_tiles;
  const double flops = work / (multiplies ? rate : device_.f32_flops);
  // A device may keep float32 where it is faster.
  return std::min(fp32, std::max(flops, SweepSeconds(device_, traffic.bytes - 2 * traffic.elements)) + rounded);
}

double TimeModel::CastSeconds(const Var& var, int block) const {
  return known_[var.id()] ? 0 : runs_[block] * (Elements(var) / device_.converted + device_.sweep);
}

}  // namespace ampc
