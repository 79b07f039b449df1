#include "graph/formats/paddle/types.h"

namespace ampc::paddle {
namespace {

struct Row {
  int32_t number;
  DType dtype;
};
constexpr Row kRows[] = {
    {0, DType::kBool}, {1, DType::kI16}, {2, DType::kI32}, {3, DType::kI64},   {4, DType::kF16},  {5, DType::kF32},
    {6, DType::kF64},  {20, DType::kU8}, {21, DType::kI8}, {22, DType::kBF16}, {23, DType::kC64}, {24, DType::kC128},
};

// Null when the description has no element type of the kind it names.
const LoDTensorDesc* ElementDesc(const VarType& desc) {
  if (desc.type() == kLodTensor) return desc.has_lod_tensor() ? &desc.lod_tensor() : nullptr;
  if (desc.type() == kLodTensorArray) return desc.has_tensor_array() ? &desc.tensor_array() : nullptr;
  return nullptr;
}

}  // namespace

std::optional<DType> DTypeOfNumber(int32_t number) {
  for (const Row& row : kRows) {
    if (row.number == number) return row.dtype;
  }
  return std::nullopt;
}

int32_t NumberOfDType(DType dtype) {
  for (const Row& row : kRows) {
    if (row.dtype == dtype) return row.number;
  }
  return -1;
}

TensorType ImportType(const VarType& desc) {
  const LoDTensorDesc* element = ElementDesc(desc);
  if (element == nullptr) {
    // A tensor without a description: its type is what the op that defines it says.
    return desc.type() == kLodTensor ? TensorType::Unranked(DType::kInvalid) : TensorType::Opaque();
  }
  const std::optional<DType> dtype = DTypeOfNumber(element->tensor().data_type());
  if (!dtype.has_value()) return TensorType::Opaque();
  TensorType type = TensorType::Unranked(*dtype);
  if (desc.type() == kLodTensorArray) type.kind = TypeKind::kTensorArray;
  type.lod_level = element->lod_level();
  if (element->tensor().dims().empty()) return type;
  type.has_rank = true;
  for (const int64_t dim : element->tensor().dims()) type.dims.push_back(dim < 0 ? kUnknownDim : dim);
  return type;
}

void PatchType(const TensorType& type, bool dims, VarType* desc) {
  if (type.kind == TypeKind::kOpaque) return;
  TensorDesc* tensor = (type.kind == TypeKind::kTensorArray ? desc->mutable_tensor_array() : desc->mutable_lod_tensor())->mutable_tensor();
  tensor->set_data_type(type.dtype == DType::kInvalid ? NumberOfDType(DType::kF32) : NumberOfDType(type.dtype));
  if (!dims) return;
  tensor->clear_dims();
  for (const int64_t dim : type.dims) tensor->add_dims(IsKnown(dim) ? dim : -1);
}

void ExportType(const TensorType& type, VarType* desc) {
  desc->Clear();
  switch (type.kind) {
    case TypeKind::kTensor: desc->set_type(kLodTensor); break;
    case TypeKind::kTensorArray: desc->set_type(kLodTensorArray); break;
    case TypeKind::kOpaque: desc->set_type(kRaw); return;
  }
  PatchType(type, true, desc);
  if (type.lod_level == 0) return;
  (type.kind == TypeKind::kTensorArray ? desc->mutable_tensor_array() : desc->mutable_lod_tensor())->set_lod_level(type.lod_level);
}

}  // namespace ampc::paddle
