// WeightRef: where a parameter's bytes lie, and what is to be done with them on the way out.
// Passes append transforms; nobody rewrites bytes in memory, so memory does not grow with the model.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/base/dtype.h"
#include "graph/base/host_tensor.h"

namespace ampc {

// Read-only bytes that weights point into: a mapped file or a buffer. Thread-safe.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  virtual const std::string& path() const = 0;  // "" for a buffer
  virtual absl::Span<const char> bytes() const = 0;
  // The caller will not read that part again soon: memory that the system can refill from the file is given back.
  virtual void Release(uint64_t /*offset*/, uint64_t /*bytes*/) const {}
};
absl::StatusOr<std::shared_ptr<const WeightSource>> OpenWeightFile(const std::string& path);
std::shared_ptr<const WeightSource> WeightBuffer(std::string bytes);

// The conversion of a float32 value outside the range of the low type.
enum class OnOverflow : uint8_t { kClamp, kKeep /* infinity, as IEEE rounds */, kError };
// The conversion of a float32 value below the smallest normal low value.
enum class OnTiny : uint8_t { kSubnormal /* IEEE */, kFlush, kKeep /* same as kSubnormal, and never zero: smallest subnormal */ };

struct WeightTransform {  // a cast; the only transform that formats can store the result of
  DType to = DType::kInvalid;
  OnOverflow on_overflow = OnOverflow::kClamp;
  OnTiny on_tiny = OnTiny::kSubnormal;
  friend bool operator==(const WeightTransform&, const WeightTransform&) = default;
};

struct WeightRef {
  std::shared_ptr<const WeightSource> source;
  std::string name;                         // key inside the file where the format has one (safetensors), else ""
  uint64_t offset = 0;                      // of the raw data, from the start of the source; checked on import
  uint64_t bytes = 0;                       // raw bytes at `offset`: packed where IsPacked(dtype) (graph/base/packed.h)
  DType dtype = DType::kInvalid;            // as stored
  std::vector<WeightTransform> transforms;  // applied in order

  DType final_dtype() const { return transforms.empty() ? dtype : transforms.back().to; }
};

// The effect of the transforms on the values of one weight.
struct WeightDamage {
  int64_t elements = 0;
  int64_t clamped = 0;     // beyond the low type's range
  int64_t flushed = 0;     // not zero before, zero after
  int64_t subnormal = 0;   // subnormal in the low type
  int64_t non_finite = 0;  // inf or NaN in the original
  double max_abs = 0;      // largest finite magnitude of the original
};

// Applies the transforms of `ref` to the window [first, first + count) of elements and appends the resulting bytes to `out`. InternalError
// when the window leaves the weight or its elements are packed; BadInputError, which names the first element, for OnOverflow::kError.
absl::Status TransformWindow(const WeightRef& ref, int64_t first, int64_t count, std::string* out, WeightDamage* damage);
// The whole weight as a tensor of final_dtype().
absl::StatusOr<HostTensor> LoadWeight(const WeightRef& ref, absl::Span<const int64_t> dims);

}  // namespace ampc
