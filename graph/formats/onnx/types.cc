#include "graph/formats/onnx/types.h"

#include "absl/strings/str_cat.h"
#include "graph/formats/onnx/messages.h"
#include "graph/formats/onnx/wire.h"
#include "graph/ops/onnx/dtype_number.h"

namespace ampc::onnx {
namespace {

constexpr int kTensorType = 1, kSequenceType = 4, kDenotation = 6, kOptionalType = 9, kElemType = 1,
              kShape = 2;                              // of TypeProto and its Tensor
constexpr int kElementType = 1;                        // of TypeProto.Sequence and Optional
constexpr int kDim = 1, kDimValue = 1, kDimParam = 2;  // of TensorShapeProto and its Dimension

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

bool ImportTensor(absl::string_view bytes, Symbols* symbols, TensorType* type) {
  TensorType tensor = TensorType::Unranked(DType::kInvalid);
  int64_t number = 0;
  WireReader reader(bytes);
  for (WireField part; reader.Next(&part);) {
    if (part.Is(kElemType, kVarint)) number = part.Int();
    if (part.Is(kShape, kBytes) && !ImportShape(part.bytes, symbols, &tensor)) return false;
  }
  tensor.dtype = DTypeOfNumber(number);
  if (number == 0 || tensor.dtype != DType::kInvalid) *type = std::move(tensor);
  return reader.ok();
}

// The bytes of the last field `wanted` of the type of an element; "" where that is of another kind.
absl::string_view ElementOf(absl::string_view bytes, int wanted) {
  absl::string_view found;
  WireReader element(BytesField(bytes, kElementType));
  for (WireField field; element.Next(&field);) {
    if (field.Is(wanted, kBytes)) found = field.bytes;
  }
  return found;
}

// Elements may differ in dims, whatever the file says of them. Of a sequence of anything but tensors nothing is kept.
bool ImportSequence(absl::string_view bytes, Symbols* symbols, TensorType* type) {
  const absl::string_view element = ElementOf(bytes, kTensorType);
  TensorType tensor = TensorType::Opaque();
  if (!element.empty() && !ImportTensor(element, symbols, &tensor)) return false;
  if (tensor.kind != TypeKind::kTensor || tensor.dtype == DType::kInvalid) return true;
  *type = TensorType::Unranked(tensor.dtype);
  type->kind = TypeKind::kTensorArray;
  return true;
}

// As what it holds where it is there: nothing that is absent is executed.
bool ImportOptional(absl::string_view bytes, Symbols* symbols, TensorType* type) {
  const absl::string_view tensor = ElementOf(bytes, kTensorType), sequence = ElementOf(bytes, kSequenceType);
  if (!tensor.empty()) return ImportTensor(tensor, symbols, type);
  return sequence.empty() || ImportSequence(sequence, symbols, type);
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
    if (field.type != kBytes) continue;
    if (field.number == kTensorType && !ImportTensor(field.bytes, symbols, type)) return false;
    if (field.number == kSequenceType && !ImportSequence(field.bytes, symbols, type)) return false;
    if (field.number == kOptionalType && !ImportOptional(field.bytes, symbols, type)) return false;
  }
  return reader.ok();
}

std::string PatchedType(absl::string_view bytes, const TensorType& type, bool dims, const Program& program) {
  std::string out;
  WireReader reader(bytes);
  for (WireField field; reader.Next(&field);) {
    if (field.Is(kTensorType, kBytes)) {
      AppendBytesField(kTensorType, PatchedTensorType(field.bytes, type, dims, program), &out);
    } else if (field.Is(kOptionalType, kBytes)) {
      std::string inner;
      AppendBytesField(kElementType, PatchedType(BytesField(field.bytes, kElementType), type, dims, program), &inner);
      AppendBytesField(kOptionalType, inner, &out);
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
