#include "tests/cuda/kernel_compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"
#include "kernels/round.h"
#include "kernels/storage.h"
#include "runtime/compare/difference.h"
#include "runtime/plan/constants.h"
#include "runtime/plan/liveness.h"
#include "runtime/plan/specialize.h"
#include "tests/testlib/device_tolerance.h"
#include "tests/testlib/kernels_ran.h"
#include "tests/testlib/redzone_memory.h"

namespace ampc::testing {
namespace {

int64_t BytesOf(const TensorDesc& desc) { return desc.NumElements() * static_cast<int64_t>(SizeOf(desc.dtype)); }

absl::StatusOr<HostTensor> RowMajor(const TensorDesc& desc, const HostTensor& value, bool to_channels_last) {
  AMPC_ASSIGN_OR_RETURN(HostTensor out, HostTensor::CreateUninitialized(value.dtype(), desc.dims));
  const int64_t channels = desc.dims[1], pixels = desc.dims[2] * desc.dims[3], size = static_cast<int64_t>(SizeOf(value.dtype()));
  const char* from = static_cast<const char*>(value.data());
  char* to = static_cast<char*>(out.mutable_data());
  for (int64_t n = 0; n < desc.dims[0]; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t p = 0; p < pixels; ++p) {
        const int64_t plain = (n * channels + c) * pixels + p, last = (n * pixels + p) * channels + c;
        std::memcpy(to + (to_channels_last ? last : plain) * size, from + (to_channels_last ? plain : last) * size,
                    static_cast<size_t>(size));
      }
    }
  }
  return out;
}

// The op by whose tolerance a result is judged: a chain of one step by that step, "v1 = NAME(v0) ...".
std::string JudgedAs(const Op& op) {
  const AttrValue* attr = op.attr("steps");
  const auto* steps = op.type() == "fused_elementwise" && attr != nullptr ? std::get_if<std::vector<std::string>>(attr) : nullptr;
  if (steps == nullptr || steps->size() != 1) return op.type();
  const std::string& step = steps->front();
  const size_t begin = step.find("= ") + 2, first = step.find(' ', begin), end = std::min(step.find('(', begin), first);
  return step.substr(begin, end - begin);
}

// "" or how a result differs; `largest` is that of the CPU's finite values.
std::string Difference(const HostTensor& found, const HostTensor& needed, DType declared, const std::string& op) {
  const std::vector<double> have = ToDoubles(found), want = ToDoubles(needed);
  double largest = 0;
  for (const double v : want) largest = std::isfinite(v) ? std::max(largest, std::abs(v)) : largest;
  const DeviceTolerance tolerance = DeviceToleranceFor(op, declared);
  for (size_t i = 0; i < want.size(); ++i) {
    if (!WithinDeviceTolerance(have[i], want[i], declared, largest, tolerance)) {
      return absl::StrCat("element ", i, " of ", want.size(), " is ", have[i], ", the CPU has ", want[i], " (largest ", largest, ", ",
                          tolerance.ulps, " ulps and ", tolerance.of_largest, " of the largest allowed)");
    }
  }
  return "";
}

class Comparison {
 public:
  Comparison(const KernelRegistry& kernels, Device& device, ComparedKernels* out) : kernels_(kernels), device_(device), out_(*out) {}

  absl::Status Run(const Program& program, const TensorMap& feeds) {
    AMPC_ASSIGN_OR_RETURN(const Constants constants, Constants::Load(program));
    const Liveness liveness(program);
    const PlanContext context{program, constants, liveness, CpuKernels()};
    std::vector<KnownFeed> known;
    for (const Var* feed : program.feeds) {
      const auto at = feeds.find(feed->exported());
      if (at == feeds.end()) return InternalError(absl::StrCat("feed ", feed->exported(), " is missing"));
      known.push_back({at->second.dims()});
    }
    AMPC_ASSIGN_OR_RETURN(const Specialized s, Specialize(context, WholeRange(program), known));
    AMPC_RETURN_IF_ERROR(s.stopped);
    values_.resize(s.descs.size());
    for (size_t v = 0; v < s.values.size(); ++v) {
      if (s.values[v] != nullptr) values_[v] = *s.values[v];
    }
    for (const Var* feed : program.feeds) {
      if (values_[feed->id()].has_value()) continue;
      AMPC_ASSIGN_OR_RETURN(values_[feed->id()], ToStorage(feeds.at(feed->exported())));
    }
    AMPC_ASSIGN_OR_RETURN(stream_, device_.NewStream());
    for (const OpInstance& op : s.ops) AMPC_RETURN_IF_ERROR(RunOp(op, SpecOf(op, s, context)));
    return absl::OkStatus();
  }

