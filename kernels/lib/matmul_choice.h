// Which of oneDNN's implementations computes a product, or a part of one. Only kernels/lib includes this.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/lib/matmul_spec.h"
#include "kernels/lib/onednn_primitive.h"

namespace ampc::onednn {

// A part of the result: rows [m0, m0 + m), columns [n0, n0 + n), and of a single leading dim the positions [b0, b0 + b).
struct ProductPart {
  int64_t b0 = 0, b = 0, m0 = 0, m = 0, n0 = 0, n = 0;
};
ProductPart WholeProduct(const MatmulSpec& s);

struct ProductChoice {
  PrimitiveDesc pd;
  MemoryDesc a, b, bias, out;
  DType type = DType::kF32, out_type = DType::kF32;  // of the factors; of the result
  bool bf16() const { return type == DType::kBF16; }
};

// spec.implementation where that takes the shape, else the one that the shapes ask for. `pack_b`: b may lie in any order. Unimplemented
// where oneDNN has none.
absl::StatusOr<ProductChoice> ChooseProduct(const MatmulSpec& s, const ProductPart& part, bool pack_b);
// What MatmulSpec::implementation may be: the first is what ChooseProduct takes by itself.
absl::StatusOr<std::vector<std::string>> ProductImplementations(const MatmulSpec& s, bool pack_b);
// All that the time of a product depends on, except the number of threads: a key of KernelChoices.
std::string ShapeText(const MatmulSpec& s, bool constant_b);

// b of a part as it lies when it is not packed, and the elements of its rows and of one matrix.
absl::StatusOr<MemoryDesc> BDesc(const MatmulSpec& s, const ProductPart& part, dnnl_data_type_t type);
int64_t BRow(const MatmulSpec& s);
int64_t BSize(const MatmulSpec& s);

}  // namespace ampc::onednn
