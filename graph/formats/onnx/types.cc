#include "graph/formats/onnx/types.h"

#include "absl/strings/str_cat.h"
#include "graph/formats/onnx/wire.h"
#include "graph/ops/onnx/dtype_number.h"

namespace ampc::onnx {
namespace {

constexpr int kTensorType = 1, kDenotation = 6, kElemType = 1, kShape = 2;  // of TypeProto and its Tensor
constexpr int kDim = 1, kDimValue = 1, kDimParam = 2;      // of TensorShapeProto and its Dimension

bool ImportDim(absl::string_view bytes, Symbols* symbols, int64_t* dim) {
  *dim = kUnknownDim;
  WireReader reader(bytes);
  for (WireField field; reader.Next(&field);) {
    if (field.Is(kDimValue, kVarint) && field.Int() >= 0) *dim = field.Int();
    if (field.Is(kDimParam, kBytes) && !field.bytes.empty()) *dim = symbols->Dim(field.bytes);
  }
  return reader.ok();
}

bool ImportShape(absl::string_view bytes, Symbols* symbols, TensorType* type) {
  type->has_rank = true;
  type->dims.clear();
  WireReader reader(bytes);
  for (WireField field; reader.Next(&field);) {
    if (field.Is(kDim, kBytes) && !ImportDim(field.bytes, symbols, &type->dims.emplace_back())) return false;
  }
  return reader.ok();
}

std::string ShapeBytes(const TensorType& type, const Program& program) {
  std::string shape, dim;
  for (const int64_t d : type.dims) {
    dim.clear();
    if (IsKnown(d)) AppendVarintField(kDimValue, static_cast<uint64_t>(d), &dim);
    if (d < kUnknownDim) AppendBytesField(kDimParam, program.symbols[static_cast<size_t>(-2 - d)], &dim);
    AppendBytesField(kDim, dim, &shape);
  }
  return shape;
}

std::string PatchedTensorType(absl::string_view bytes, const TensorType& type, bool dims, const Program& program) {
  std::string out;
  bool has_shape = false;
  WireReader reader(bytes);
  for (WireField field; reader.Next(&field);) {
    if (field.Is(kElemType, kVarint) && type.dtype != DType::kInvalid) {
      AppendVarintField(kElemType, static_cast<uint64_t>(NumberOfDType(type.dtype)), &out);
    } else if (field.Is(kShape, kBytes) && dims) {
      has_shape = true;
      if (type.has_rank) AppendBytesField(kShape, ShapeBytes(type, program), &out);
    } else {
      absl::StrAppend(&out, field.all);
    }
  }
  if (dims && !has_shape && type.has_rank) AppendBytesField(kShape, ShapeBytes(type, program), &out);
  return out;
}

}  // namespace

int64_t Symbols::Dim(absl::string_view symbol) {
  const auto it = dims_.find(symbol);
  if (it != dims_.end()) return it->second;
  program_->symbols.emplace_back(symbol);
  const int64_t dim = -1 - static_cast<int64_t>(program_->symbols.size());
  dims_.emplace(symbol, dim);
  return dim;
}

bool ImportType(absl::string_view bytes, Symbols* symbols, TensorType* type) {
  *type = TensorType::Unranked(DType::kInvalid);  // a description may be empty
  WireReader reader(bytes);
  for (WireField field; reader.Next(&field);) {
    if (field.number == kDenotation) continue;
    *type = TensorType::Opaque();
    if (!field.Is(kTensorType, kBytes)) continue;
    TensorType tensor = TensorType::Unranked(DType::kInvalid);
    int64_t number = 0;
    WireReader inner(field.bytes);
    for (WireField part; inner.Next(&part);) {
      if (part.Is(kElemType, kVarint)) number = part.Int();
      if (part.Is(kShape, kBytes) && !ImportShape(part.bytes, symbols, &tensor)) return false;
    }
    if (!inner.ok()) return false;
    tensor.dtype = DTypeOfNumber(number);
    if (number == 0 || tensor.dtype != DType::kInvalid) *type = std::move(tensor);
  }
  return reader.ok();
}

std::string PatchedType(absl::string_view bytes, const TensorType& type, bool dims, const Program& program) {
  std::string out;
  WireReader reader(bytes);
  for (WireField field; reader.Next(&field);) {
    if (field.Is(kTensorType, kBytes)) {
      AppendBytesField(kTensorType, PatchedTensorType(field.bytes, type, dims, program), &out);
    } else {
      absl::StrAppend(&out, field.all);
    }
  }
  return out;
}

std::string MakeValueInfo(absl::string_view name, const TensorType& type, const Program& program) {
  std::string out;
  AppendBytesField(1, name, &out);
  if (type.kind != TypeKind::kTensor) return out;
  std::string tensor, wrapped;
  if (type.dtype != DType::kInvalid) AppendVarintField(kElemType, static_cast<uint64_t>(NumberOfDType(type.dtype)), &tensor);
  if (type.has_rank) AppendBytesField(kShape, ShapeBytes(type, program), &tensor);
  AppendBytesField(kTensorType, tensor, &wrapped);
  AppendBytesField(2, wrapped, &out);
  return out;
}

}  // namespace ampc::onnx