 private:
  absl::Status RunOp(const OpInstance& op, KernelSpec spec) {
    AMPC_RETURN_IF_ERROR(RunOnCpu(op, spec));
    const KernelEntry* entry = kernels_.Find(op.op->type());
    if (entry == nullptr || entry->make == nullptr) return absl::OkStatus();
    spec.device = &device_;
    AMPC_RETURN_IF_ERROR(RunOnDevice(op, spec, *entry));
    KernelSpec last = spec;
    if (!MakeChannelsLast(*entry, &last)) return absl::OkStatus();
    return RunOnDevice(op, last, *entry);
  }

  static bool MakeChannelsLast(const KernelEntry& entry, KernelSpec* spec) {
    if (entry.layouts == LayoutSupport::kPlainOnly) return false;
    const auto make = [](std::vector<TensorDesc>& descs, size_t count) {
      bool any = false;
      for (size_t i = 0; i < std::min(count, descs.size()); ++i) {
        if (descs[i].dims.size() != 4) continue;
        descs[i].layout = Layout::kChannelsLast;
        any = true;
      }
      return any;
    };
    const bool all = entry.layouts == LayoutSupport::kElementwise;
    const bool in = make(spec->inputs, all ? spec->inputs.size() : 1), out = make(spec->outputs, all ? spec->outputs.size() : 1);
    if (!all) {  // what a gradient starts from lies as operand 0 does
      for (size_t i = 1; i < spec->inputs.size(); ++i) {
        const std::string& slot = spec->op->def().inputs[spec->op->InputSlotOf(static_cast<int>(i))].name;
        if ((slot == "Y@GRAD" || slot == "Out@GRAD" || slot == "Output@GRAD" || slot == "ResidualData") &&
            spec->inputs[i].dims.size() == 4) {
          spec->inputs[i].layout = Layout::kChannelsLast;
        }
      }
    }
    return in && out && AcceptsLayouts(entry, *spec);
  }

