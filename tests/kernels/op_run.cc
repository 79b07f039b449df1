#include "tests/kernels/op_run.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/infer_context.h"
#include "graph/program.h"
#include "kernels/halves.h"
#include "kernels/layout.h"
#include "kernels/round.h"
#include "kernels/storage.h"
#include "tests/kernels/device_run.h"
#include "tests/testlib/tolerance.h"

namespace ampc::testing {
namespace {

constexpr size_t kRedzone = 64;  // bytes after each result that no kernel may touch
constexpr int kPoison = 0xcd;
// Elements of an operand with which an op runs in each storage; tests of all floats of a type have more.
constexpr int64_t kMostInEachStorage = 1 << 16;

class ValueEnv final : public TypeEnv {
 public:
  const HostTensor* ValueOf(const Var& var) const override {
    const auto at = values.find(&var);
    return at == values.end() ? nullptr : at->second;
  }
  std::map<const Var*, const HostTensor*> values;
};

HostTensor Bytes(size_t n) {
  HostTensor t = *HostTensor::CreateUninitialized(DType::kU8, {static_cast<int64_t>(n)});
  std::memset(t.mutable_data(), kPoison, n);
  return t;
}

}  // namespace

Tensor Of(const Shape& dims, const std::vector<bool>& values) {
  Tensor t{DType::kBool, *HostTensor::Create(DType::kBool, dims)};
  std::copy(values.begin(), values.end(), t.stored.mutable_values<bool>().begin());
  return t;
}

Tensor Low(DType dtype, const Shape& dims, const std::vector<float>& values) {
  Tensor t = F32(dims, values);
  RoundTo(dtype, t.stored.mutable_values<float>().data(), t.stored.num_elements());
  t.dtype = dtype;
  return t;
}

Tensor Random(const Shape& dims, uint32_t seed, float low, float high) {
  Tensor t{DType::kF32, *HostTensor::Create(DType::kF32, dims)};
  std::minstd_rand rng(seed + 1);
  for (float& v : t.stored.mutable_values<float>()) v = low + (high - low) * static_cast<float>(rng() % 65536) / 65536.0f;
  return t;
}

struct OpRun::Prepared {
  Program program;
  Op* op = nullptr;
  ValueEnv env;
  KernelSpec spec;
  std::unique_ptr<Kernel> kernel;
};

OpRun& OpRun::Add(std::string slot, Tensor tensor, bool constant) {
  operands_.push_back({std::move(slot), std::move(tensor), constant});
  return *this;
}

OpRun& OpRun::Attr(std::string name, AttrValue value) {
  attrs_.push_back({std::move(name), std::move(value)});
  return *this;
}

OpRun& OpRun::ChannelsLast(std::string slot) {
  channels_last_.push_back(std::move(slot));
  return *this;
}

OpRun& OpRun::Out(std::string slot, int n) {
  for (int i = 0; i < n; ++i) results_.push_back({slot, {}});
  return *this;
}

OpRun& OpRun::OutAs(std::string slot, TensorType type) {
  results_.emplace_back(std::move(slot), std::move(type));
  return *this;
}

absl::StatusOr<std::unique_ptr<OpRun::Prepared>> OpRun::Prepare(int threads, Halves halves) const {
  auto p = std::make_unique<Prepared>();
  const OpDef* def = Ops().Find(op_);
  const KernelEntry* entry = CpuKernels().Find(op_);
  if (def == nullptr || entry == nullptr)
    return InternalError(absl::StrCat("op '", op_, "' has no ", def == nullptr ? "record" : "kernel"));
  Block& block = p->program.main();
  std::unique_ptr<Op> op = block.NewOp(def);
  std::map<const Var*, const Operand*> operand_of;
  std::vector<std::vector<Var*>> in(def->inputs.size()), out(def->outputs.size());
  for (const Operand& o : operands_) {
    const int slot = def->InputSlot(o.slot);
    if (slot < 0) return InternalError(absl::StrCat("op '", op_, "' has no operand slot ", o.slot));
    const TensorType type(o.tensor.dtype, Dims(o.tensor.dims().begin(), o.tensor.dims().end()));
    in[slot].push_back(block.AddVar(block.UniqueName(o.slot), VarKind::kFeed, type));
    operand_of[in[slot].back()] = &o;
    if (o.constant) p->env.values[in[slot].back()] = &o.tensor.stored;
  }
  for (const auto& [slot_name, type] : results_) {
    const int slot = def->OutputSlot(slot_name);
    if (slot < 0) return InternalError(absl::StrCat("op '", op_, "' has no result slot ", slot_name));
    out[slot].push_back(block.AddVar(block.UniqueName(slot_name), VarKind::kTemp, type));
  }
  for (size_t s = 0; s < in.size(); ++s) op->SetInputs(static_cast<int>(s), in[s]);
  for (size_t s = 0; s < out.size(); ++s) op->SetOutputs(static_cast<int>(s), out[s]);
  for (const ampc::Attr& attr : attrs_) op->SetAttr(attr.name, attr.value);
  p->op = block.Append(std::move(op));
  AMPC_ASSIGN_OR_RETURN(const auto types, InferOp(*p->op, p->env));
  p->spec = {p->op, {}, {}, {}, threads};
  for (const Var* var : p->op->inputs()) {
    const Operand& o = *operand_of[var];
    p->spec.inputs.push_back({o.tensor.dtype, var->type.dims});
    p->spec.values.push_back(o.constant ? &o.tensor.stored : nullptr);
  }
  for (size_t i = 0; i < types.size(); ++i) {
    const TensorType& type = types[i].has_value() ? *types[i] : p->op->outputs()[i]->type;
    if (!type.IsStatic()) return InternalError(absl::StrCat("result ", i, " of op '", op_, "' has the type ", ToString(type)));
    p->spec.outputs.push_back({type.dtype, type.dims});
  }
  const auto layout_of = [this](const SlotDef& slot, const TensorDesc& t) {
    const bool named = std::find(channels_last_.begin(), channels_last_.end(), slot.name) != channels_last_.end();
    return named && (t.dims.size() == 4 || t.dims.size() == 5) ? Layout::kChannelsLast : Layout::kPlain;
  };
  for (size_t i = 0; i < p->spec.inputs.size(); ++i) {
    p->spec.inputs[i].layout = layout_of(def->inputs[p->op->InputSlotOf(static_cast<int>(i))], p->spec.inputs[i]);
  }
  for (size_t i = 0; i < p->spec.outputs.size(); ++i) {
    p->spec.outputs[i].layout = layout_of(def->outputs[p->op->OutputSlotOf(static_cast<int>(i))], p->spec.outputs[i]);
  }
  for (size_t i = 0; i < p->spec.inputs.size(); ++i) {
    const bool stored = p->spec.values[i] == nullptr || entry->halves == HalfSupport::kMoves;
    p->spec.inputs[i].half = halves.operands && stored && p->spec.inputs[i].dtype == DType::kBF16;
  }
  for (TensorDesc& t : p->spec.outputs) t.half = halves.results && t.dtype == DType::kBF16;
  AMPC_ASSIGN_OR_RETURN(p->kernel, MakeKernel(*entry, p->spec));
  return p;
}

absl::StatusOr<std::unique_ptr<Kernel>> OpRun::Make() const {
  AMPC_ASSIGN_OR_RETURN(std::unique_ptr<Prepared> p, Prepare(1, {}));
  return std::move(p->kernel);
}

namespace {

HostTensor Stored(HostTensor value, const TensorDesc& desc) { return desc.half ? *FromStorage(value, desc.dtype) : std::move(value); }

// One run. `in_place`: the first result lies in the memory of that operand.
absl::StatusOr<std::vector<Tensor>> RunOnce(const KernelSpec& spec, const Kernel& kernel, absl::Span<const HostTensor* const> operands,
                                            int threads, int in_place) {
  std::vector<HostTensor> inputs, outputs;
  for (size_t i = 0; i < operands.size(); ++i)
    inputs.push_back(Stored(InLayout(*operands[i], spec.inputs[i], Layout::kPlain, spec.inputs[i].layout), spec.inputs[i]));
  const std::vector<HostTensor> given = inputs;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const HostTensor& t : inputs) in.push_back(t.data());
  for (const TensorDesc& desc : spec.outputs) {
    outputs.push_back(Bytes(static_cast<size_t>(desc.StorageBytes()) + kRedzone));
    out.push_back(outputs.back().mutable_data());
  }
  if (in_place >= 0) {
    if (inputs[in_place].size_bytes() > 0) std::memcpy(out[0], in[in_place], inputs[in_place].size_bytes());
    in[in_place] = out[0];
  }
  HostTensor workspace = Bytes(static_cast<size_t>(kernel.workspace_bytes()) + kRedzone);
  AMPC_RETURN_IF_ERROR(kernel.Run({in, absl::MakeSpan(out), workspace.mutable_data(), threads}));
  const auto intact = [](const HostTensor& t) {
    const auto redzone = t.bytes().last(kRedzone);
    return std::all_of(redzone.begin(), redzone.end(), [](std::byte b) { return b == std::byte{kPoison}; });
  };
  if (!intact(workspace)) return InternalError("the kernel wrote beyond its workspace");
  std::vector<Tensor> results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!intact(outputs[i])) return InternalError(absl::StrCat("the kernel wrote beyond result ", i));
    const TensorDesc& desc = spec.outputs[i];
    Tensor t{desc.dtype, *HostTensor::Create(StorageType(desc.dtype), desc.dims)};
    if (desc.half) {
      ConvertStored(outputs[i].data(), desc.dtype, t.stored.mutable_data(), DType::kF32, desc.NumElements(), 1);
    } else if (t.stored.size_bytes() > 0) {
      std::memcpy(t.stored.mutable_data(), outputs[i].data(), t.stored.size_bytes());
    }
    HostTensor rounded = t.stored;
    RoundTo(desc.dtype, rounded.mutable_values<float>().data(), static_cast<int64_t>(rounded.values<float>().size()));
    if (kernel.rounds_results() && !(rounded == t.stored)) return InternalError(absl::StrCat("result ", i, " is not rounded, as promised"));
    t.stored = InLayout(rounded, desc, desc.layout, Layout::kPlain);
    results.push_back(std::move(t));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (static_cast<int>(i) != in_place && !(inputs[i] == given[i])) return InternalError(absl::StrCat("the kernel changed operand ", i));
  }
  return results;
}

