#include "graph/type.h"

#include <limits>

#include "absl/strings/str_cat.h"

namespace ampc {

TensorType TensorType::Unranked(DType t) {
  TensorType type;
  type.dtype = t;
  return type;
}

TensorType TensorType::Opaque() {
  TensorType type;
  type.kind = TypeKind::kOpaque;
  return type;
}

bool TensorType::IsStatic() const {
  if (!has_rank) return false;
  for (int64_t d : dims) {
    if (!IsKnown(d)) return false;
  }
  return true;
}

int64_t TensorType::NumElements() const {
  if (!IsStatic()) return -1;
  int64_t n = 1;
  for (int64_t d : dims) {
    if (__builtin_mul_overflow(n, d, &n)) return -1;
  }
  return n;
}

TensorType TensorType::WithDType(DType t) const {
  TensorType type = *this;
  type.dtype = t;
  return type;
}

bool Compatible(const TensorType& a, const TensorType& b) {
  if (a.kind != b.kind) {
    const bool open = a.LacksDType() || b.LacksDType();
    return open && (a.kind == TypeKind::kTensorArray || b.kind == TypeKind::kTensorArray);
  }
  if (a.kind == TypeKind::kOpaque) return true;
  if (a.dtype != b.dtype && a.dtype != DType::kInvalid && b.dtype != DType::kInvalid) return false;
  if (!a.has_rank || !b.has_rank) return true;
  if (a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i) {
    if (IsKnown(a.dims[i]) && IsKnown(b.dims[i]) && a.dims[i] != b.dims[i]) return false;
  }
  return true;
}

std::string ToString(const TensorType& type) {
  if (type.kind == TypeKind::kOpaque) return "opaque";
  std::string out(Name(type.dtype));
  if (type.kind == TypeKind::kTensorArray) out = absl::StrCat("array<", out, ">");
  absl::StrAppend(&out, " [");
  if (!type.has_rank) absl::StrAppend(&out, "*");
  for (int i = 0; i < type.rank(); ++i) {
    absl::StrAppend(&out, i == 0 ? "" : ", ");
    if (IsKnown(type.dims[i])) {
      absl::StrAppend(&out, type.dims[i]);
    } else {
      absl::StrAppend(&out, "?");
    }
  }
  absl::StrAppend(&out, "]");
  if (type.lod_level > 0) absl::StrAppend(&out, " lod=", type.lod_level);
  return out;
}

}  // namespace ampc
