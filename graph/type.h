// TensorType: what the compiler knows about a value before it exists.
#pragma once

#include <cstdint>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "graph/base/dtype.h"

namespace ampc {

// A dimension: >= 0 is known, kUnknownDim is not, and values below it name a symbol: -2 - k is symbol k of the
// Program's symbol table. Inference treats every negative dimension as unknown but copies it, so symbols survive.
using Dims = absl::InlinedVector<int64_t, 4>;
inline constexpr int64_t kUnknownDim = -1;
constexpr bool IsKnown(int64_t dim) { return dim >= 0; }

enum class TypeKind : uint8_t {
  kTensor,
  kTensorArray,  // a list of tensors of one element type; dims describe an element
  kOpaque,       // a framework object (step scopes, readers, raw blobs): carried, never read
};

// Same length, same dimensions: as `==`, without a call for the few that there are.
inline bool SameDims(const Dims& a, const Dims& b) {
  if (a.size() != b.size()) return false;
  const int64_t* const x = a.data();
  const int64_t* const y = b.data();
  for (size_t i = 0; i < a.size(); ++i) {
    if (x[i] != y[i]) return false;
  }
  return true;
}

struct TensorType {
  TypeKind kind = TypeKind::kTensor;
  DType dtype = DType::kInvalid;  // kInvalid: not known yet
  bool has_rank = false;
  Dims dims;          // empty when !has_rank
  int lod_level = 0;  // > 0: carried through, not executed

  TensorType() = default;
  TensorType(DType t, Dims d) : dtype(t), has_rank(true), dims(std::move(d)) {}
  static TensorType Unranked(DType t);
  static TensorType Opaque();

  int rank() const { return static_cast<int>(dims.size()); }
  bool IsStatic() const;  // ranked with every dimension known
  // Elements of a static type; -1 when not static or on overflow.
  int64_t NumElements() const;
  bool IsFloat() const { return kind != TypeKind::kOpaque && ampc::IsFloat(dtype); }
  // A tensor, but nothing says yet of what.
  bool LacksDType() const { return kind == TypeKind::kTensor && dtype == DType::kInvalid; }
  TensorType WithDType(DType t) const;

  friend bool operator==(const TensorType& a, const TensorType& b) {
    return a.kind == b.kind && a.dtype == b.dtype && a.has_rank == b.has_rank && a.lod_level == b.lod_level && SameDims(a.dims, b.dims);
  }
};

// True when some concrete type satisfies both: equal kind, dtype and lod level, and no two known dims differ.
bool Compatible(const TensorType& a, const TensorType& b);
// `f32 [?, 6, 26]`, `f32 [*]` without rank, `array<f32> [..]`, `opaque`; symbols print as `?` (the text printer knows their names).
std::string ToString(const TensorType& type);

}  // namespace ampc