// The choice of RunOpsOn.
struct ChosenDevice {
  const KernelRegistry* kernels = nullptr;
  Device* device = nullptr;
} chosen;

bool SameBits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Tensor& x, const Tensor& y) { return x.stored == y.stored; });
}

}  // namespace

void RunOpsOn(const KernelRegistry& kernels, Device& device) { chosen = {&kernels, &device}; }

absl::StatusOr<std::vector<Tensor>> OpRun::RunStored(Halves halves, int threads) const {
  AMPC_ASSIGN_OR_RETURN(const std::unique_ptr<Prepared> p, Prepare(threads, halves));
  std::vector<const HostTensor*> operands;
  for (const SlotDef& slot : p->op->def().inputs) {
    for (const Operand& o : operands_) {
      if (o.slot == slot.name) operands.push_back(&o.tensor.stored);
    }
  }
  const int in_place = p->kernel->in_place_input();
  const bool fits = in_place >= 0 && p->spec.inputs[in_place].storage() == p->spec.outputs[0].storage();
  AMPC_ASSIGN_OR_RETURN(std::vector<Tensor> results, RunOnce(p->spec, *p->kernel, operands, threads, -1));
  if (!fits) return results;
  AMPC_ASSIGN_OR_RETURN(const std::vector<Tensor> placed, RunOnce(p->spec, *p->kernel, operands, threads, in_place));
  if (!SameBits(results, placed)) return InternalError("a result in halves differs in place");
  return results;
}

