#include "kernels/lib/onednn_primitive.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <cstdio>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/lasting_tensor.h"

namespace ampc::onednn {
namespace {

using Memory = Owner<dnnl_memory_t, dnnl_memory_destroy>;
using Stream = Owner<dnnl_stream_t, dnnl_stream_destroy>;

struct Step {
  dnnl_alg_kind_t algorithm;
  float alpha, beta;
};

std::vector<Step> Steps(const Activation& act) {
  switch (act.kind) {
    case ActivationKind::kNone: return {};
    case ActivationKind::kRelu: return {{dnnl_eltwise_relu, 0, 0}};
    case ActivationKind::kRelu6: return {{dnnl_eltwise_clip, 0, act.alpha}};
    case ActivationKind::kLeakyRelu: return {{dnnl_eltwise_relu, act.alpha, 0}};
    case ActivationKind::kSigmoid: return {{dnnl_eltwise_logistic, 0, 0}};
    case ActivationKind::kTanh: return {{dnnl_eltwise_tanh, 0, 0}};
    case ActivationKind::kGelu: return {{dnnl_eltwise_gelu_erf, 0, 0}};
    case ActivationKind::kGeluTanh: return {{dnnl_eltwise_gelu_tanh, 0, 0}};
    case ActivationKind::kSwish: return {{dnnl_eltwise_swish, act.alpha, 0}};
    case ActivationKind::kHardSwish: return {{dnnl_eltwise_hardswish, 0, 0}};
    case ActivationKind::kHardSigmoid: return {{dnnl_eltwise_linear, act.alpha, act.beta}, {dnnl_eltwise_clip, 0, 1}};
  }
  return {};
}

// If oneDNN's code generator, or its search for an implementation, gets no memory, it writes through null. A primitive takes up to 2 MB, in
// pieces of 256 kB; so many more are asked for that what it needs besides is there, too. Free memory of a limited address space is all that
// this can see, and all that is refused here.
constexpr size_t kRoomForPrimitive = size_t{16} << 20;

// Whether the process may map only so much, or all memory that is mapped is accounted for.
bool MappingsAreLimited() {
  static const bool accounted = [] {
    const std::unique_ptr<FILE, int (*)(FILE*)> mode(std::fopen("/proc/sys/vm/overcommit_memory", "re"), &std::fclose);
    return mode == nullptr || std::fgetc(mode.get()) == '2';
  }();
  if (accounted) return true;
  for (const auto which : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit;
    if (getrlimit(which, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY) return true;
  }
  return false;
}

absl::Status CheckRoomForPrimitive() {
  if (!MappingsAreLimited()) return absl::OkStatus();
  void* room = mmap(nullptr, kRoomForPrimitive, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED)
    return InternalError(absl::StrCat("out of memory: to compile an oneDNN primitive needs ", kRoomForPrimitive, " bytes"));
  munmap(room, kRoomForPrimitive);
  return absl::OkStatus();
}

}  // namespace

absl::Status CallError(dnnl_status_t status, const char* call) {
  const absl::string_view function = absl::string_view(call).substr(0, absl::string_view(call).find('('));
  if (status == dnnl_out_of_memory) return InternalError(absl::StrCat("out of memory: oneDNN had none left in ", function));
  if (status == dnnl_invalid_arguments || status == dnnl_unimplemented) {
    return UnsupportedError(absl::StrCat("oneDNN does not compute operands of these sizes with these attributes (", function, ")"));
  }
  return InternalError(absl::StrCat("oneDNN: status ", static_cast<int>(status), " from ", function));
}

dnnl_engine_t Engine() {
  static dnnl_engine_t const engine = [] {
    dnnl_engine_t e = nullptr;
    dnnl_engine_create(&e, dnnl_cpu, 0);
    return e;
  }();
  return engine;
}

absl::StatusOr<PostOps> MakePostOps() {
  dnnl_post_ops_t raw = nullptr;
  AMPC_DNNL_CALL(dnnl_post_ops_create(&raw));
  return PostOps(raw);
}

absl::Status AppendActivation(const Activation& activation, dnnl_post_ops_t ops) {
  for (const Step& s : Steps(activation)) AMPC_DNNL_CALL(dnnl_post_ops_append_eltwise(ops, 1.0f, s.algorithm, s.alpha, s.beta));
  if (activation.scale != 1 || activation.shift != 0) {
    AMPC_DNNL_CALL(dnnl_post_ops_append_eltwise(ops, 1.0f, dnnl_eltwise_linear, activation.scale, activation.shift));
  }
  return absl::OkStatus();
}

absl::StatusOr<Attr> MakeAttr(dnnl_post_ops_t ops) {
  dnnl_primitive_attr_t raw = nullptr;
  AMPC_DNNL_CALL(dnnl_primitive_attr_create(&raw));
  Attr attr(raw);
  AMPC_DNNL_CALL(dnnl_primitive_attr_set_scratchpad_mode(raw, dnnl_scratchpad_mode_user));
  if (ops != nullptr) AMPC_DNNL_CALL(dnnl_primitive_attr_set_post_ops(raw, ops));
  return attr;
}

absl::StatusOr<PrimitiveDesc> MakePrimitiveDesc(const_dnnl_op_desc_t desc, const_dnnl_primitive_attr_t attr,
                                                const_dnnl_primitive_desc_t forward) {
  AMPC_RETURN_IF_ERROR(CheckRoomForPrimitive());
  dnnl_primitive_desc_t raw = nullptr;
  const dnnl_status_t status = dnnl_primitive_desc_create(&raw, desc, attr, Engine(), forward);
  if (status != dnnl_unimplemented) AMPC_DNNL_CALL(status);
  return PrimitiveDesc(raw);
}

absl::Status ForEachPrimitiveDesc(const_dnnl_op_desc_t desc, const_dnnl_primitive_attr_t attr,
                                  absl::FunctionRef<bool(PrimitiveDesc)> visit) {
  AMPC_RETURN_IF_ERROR(CheckRoomForPrimitive());
  dnnl_primitive_desc_iterator_t raw = nullptr;
  dnnl_status_t status = dnnl_primitive_desc_iterator_create(&raw, desc, attr, Engine(), nullptr);
  const Owner<dnnl_primitive_desc_iterator_t, dnnl_primitive_desc_iterator_destroy> each(raw);
  for (; status == dnnl_success; status = dnnl_primitive_desc_iterator_next(raw)) {
    PrimitiveDesc pd(dnnl_primitive_desc_iterator_fetch(raw));
    if (pd != nullptr && !visit(std::move(pd))) return absl::OkStatus();
  }
  if (status != dnnl_unimplemented && status != dnnl_iterator_ends) AMPC_DNNL_CALL(status);
  return absl::OkStatus();
}

absl::StatusOr<PrimitiveDesc> MakePrimitiveDescOf(absl::string_view implementation, const_dnnl_op_desc_t desc,
                                                  const_dnnl_primitive_attr_t attr) {
  PrimitiveDesc found;
  AMPC_RETURN_IF_ERROR(ForEachPrimitiveDesc(desc, attr, [&](PrimitiveDesc pd) {
    if (ImplementationOf(pd.get()) == implementation) found = std::move(pd);
    return found == nullptr;
  }));
  return found;
}

std::string ImplementationOf(const_dnnl_primitive_desc_t pd) {
  const char* text = nullptr;
  dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &text);
  return text == nullptr ? "" : text;
}

MemoryDesc QueryDesc(const_dnnl_primitive_desc_t pd, dnnl_query_t what) {
  const MemoryDesc* desc = dnnl_primitive_desc_query_md(pd, what, 0);
  return desc == nullptr ? MemoryDesc{} : *desc;
}

int64_t Bytes(const MemoryDesc& desc) { return static_cast<int64_t>(dnnl_memory_desc_get_size(&desc)); }

absl::StatusOr<WeightCache::Packed> Pack(const HostTensor& data, int64_t first, const MemoryDesc& from, const MemoryDesc& to,
                                         WeightCache* cache) {
  // Both layouts: a square weight that one product transposes and another does not is packed in one order from two.
  std::string format(reinterpret_cast<const char*>(&to), sizeof(to));
  absl::StrAppend(&format, absl::string_view(reinterpret_cast<const char*>(&from), sizeof(from)), "+", first);
  return GetPacked(cache, &data, format, [&]() -> absl::StatusOr<WeightCache::Packed> {
    AMPC_ASSIGN_OR_RETURN(const std::unique_ptr<Primitive> reorder, Primitive::CreateReorder(from, to));
    AMPC_ASSIGN_OR_RETURN(const std::shared_ptr<HostTensor> packed, CreateLasting(DType::kU8, {Bytes(to)}));
    AMPC_ASSIGN_OR_RETURN(const HostTensor scratch, HostTensor::CreateUninitialized(DType::kU8, {reorder->scratchpad_bytes()}));
    AMPC_RETURN_IF_ERROR(reorder->Execute({data.values<float>().data() + first, packed->mutable_data(), scratch.data()}));
    return packed;
  });
}

struct Primitive::Binding {
  std::atomic<bool> busy{true};
  Binding* next = nullptr;
  Stream stream;
  std::vector<Memory> memories;
  std::vector<const void*> buffers;  // bound to the memories; binding again costs more than comparing
  std::vector<dnnl_exec_arg_t> args;
};

absl::StatusOr<std::unique_ptr<Primitive>> Primitive::Create(const_dnnl_primitive_desc_t pd, std::vector<Arg> args) {
  AMPC_RETURN_IF_ERROR(CheckRoomForPrimitive());
  std::unique_ptr<Primitive> p(new Primitive);
  dnnl_primitive_t raw = nullptr;
  AMPC_DNNL_CALL(dnnl_primitive_create(&raw, pd));
  p->primitive_.reset(raw);
  p->args_ = std::move(args);
  const MemoryDesc scratchpad = QueryDesc(pd, dnnl_query_scratchpad_md);
  p->scratchpad_bytes_ = Bytes(scratchpad);
  if (p->scratchpad_bytes_ > 0) p->args_.push_back({DNNL_ARG_SCRATCHPAD, scratchpad});
  AMPC_ASSIGN_OR_RETURN(Binding* const first, p->NewBinding());
  first->busy = false;
  return p;
}

absl::StatusOr<std::unique_ptr<Primitive>> Primitive::CreateReorder(const MemoryDesc& from, const MemoryDesc& to) {
  AMPC_ASSIGN_OR_RETURN(const Attr attr, MakeAttr(nullptr));
  dnnl_primitive_desc_t raw = nullptr;
  AMPC_DNNL_CALL(dnnl_reorder_primitive_desc_create(&raw, &from, Engine(), &to, Engine(), attr.get()));
  const PrimitiveDesc pd(raw);
  return Create(raw, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

Primitive::~Primitive() {
  for (Binding* b = bindings_; b != nullptr;) delete std::exchange(b, b->next);
}

Primitive::Binding* Primitive::Take() const {
  for (Binding* b = bindings_.load(std::memory_order_acquire); b != nullptr; b = b->next) {
    if (!b->busy.load(std::memory_order_relaxed) && !b->busy.exchange(true, std::memory_order_acquire)) return b;
  }
  return nullptr;
}

absl::StatusOr<Primitive::Binding*> Primitive::NewBinding() const {
  auto binding = std::make_unique<Binding>();
  dnnl_stream_t stream = nullptr;
  AMPC_DNNL_CALL(dnnl_stream_create(&stream, Engine(), dnnl_stream_default_flags));
  binding->stream.reset(stream);
  for (const Arg& arg : args_) {
    dnnl_memory_t memory = nullptr;
    AMPC_DNNL_CALL(
        dnnl_memory_create(&memory, &arg.desc, Engine(), arg.fixed == nullptr ? DNNL_MEMORY_NONE : const_cast<void*>(arg.fixed)));
    binding->memories.emplace_back(memory);
    binding->buffers.push_back(arg.fixed);
    binding->args.push_back({arg.id, memory});
  }
  Binding* b = binding.release();
  b->next = bindings_.load(std::memory_order_relaxed);
  while (!bindings_.compare_exchange_weak(b->next, b, std::memory_order_release, std::memory_order_relaxed)) {
  }
  return b;
}

absl::Status Primitive::Execute(absl::Span<const void* const> buffers) const {
  Binding* b = Take();
  if (b == nullptr) {
    AMPC_ASSIGN_OR_RETURN(b, NewBinding());
  }
  dnnl_status_t status = dnnl_success;
  for (size_t i = 0; i < b->memories.size() && status == dnnl_success; ++i) {
    if (args_[i].fixed != nullptr || buffers[i] == b->buffers[i]) continue;
    status = dnnl_memory_set_data_handle(b->memories[i].get(), const_cast<void*>(buffers[i]));
    b->buffers[i] = status == dnnl_success ? buffers[i] : nullptr;
  }
  if (status == dnnl_success) {
    status = dnnl_primitive_execute(primitive_.get(), b->stream.get(), static_cast<int>(b->args.size()), b->args.data());
  }
  b->busy.store(false, std::memory_order_release);
  AMPC_DNNL_CALL(status);
  return absl::OkStatus();
}

}  // namespace ampc::onednn
