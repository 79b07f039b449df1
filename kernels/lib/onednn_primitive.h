// Owners of oneDNN objects. Only kernels/lib includes this: oneDNN's types, status codes and version end here.
#pragma once

#include <dnnl.h>

#include <atomic>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/base/host_tensor.h"
#include "kernels/lib/activation.h"
#include "kernels/weight_cache.h"

namespace ampc::onednn {

// A sentence with the function of the call: unsupported (exit 4) where oneDNN does not take what it is asked for, else internal.
absl::Status CallError(dnnl_status_t status, const char* call);
#define AMPC_DNNL_CALL(expr)                                                             \
  do {                                                                                   \
    const dnnl_status_t ampc_dnnl_ = (expr);                                             \
    if (ampc_dnnl_ != dnnl_success) return ::ampc::onednn::CallError(ampc_dnnl_, #expr); \
  } while (false)

template <auto destroy>
struct Destroy {
  template <typename T>
  void operator()(T* handle) const {
    destroy(handle);
  }
};
template <typename Handle, auto destroy>
using Owner = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy<destroy>>;
using PrimitiveDesc = Owner<dnnl_primitive_desc_t, dnnl_primitive_desc_destroy>;
using Attr = Owner<dnnl_primitive_attr_t, dnnl_primitive_attr_destroy>;
using PostOps = Owner<dnnl_post_ops_t, dnnl_post_ops_destroy>;
using MemoryDesc = dnnl_memory_desc_t;  // a plain value in oneDNN 2

dnnl_engine_t Engine();  // the process's CPU engine; stateless

absl::StatusOr<PostOps> MakePostOps();
// Appends the eltwise steps of an activation.
absl::Status AppendActivation(const Activation& activation, dnnl_post_ops_t ops);
// Scratchpad given by the caller, and a copy of `ops`.
absl::StatusOr<Attr> MakeAttr(dnnl_post_ops_t ops);
// Null (not an error) when oneDNN has no implementation. `forward`: the primitive that a gradient belongs to.
absl::StatusOr<PrimitiveDesc> MakePrimitiveDesc(const_dnnl_op_desc_t desc, const_dnnl_primitive_attr_t attr,
                                                const_dnnl_primitive_desc_t forward = nullptr);
// The same for one implementation; null when it does not take the shape.
absl::StatusOr<PrimitiveDesc> MakePrimitiveDescOf(absl::string_view implementation, const_dnnl_op_desc_t desc,
                                                  const_dnnl_primitive_attr_t attr);
// One for each implementation that takes the shape, in oneDNN's order, until `visit` returns false.
absl::Status ForEachPrimitiveDesc(const_dnnl_op_desc_t desc, const_dnnl_primitive_attr_t attr,
                                  absl::FunctionRef<bool(PrimitiveDesc)> visit);
std::string ImplementationOf(const_dnnl_primitive_desc_t pd);  // "brgconv:avx512_core"
MemoryDesc QueryDesc(const_dnnl_primitive_desc_t pd, dnnl_query_t what);
int64_t Bytes(const MemoryDesc& desc);
// Copies the floats of `data` from element `first` on, which lie as `from` says, to the order and type of `to`; shared through `cache`
// unless that is null.
absl::StatusOr<WeightCache::Packed> Pack(const HostTensor& data, int64_t first, const MemoryDesc& from, const MemoryDesc& to,
                                         WeightCache* cache);

// A compiled primitive. Immutable: any number of threads may Execute at the same time.
class Primitive {
 public:
  struct Arg {
    int id;  // DNNL_ARG_SRC, ...
    MemoryDesc desc;
    const void* fixed = nullptr;  // a buffer that stays the same for every run, packed weights; Execute ignores what it is given
  };
  static absl::StatusOr<std::unique_ptr<Primitive>> Create(const_dnnl_primitive_desc_t pd, std::vector<Arg> args);
  // From any order and type to any other.
  static absl::StatusOr<std::unique_ptr<Primitive>> CreateReorder(const MemoryDesc& from, const MemoryDesc& to);
  ~Primitive();

  // Buffers in the order of `args`, then the scratchpad (which may be null when scratchpad_bytes() is 0).
  absl::Status Execute(absl::Span<const void* const> buffers) const;
  int64_t scratchpad_bytes() const { return scratchpad_bytes_; }

 private:
  struct Binding;  // the mutable objects of one run; a run takes a free one
  Primitive() = default;
  Binding* Take() const;
  absl::StatusOr<Binding*> NewBinding() const;

  Owner<dnnl_primitive_t, dnnl_primitive_destroy> primitive_;
  std::vector<Arg> args_;
  int64_t scratchpad_bytes_ = 0;
  mutable std::atomic<Binding*> bindings_{nullptr};  // a list that only grows
};

}  // namespace ampc::onednn