absl::Status OpRun::CheckHalves() const {
  const KernelEntry* entry = CpuKernels().Find(op_);
  if (entry == nullptr || entry->halves == HalfSupport::kNone) return absl::OkStatus();
  OpRun low = *this;
  for (const Operand& o : operands_) {
    if (o.tensor.stored.num_elements() > kMostInEachStorage) return absl::OkStatus();
  }
  for (Operand& o : low.operands_) {
    if (o.tensor.dtype == DType::kF32)
      o.tensor = Low(DType::kBF16, Shape(o.tensor.dims().begin(), o.tensor.dims().end()), o.tensor.floats());
  }
  for (auto& [slot, type] : low.results_) {
    if (type.dtype == DType::kF32) type.dtype = DType::kBF16;
  }
  if (!low.Prepare(1, {}).ok()) return absl::OkStatus();  // the op has no bf16, or an attribute says that it is float32
  AMPC_ASSIGN_OR_RETURN(const std::vector<Tensor> want, low.RunStored({}, 1));
  const bool moves = entry->halves == HalfSupport::kMoves;
  for (const Halves halves : {Halves{true, true}, Halves{true, false}, Halves{false, true}}) {
    if (moves && halves.operands != halves.results) continue;
    AMPC_ASSIGN_OR_RETURN(const std::vector<Tensor> got, low.RunStored(halves, 1));
    AMPC_ASSIGN_OR_RETURN(const std::vector<Tensor> of_three, low.RunStored(halves, 3));
    if (!SameBits(got, of_three)) return InternalError("three threads give another result in halves than one");
    for (size_t i = 0; i < want.size(); ++i) {
      if (got[i].stored == want[i].stored) continue;
      const std::vector<float> a = got[i].floats(), b = want[i].floats();
      double largest = 0;
      for (float v : b) largest = std::isfinite(v) ? std::max<double>(largest, std::abs(v)) : largest;
      const Tolerance one_rounding = RoundsFp32Exactly(op_, DType::kBF16) ? Tolerance{} : Tolerance{0x1p-7, 1e-4 * largest};
      for (size_t k = 0; k < b.size(); ++k) {
        if (Near(a[k], b[k], one_rounding)) continue;
        return InternalError(absl::StrCat("element ", k, " of result ", i, " is ", a[k], " in halves (operands ", halves.operands,
                                          ", results ", halves.results, "), ", b[k], " in float32"));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> OpRun::Run() const {
  AMPC_RETURN_IF_ERROR(CheckHalves());
  std::vector<Tensor> first;
  for (const int threads : {1, 3}) {
    AMPC_ASSIGN_OR_RETURN(const std::unique_ptr<Prepared> p, Prepare(threads, {}));
    std::vector<const HostTensor*> operands;  // flat order
    for (const SlotDef& slot : p->op->def().inputs) {
      for (const Operand& o : operands_) {
        if (o.slot == slot.name) operands.push_back(&o.tensor.stored);
      }
    }
    AMPC_ASSIGN_OR_RETURN(std::vector<Tensor> plain, RunOnce(p->spec, *p->kernel, operands, threads, -1));
    if (threads == 1) first = plain;
    if (!SameBits(first, plain)) return InternalError(absl::StrCat(threads, " threads give another result than 1"));
    if (const int i = p->kernel->in_place_input(); i >= 0) {
      if (operands[i]->size_bytes() != plain[0].stored.size_bytes())
        return InternalError("in_place_input has another size than the result");
      AMPC_ASSIGN_OR_RETURN(const std::vector<Tensor> placed, RunOnce(p->spec, *p->kernel, operands, threads, i));
      if (!SameBits(first, placed)) return InternalError("the result differs in place");
    }
    if (const int i = p->kernel->alias_input(); i >= 0) {
      const HostTensor in = InLayout(*operands[i], p->spec.inputs[i], Layout::kPlain, p->spec.inputs[i].layout);
      const HostTensor out = InLayout(plain[0].stored, p->spec.outputs[0], Layout::kPlain, p->spec.outputs[0].layout);
      if (in.bytes() != out.bytes()) return InternalError("alias_input has other bytes than the result");
    }
    const KernelEntry* entry = threads == 1 || chosen.kernels == nullptr ? nullptr : chosen.kernels->Find(op_);
    if (entry == nullptr) continue;
    std::vector<const HostTensor*> on_cpu;
    for (const Tensor& t : plain) on_cpu.push_back(&t.stored);
    absl::StatusOr<std::vector<HostTensor>> on_device = RunKernelOnDevice(*entry, p->spec, operands, on_cpu, *chosen.device);
    if (ExitCodeOf(on_device.status()) == ExitCode::kUnsupported) continue;  // the host runs it
    AMPC_ASSIGN_OR_RETURN(std::vector<HostTensor> results, std::move(on_device));
    for (size_t i = 0; i < results.size(); ++i) first[i].stored = std::move(results[i]);
  }
  return first;
}

}  // namespace ampc::testing