  absl::Status RunOnCpu(const OpInstance& op, const KernelSpec& spec) {
    const KernelEntry* entry = CpuKernels().Find(op.op->type());
    if (entry == nullptr) return NoKernel(*op.op);
    AMPC_ASSIGN_OR_RETURN(const std::unique_ptr<Kernel> kernel, MakeKernel(*entry, spec));
    std::vector<const void*> in;
    std::vector<void*> out;
    for (ValueId v : op.inputs) in.push_back(values_[v]->data());
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      const TensorDesc& desc = spec.outputs[i];
      AMPC_ASSIGN_OR_RETURN(values_[op.outputs[i]], HostTensor::Create(StorageType(desc.dtype), desc.dims));
      out.push_back(values_[op.outputs[i]]->mutable_data());
    }
    if (const int alias = kernel->alias_input(); alias >= 0) {
      if (spec.outputs[0].StorageBytes() > 0) std::memcpy(out[0], in[alias], static_cast<size_t>(spec.outputs[0].StorageBytes()));
      return absl::OkStatus();
    }
    AMPC_ASSIGN_OR_RETURN(HostTensor workspace, HostTensor::CreateUninitialized(DType::kU8, {kernel->workspace_bytes() + 64}));
    AMPC_RETURN_IF_ERROR(kernel->Run({in, absl::MakeSpan(out), workspace.mutable_data(), 1}));
    if (kernel->rounds_results()) return absl::OkStatus();
    for (size_t i = 0; i < out.size(); ++i) RoundTo(spec.outputs[i].dtype, static_cast<float*>(out[i]), spec.outputs[i].NumElements());
    return absl::OkStatus();
  }

  absl::Status RunOnDevice(const OpInstance& op, const KernelSpec& spec, const KernelEntry& entry) {
    absl::StatusOr<std::unique_ptr<Kernel>> kernel = MakeKernel(entry, spec);
    if (ExitCodeOf(kernel.status()) == ExitCode::kUnsupported) {
      out_.refused.push_back(absl::StrCat(op.op->type(), ": ", kernel.status().message()));
      return absl::OkStatus();
    }
    if (!kernel.ok()) return Fail(op, spec, kernel.status().ToString());
    out_.compared.emplace(op.op->type(), EntryTypeOf(spec));
    NoteKernelRan(op.op->type(), spec);
    absl::StatusOr<std::vector<HostTensor>> found = RunOnce(op, spec, **kernel, {});
    // Products are a library's, which wants addresses as a plan has them.
    if (RedzoneMemory::Displaces() && absl::StrContains(found.status().message(), "of a matrix product is not aligned"))
      return absl::OkStatus();
    if (!found.ok()) return Fail(op, spec, found.status().ToString());
    for (size_t i = 0; i < found->size(); ++i) {
      const std::string difference = Difference((*found)[i], *values_[op.outputs[i]], spec.outputs[i].dtype, JudgedAs(*op.op));
      if (!difference.empty()) return Fail(op, spec, absl::StrCat("result ", i, ": ", difference));
    }
    const std::vector<int> shared = SharedMemory(op, spec, **kernel);
    if (std::all_of(shared.begin(), shared.end(), [](int i) { return i < 0; })) return absl::OkStatus();
    absl::StatusOr<std::vector<HostTensor>> placed = RunOnce(op, spec, **kernel, shared);
    if (!placed.ok()) return Fail(op, spec, absl::StrCat("in place: ", placed.status().ToString()));
    for (size_t i = 0; i < found->size(); ++i) {
      if (!((*placed)[i] == (*found)[i])) return Fail(op, spec, absl::StrCat("result ", i, " differs in place"));
    }
    return absl::OkStatus();
  }

  // Per result: the operand in whose memory it may have to lie. States of ops with several results lie in place whatever the kernel says.
  static std::vector<int> SharedMemory(const OpInstance& op, const KernelSpec& spec, const Kernel& kernel) {
    std::vector<int> shared(op.outputs.size(), -1);
    if (op.outputs.empty() || kernel.alias_input() >= 0) return shared;
    const int in_place = kernel.in_place_input();
    if (in_place >= 0 && BytesOf(spec.inputs[in_place]) == BytesOf(spec.outputs[0])) shared[0] = in_place;
    if (op.outputs.size() == 1) return shared;
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      for (size_t k = 0; k < op.inputs.size(); ++k) {
        if (op.op->outputs()[i] == op.op->inputs()[k]) shared[i] = static_cast<int>(k);
      }
    }
    return shared;
  }

  absl::StatusOr<HostTensor> OnDevice(const HostTensor& stored, const TensorDesc& desc) const {
    AMPC_ASSIGN_OR_RETURN(HostTensor t, FromStorage(stored, desc.dtype));
    return desc.layout == Layout::kPlain ? std::move(t) : RowMajor(desc, t, true);
  }

  absl::StatusOr<std::vector<HostTensor>> RunOnce(const OpInstance& op, const KernelSpec& spec, const Kernel& kernel,
                                                  const std::vector<int>& shared) {
    std::vector<RedzoneMemory> inputs, outputs;
    std::vector<HostTensor> given;
    std::vector<const void*> in;
    std::vector<void*> out;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      AMPC_ASSIGN_OR_RETURN(HostTensor t, OnDevice(*values_[op.inputs[i]], spec.inputs[i]));
      AMPC_RETURN_IF_ERROR(
          inputs.emplace_back(*stream_).Allocate(BytesOf(spec.inputs[i]), static_cast<int64_t>(SizeOf(spec.inputs[i].dtype))));
      AMPC_RETURN_IF_ERROR(inputs[i].Write(t.data()));
      given.push_back(std::move(t));
      in.push_back(inputs[i].data());
    }
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      AMPC_RETURN_IF_ERROR(
          outputs.emplace_back(*stream_).Allocate(BytesOf(spec.outputs[i]), static_cast<int64_t>(SizeOf(spec.outputs[i].dtype))));
      const int operand = i < shared.size() ? shared[i] : -1;
      out.push_back(operand < 0 ? outputs[i].data() : inputs[operand].data());
    }
    RedzoneMemory workspace(*stream_);
    AMPC_RETURN_IF_ERROR(workspace.Allocate(kernel.workspace_bytes()));
    if (const int alias = kernel.alias_input(); alias >= 0) {
      AMPC_RETURN_IF_ERROR(stream_->CopyOnDevice(out[0], in[alias], BytesOf(spec.outputs[0])));
    } else {
      AMPC_RETURN_IF_ERROR(kernel.Run({in, absl::MakeSpan(out), workspace.data(), 1, stream_.get()}));
    }
    AMPC_RETURN_IF_ERROR(stream_->Synchronize());
    return Collect(op, spec, inputs, outputs, workspace, given, shared);
  }

  absl::StatusOr<std::vector<HostTensor>> Collect(const OpInstance& op, const KernelSpec& spec, const std::vector<RedzoneMemory>& inputs,
                                                  const std::vector<RedzoneMemory>& outputs, const RedzoneMemory& workspace,
                                                  const std::vector<HostTensor>& given, const std::vector<int>& shared) {
    AMPC_RETURN_IF_ERROR(workspace.CheckRedzone("its workspace"));
    for (size_t i = 0; i < inputs.size(); ++i) {
      AMPC_RETURN_IF_ERROR(inputs[i].CheckRedzone(absl::StrCat("operand ", i)));
      if (std::find(shared.begin(), shared.end(), static_cast<int>(i)) != shared.end()) continue;
      AMPC_ASSIGN_OR_RETURN(HostTensor now, HostTensor::CreateUninitialized(given[i].dtype(), given[i].dims()));
      AMPC_RETURN_IF_ERROR(inputs[i].Read(now.mutable_data()));
      if (!(now == given[i])) return InternalError(absl::StrCat("the kernel changed operand ", i));
    }
    std::vector<HostTensor> results;
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      AMPC_RETURN_IF_ERROR(outputs[i].CheckRedzone(absl::StrCat("result ", i)));
      const TensorDesc& desc = spec.outputs[i];
      AMPC_ASSIGN_OR_RETURN(HostTensor t, HostTensor::CreateUninitialized(desc.dtype, desc.dims));
      const int operand = i < shared.size() ? shared[i] : -1;
      AMPC_RETURN_IF_ERROR((operand < 0 ? outputs[i] : inputs[operand]).Read(t.mutable_data()));
      if (desc.layout != Layout::kPlain) {
        AMPC_ASSIGN_OR_RETURN(t, RowMajor(desc, t, false));
      }
      results.push_back(std::move(t));
    }
    return results;
  }

  absl::Status Fail(const OpInstance& op, const KernelSpec& spec, absl::string_view what) {
    std::string types;
    for (const TensorDesc& d : spec.inputs) {
      absl::StrAppend(&types, " ", Name(d.dtype), ShapeToString(d.dims), d.layout == Layout::kPlain ? "" : " channels-last");
    }
    out_.failures.push_back(absl::StrCat(Describe(*op.op), " of", types, ": ", what));
    return absl::OkStatus();
  }

  const KernelRegistry& kernels_;
  Device& device_;
  ComparedKernels& out_;
  std::unique_ptr<Stream> stream_;
  std::vector<std::optional<HostTensor>> values_;  // by ValueId, in storage type
};

}  // namespace

absl::Status CompareKernels(const Program& program, const TensorMap& feeds, const KernelRegistry& kernels, Device& device,
                            ComparedKernels* out) {
  return Comparison(kernels, device, out).Run(program, feeds);
}

}  // namespace ampc::testing
