// Paddle's type numbers and type descriptions.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/base/dtype.h"
#include "graph/type.h"
#include "proto/paddle_framework.pb.h"

namespace ampc::paddle {

// VarType.type of what is not an element type.
enum VarTypeNumber : int32_t {
  kLodTensor = 7,
  kSelectedRows = 8,
  kFeedMinibatch = 9,
  kFetchList = 10,
  kLodTensorArray = 13,
  kReader = 15,
  kRaw = 17,
};

// nullopt for a number that is no element type of ours (strings, float8, ...).
std::optional<DType> DTypeOfNumber(int32_t number);
// -1 for kInvalid, which Paddle uses for "not given".
int32_t NumberOfDType(DType dtype);

// A description that ampc does not model, or whose element type it does not have, becomes opaque. Paddle writes no
// dimensions both for a scalar and for an unknown shape, so an empty list has no rank.
TensorType ImportType(const VarType& desc);

// Writes `type`'s element type and, if `dims` is true, its shape over `desc`; other fields stay. An opaque type
// changes nothing.
void PatchType(const TensorType& type, bool dims, VarType* desc);
// A description made from nothing; an opaque type becomes RAW.
void ExportType(const TensorType& type, VarType* desc);

}  // namespace ampc::paddle
