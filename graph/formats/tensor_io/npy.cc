#include "graph/formats/tensor_io/npy.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/dtype_switch.h"
#include "graph/base/error.h"
#include "graph/base/mapped_file.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"
#include "graph/formats/tensor_io/npy_header.h"

namespace ampc {
namespace {

// Copies elements stored with the first dimension fastest into row-major order.
void CopyFromFortranOrder(const char* in, absl::Span<const int64_t> dims, size_t element, char* out) {
  const auto strides = RowMajorStrides(dims);
  std::vector<int64_t> index(dims.size(), 0);
  const int64_t count = *NumElements(dims);
  int64_t target = 0;
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(out + static_cast<size_t>(target) * element, in + static_cast<size_t>(i) * element, element);
    for (size_t d = 0; d < dims.size(); ++d) {
      target += strides[d];
      if (++index[d] < dims[d]) break;
      target -= strides[d] * dims[d];
      index[d] = 0;
    }
  }
}

void SwapBytes(char* data, size_t count, size_t element) {
  for (size_t i = 0; i < count; ++i) std::reverse(data + i * element, data + (i + 1) * element);
}

}  // namespace

absl::StatusOr<HostTensor> ParseNpy(absl::string_view file, absl::string_view name) {
  AMPC_ASSIGN_OR_RETURN(const NpyHeader header, ParseNpyHeader(file, name));
  const absl::string_view data = file.substr(header.data_offset);
  const auto bytes = static_cast<size_t>(*NumBytes(header.dtype, header.dims));
  if (data.size() != bytes) return WrongNpySize(header, name, data.size());
  AMPC_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::CreateUninitialized(header.dtype, header.dims));
  if (bytes == 0) return tensor;
  const size_t element = SizeOf(header.dtype);
  char* out = static_cast<char*>(tensor.mutable_data());
  if (header.fortran_order && header.dims.size() > 1) {
    CopyFromFortranOrder(data.data(), header.dims, element, out);
  } else {
    std::memcpy(out, data.data(), bytes);
  }
  const size_t part = IsComplex(header.dtype) ? element / 2 : element;
  if (header.big_endian && part > 1) SwapBytes(out, bytes / part, part);
  // A bool object must hold 0 or 1.
  if (header.dtype == DType::kBool) std::transform(out, out + bytes, out, [](char c) { return static_cast<char>(c != 0); });
  return tensor;
}

absl::StatusOr<HostTensor> ReadNpy(const std::string& path) {
  AMPC_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  return ParseNpy(file.text(), path);
}

bool HasNumpyType(DType dtype) { return dtype != DType::kBF16 && !IsPacked(dtype) && !IsSmallFloat(dtype); }

absl::StatusOr<HostTensor> AsNumpy(const HostTensor& tensor) {
  const DType from = tensor.dtype();
  const bool real = from == DType::kBF16 || IsSmallFloat(from);
  const DType to = HasNumpyType(from) ? from : real ? DType::kF32 : IsSignedInteger(from) ? DType::kI8 : DType::kU8;
  AMPC_ASSIGN_OR_RETURN(HostTensor out, HostTensor::CreateUninitialized(to, tensor.dims()));
  if (!real) {
    if (tensor.size_bytes() > 0) std::memcpy(out.mutable_data(), tensor.data(), tensor.size_bytes());
    return out;
  }
  Select<StoredTypes>(from, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_arithmetic_v<T>) {
      std::transform(tensor.values<T>().begin(), tensor.values<T>().end(), out.mutable_values<float>().begin(),
                     [](T v) { return static_cast<float>(v); });
    }
  });
  return out;
}

absl::Status WriteNpy(const std::string& path, const HostTensor& tensor, AtomicFileWriter::Options options) {
  if (tensor.dtype() == DType::kInvalid) return InternalError(absl::StrCat(path, ": a tensor without an element type cannot be written"));
  if (!HasNumpyType(tensor.dtype())) {
    AMPC_ASSIGN_OR_RETURN(const HostTensor wide, AsNumpy(tensor));
    return WriteNpy(path, wide, options);
  }
  AMPC_ASSIGN_OR_RETURN(AtomicFileWriter writer, AtomicFileWriter::Create(path, options));
  AMPC_RETURN_IF_ERROR(writer.Append(MakeNpyHeader(tensor.dtype(), tensor.dims())));
  AMPC_RETURN_IF_ERROR(writer.Append(tensor.bytes()));
  return writer.Commit();
}

}  // namespace ampc
