#include "graph/weight.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/convert.h"
#include "graph/base/error.h"
#include "graph/base/mapped_file.h"
#include "graph/base/packed.h"
#include "graph/base/status_macros.h"
#include "graph/low_range.h"

namespace ampc {
namespace {

class FileSource : public WeightSource {
 public:
  explicit FileSource(MappedFile file) : file_(std::move(file)) {}
  const std::string& path() const override { return file_.path(); }
  absl::Span<const char> bytes() const override { return {file_.text().data(), file_.size()}; }
  void Release(uint64_t offset, uint64_t bytes) const override { file_.Release(offset, bytes); }

 private:
  MappedFile file_;
};

class BufferSource : public WeightSource {
 public:
  explicit BufferSource(std::string bytes) : bytes_(std::move(bytes)) {}
  const std::string& path() const override { return path_; }
  absl::Span<const char> bytes() const override { return bytes_; }

 private:
  std::string path_;
  std::string bytes_;
};

// Elements per step: what fits into the second-level cache with its converted copy.
constexpr int64_t kChunk = 16384;

template <typename T>
T ReadAt(const char* in, size_t i) {
  T value;
  std::memcpy(&value, in + i * sizeof(T), sizeof(T));
  return value;
}

// The float32 that rounds to any 16-bit float as the double itself does: an inexact value gets an odd last bit, so no later
// rounding sees a tie that was not there.
float RoundToOdd(double d) {
  const auto f = static_cast<float>(d);
  if (static_cast<double>(f) == d || std::isnan(d)) return f;
  auto bits = std::bit_cast<uint32_t>(f);
  if (std::fabs(static_cast<double>(f)) > std::fabs(d)) --bits;
  return std::bit_cast<float>(bits | 1u);
}

// Reads float elements of any type and alignment as float32. `exact` keeps what a second rounding needs.
void ToFloats(DType from, const char* in, size_t n, bool exact, std::vector<char>* out) {
  out->resize(n * sizeof(float));
  auto* floats = reinterpret_cast<float*>(out->data());
  switch (from) {
    case DType::kF16: return F16ToF32(reinterpret_cast<const Half*>(in), floats, n);
    case DType::kBF16: return BF16ToF32(reinterpret_cast<const BFloat16*>(in), floats, n);
    case DType::kF64:
      for (size_t i = 0; i < n; ++i) {
        const auto value = ReadAt<double>(in, i);
        floats[i] = exact ? static_cast<float>(value) : RoundToOdd(value);
      }
      return;
    default: std::memcpy(out->data(), in, n * sizeof(float));
  }
}

// The effect of the transforms on the whole weight if no value were refused.
WeightDamage DamageOf(WeightRef ref) {
  for (WeightTransform& t : ref.transforms) t.on_overflow = OnOverflow::kKeep;
  WeightDamage damage;
  std::string window;
  const auto elements = static_cast<int64_t>(ref.bytes / SizeOf(ref.dtype));
  constexpr int64_t kWindow = int64_t{1} << 20;
  for (int64_t first = 0; first < elements; first += kWindow) {
    window.clear();
    if (!TransformWindow(ref, first, std::min(kWindow, elements - first), &window, &damage).ok()) break;
  }
  return damage;
}

absl::Status BeyondRange(const WeightRef& ref, const WeightTransform& t, int64_t element, const char* floats, size_t i) {
  const WeightDamage damage = DamageOf(ref);
  return BadInputError(absl::StrCat(ref.name.empty() ? "weight" : absl::StrCat("weight '", ref.name, "'"), ": ", damage.clamped, " of ",
                                    damage.elements, damage.clamped == 1 ? " values is" : " values are", " beyond the range of ",
                                    Name(t.to), ", the largest magnitude is ", damage.max_abs, ", the first is element ", element, ", ",
                                    ReadAt<float>(floats, i)));
}

// One cast of one chunk; `first` is the chunk's first element.
absl::Status CastChunk(const WeightRef& ref, DType from, const WeightTransform& t, const char* in, size_t n, int64_t first,
                       std::vector<char>* out, WeightDamage* damage) {
  if (from == t.to) {
    out->assign(in, in + n * SizeOf(from));
    return absl::OkStatus();
  }
  if (!IsFloat(from) || !IsFloat(t.to)) {
    return InternalError(
        absl::StrCat("weight '", ref.name, "': no cast from ", Name(from), " to ", Name(t.to), " between floating types only"));
  }
  if (t.to == DType::kF64) {
    std::vector<char> floats;
    ToFloats(from, in, n, true, &floats);
    out->resize(n * sizeof(double));
    for (size_t i = 0; i < n; ++i) {
      const double value = ReadAt<float>(floats.data(), i);
      std::memcpy(out->data() + i * sizeof(double), &value, sizeof(value));
    }
    return absl::OkStatus();
  }
  if (t.to == DType::kF32) {
    ToFloats(from, in, n, true, out);
    return absl::OkStatus();
  }
  std::vector<char> widened;
  const char* floats = in;
  if (from != DType::kF32) {
    ToFloats(from, in, n, false, &widened);
    floats = widened.data();
  }
  alignas(64) float adjusted[kChunk];
  const size_t beyond = AdjustToLow(floats, n, t, adjusted, damage);
  if (beyond < n && t.on_overflow == OnOverflow::kError) {
    return BeyondRange(ref, t, first + static_cast<int64_t>(beyond), floats, beyond);
  }
  out->resize(n * sizeof(Half));
  if (t.to == DType::kF16) {
    F32ToF16(adjusted, reinterpret_cast<Half*>(out->data()), n);
  } else {
    F32ToBF16(adjusted, reinterpret_cast<BFloat16*>(out->data()), n);
  }
  return absl::OkStatus();
}

absl::StatusOr<absl::string_view> BytesOf(const WeightRef& ref) {
  if (ref.source == nullptr) return InternalError(absl::StrCat("weight '", ref.name, "' has no source"));
  const absl::Span<const char> all = ref.source->bytes();
  if (ref.offset <= all.size() && ref.bytes <= all.size() - ref.offset) return absl::string_view(all.data() + ref.offset, ref.bytes);
  return InternalError(absl::StrCat("weight '", ref.name, "' leaves its file '", ref.source->path(), "'"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const WeightSource>> OpenWeightFile(const std::string& path) {
  AMPC_ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path));
  return std::make_shared<const FileSource>(std::move(file));
}

std::shared_ptr<const WeightSource> WeightBuffer(std::string bytes) { return std::make_shared<const BufferSource>(std::move(bytes)); }

absl::Status TransformWindow(const WeightRef& ref, int64_t first, int64_t count, std::string* out, WeightDamage* damage) {
  const auto size = static_cast<int64_t>(SizeOf(ref.dtype));
  if (ref.source == nullptr || size == 0 || IsPacked(ref.dtype))
    return InternalError(absl::StrCat("weight '", ref.name, "' has no source or no elements of whole bytes"));
  AMPC_ASSIGN_OR_RETURN(const absl::string_view all, BytesOf(ref));
  const auto elements = static_cast<int64_t>(ref.bytes) / size;
  if (first < 0 || count < 0 || first > elements || count > elements - first) {
    return InternalError(absl::StrCat("weight '", ref.name, "': window [", first, ", +", count, ") of ", elements, " elements"));
  }
  const char* in = all.data() + first * size;
  if (ref.transforms.empty()) {
    out->append(in, count * size);
    return absl::OkStatus();
  }
  WeightDamage ignored;
  if (damage == nullptr) damage = &ignored;
  std::vector<char> chunk, next;
  for (int64_t begin = 0; begin < count; begin += kChunk) {
    const int64_t n = std::min(kChunk, count - begin);
    const char* from = in + begin * size;
    DType dtype = ref.dtype;
    for (const WeightTransform& t : ref.transforms) {
      AMPC_RETURN_IF_ERROR(CastChunk(ref, dtype, t, from, static_cast<size_t>(n), first + begin, &next, damage));
      chunk.swap(next);
      from = chunk.data();
      dtype = t.to;
    }
    out->append(from, n * static_cast<int64_t>(SizeOf(dtype)));
  }
  return absl::OkStatus();
}

absl::StatusOr<HostTensor> LoadWeight(const WeightRef& ref, absl::Span<const int64_t> dims) {
  AMPC_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::CreateUninitialized(ref.final_dtype(), dims));
  if (SizeOf(ref.dtype) == 0 || static_cast<uint64_t>(PackedBytes(BitsOf(ref.dtype), tensor.num_elements())) != ref.bytes) {
    return InternalError(absl::StrCat("weight '", ref.name, "' has ", ref.bytes, " bytes of ", Name(ref.dtype), ", its shape needs ",
                                      tensor.num_elements(), " elements"));
  }
  if (IsPacked(ref.dtype) && ref.transforms.empty()) {
    AMPC_ASSIGN_OR_RETURN(const absl::string_view packed, BytesOf(ref));
    Unpack(ref.dtype, packed, tensor.num_elements(), tensor.mutable_data());
    return tensor;
  }
  char* to = reinterpret_cast<char*>(tensor.mutable_data());
  std::string window;
  constexpr int64_t kWindow = int64_t{1} << 20;
  for (int64_t first = 0; first < tensor.num_elements(); first += kWindow) {
    window.clear();
    AMPC_RETURN_IF_ERROR(TransformWindow(ref, first, std::min(kWindow, tensor.num_elements() - first), &window, nullptr));
    std::memcpy(to, window.data(), window.size());
    to += window.size();
  }
  return tensor;
}

}  // namespace ampc
