// scatter_nd_update and put_along_axis: updates joined with the elements at positions that an index tensor gives, in order. An index below
// 0 counts from the end; one out of range is an error that names it.
#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph/base/dtype_switch.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/common/integer.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"
#include "kernels/cpu/index/nd_index.h"

namespace ampc {
namespace {

enum class Join : uint8_t { kReplace, kAdd, kMul, kMax, kMin };

Join ReadJoin(const std::string& name) {
  return name == "add" ? Join::kAdd : name == "mul" ? Join::kMul : name == "max" ? Join::kMax : name == "min" ? Join::kMin : Join::kReplace;
}

// NaN wins over numbers.
template <typename T, Join join>
T Joined(T x, T y) {
  if constexpr (join == Join::kMax) return y > x || y != y ? y : x;
  if constexpr (join == Join::kMin) return y < x || y != y ? y : x;
  if constexpr (std::is_integral_v<T>) {
    return join == Join::kAdd ? integer::Add(x, y) : integer::Mul(x, y);
  } else {
    return join == Join::kAdd ? x + y : x * y;
  }
}

// Joins `n` neighbours; elements, or bytes of them where they are replaced.
using JoinFn = void (*)(const void* from, void* to, int64_t n);

template <typename T, Join join>
void JoinRow(const void* from, void* to, int64_t n) {
  const T* x = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  for (int64_t i = 0; i < n; ++i) out[i] = Joined<T, join>(out[i], x[i]);
}

template <typename T>
JoinFn FindJoin(Join join) {
  switch (join) {
    case Join::kAdd: return &JoinRow<T, Join::kAdd>;
    case Join::kMul: return &JoinRow<T, Join::kMul>;
    case Join::kMax: return &JoinRow<T, Join::kMax>;
    case Join::kMin: return &JoinRow<T, Join::kMin>;
    default: return nullptr;
  }
}

JoinFn FindJoin(Join join, DType storage) {
  return Select<Numbers>(storage, [join](auto tag) { return FindJoin<typename decltype(tag)::type>(join); });
}

struct Updater {
  std::string name;
  int x = 0, index = 0, updates = 0;  // flat operands
  DType type = DType::kI64;           // of the index
  bool from_end = true;               // of PositionIn
  int64_t bytes = 0, size = 1;        // of X; of an element
  JoinFn join = nullptr;              // null: replace

  void Start(const KernelArgs& args) const {
    if (args.inputs[x] != args.outputs[0] && bytes > 0) std::memcpy(args.outputs[0], args.inputs[x], static_cast<size_t>(bytes));
  }
  // Number `i` of the index tensor, in [0, n).
  absl::Status At(const KernelArgs& args, int64_t i, int64_t n, int64_t* at) const {
    const int64_t v = ReadAsInt(args.inputs[index], type, i);
    *at = PositionIn(v, n, from_end);
    return *at >= 0 ? absl::OkStatus() : BadIndex(name, i, v, n, from_end);
  }
  // `n` elements of the updates from `from` on join those of the result from `to` on.
  void Apply(const KernelArgs& args, int64_t from, int64_t to, int64_t n) const {
    const char* in = static_cast<const char*>(args.inputs[updates]) + from * size;
    char* out = static_cast<char*>(args.outputs[0]) + to * size;
    join == nullptr ? static_cast<void>(std::memcpy(out, in, static_cast<size_t>(n * size))) : join(in, out, n);
  }
};

absl::StatusOr<Updater> ReadUpdater(const SpecView& view, absl::string_view x, absl::string_view updates, absl::string_view reduce) {
  const TensorDesc& desc = view.InDesc(x);
  Updater u{Describe(view.op()),        view.In(x),
            view.In("Index"),           view.In(updates),
            view.InDesc("Index").dtype, view.op().GetBool("from_end", true),
            desc.StorageBytes(),        ElementSize(desc.dtype)};
  const Join join = ReadJoin(view.op().GetString(reduce));
  u.join = FindJoin(join, StorageType(desc.dtype));
  if (join != Join::kReplace && u.join == nullptr) return view.Unsupported("elements of this type cannot be joined, only replaced");
  return u;
}

KernelTraits TraitsOf(const Updater& u) {
  KernelTraits traits;
  traits.rounds_results = u.join == nullptr;
  traits.in_place_input = u.x;
  return traits;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeNd(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_ASSIGN_OR_RETURN(Updater u, ReadUpdater(view, "X", "Updates", "reduce"));
  AMPC_ASSIGN_OR_RETURN(NdIndexSpec nd, ReadNdIndex(view, "Index", view.InDesc("X").dims));
  return MakeLambdaKernel(TraitsOf(u), [u, nd = std::move(nd)](const KernelArgs& args) {
    u.Start(args);
    const int64_t depth = static_cast<int64_t>(nd.sizes.size());
    for (int64_t row = 0; row < nd.rows; ++row) {
      int64_t slot = 0, at = 0;
      for (int64_t k = 0; k < depth; ++k) {
        AMPC_RETURN_IF_ERROR(u.At(args, row * depth + k, nd.sizes[k], &at));
        slot = slot * nd.sizes[k] + at;
      }
      u.Apply(args, row * nd.row_elements, slot * nd.row_elements, nd.row_elements);
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeAlongAxis(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_ASSIGN_OR_RETURN(Updater u, ReadUpdater(view, "Input", "Value", "Reduce"));
  const Dims &dims = view.InDesc("Input").dims, &index = view.InDesc("Index").dims;
  const int64_t rank = static_cast<int64_t>(dims.size()), axis = FromEnd(view.op().GetInt("Axis"), rank);
  if (axis < 0 || axis >= rank || index.size() != dims.size()) return view.Internal("Axis or Index does not fit Input");
  return MakeLambdaKernel(TraitsOf(u), [u, dims, index, rank, axis](const KernelArgs& args) {
    u.Start(args);
    int64_t total = 1;
    for (int64_t d : index) total *= d;
    std::vector<int64_t> at(rank, 0);
    for (int64_t i = 0; i < total; ++i) {
      int64_t named = 0, to = 0;
      AMPC_RETURN_IF_ERROR(u.At(args, i, dims[axis], &named));
      for (int64_t d = 0; d < rank; ++d) to = to * dims[d] + (d == axis ? named : at[d]);
      u.Apply(args, i, to, 1);
      for (int64_t d = rank; d-- > 0 && ++at[d] == index[d];) at[d] = 0;
    }
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterUpdate(KernelRegistry* registry) {
  AMPC_RETURN_IF_ERROR(registry->Add({"put_along_axis", &MakeAlongAxis, MovableTypes()}));
  return registry->Add({"scatter_nd_update", &MakeNd, MovableTypes()});
}

}  // namespace ampc
