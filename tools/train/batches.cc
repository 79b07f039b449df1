#include "tools/train/batches.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/initializer.h"

namespace ampc {
namespace {

// Of the 60,000 training images, pixels divided by 255.
constexpr float kMean = 0.28604f, kDeviation = 0.35302f;

// Number `i` of the stream of a seed and an epoch: the finalizer of SplitMix64 over a counter.
uint64_t Random(uint64_t seed, int64_t epoch, uint64_t i) {
  const auto mix = [](uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  };
  return mix(mix(mix(seed) ^ static_cast<uint64_t>(epoch)) + (i + 1) * 0x9e3779b97f4a7c15u);
}

absl::Status Check(const BatchOptions& options) {
  return options.batch >= 1 ? absl::OkStatus() : UsageError(absl::StrCat("found a batch of ", options.batch, ", needed at least 1"));
}

class ImageSource : public BatchSource {
 public:
  ImageSource(const ImageSet& images, const BatchOptions& options) : images_(images), options_(options) {
    for (int i = 0; i < 256; ++i) values_[i] = (static_cast<float>(i) / 255.0f - kMean) / kDeviation;
  }

  int64_t steps() const override { return (images_.count + (options_.drop_last ? 0 : options_.batch - 1)) / options_.batch; }

  absl::StatusOr<TensorMap> Batch(int64_t epoch, int64_t step) const override {
    const std::vector<int32_t>& order = Order(epoch);
    const int64_t first = step * options_.batch, end = std::min<int64_t>(first + options_.batch, images_.count);
    const int64_t size = images_.rows * images_.columns;
    AMPC_ASSIGN_OR_RETURN(HostTensor x, HostTensor::CreateUninitialized(DType::kF32, {end - first, 1, images_.rows, images_.columns}));
    AMPC_ASSIGN_OR_RETURN(HostTensor y, HostTensor::CreateUninitialized(DType::kI64, {end - first, 1}));
    float* out = x.mutable_values<float>().data();
    for (int64_t i = first; i < end; ++i) {
      const int64_t image = order[i];
      const char* pixel = images_.pixels.data() + image * size;
      for (int64_t k = 0; k < size; ++k) *out++ = values_[static_cast<unsigned char>(pixel[k])];
      y.mutable_values<int64_t>()[i - first] = static_cast<unsigned char>(images_.labels[image]);
    }
    TensorMap feeds;
    feeds["x"] = std::move(x);
    feeds["y"] = std::move(y);
    return feeds;
  }

 private:
  const std::vector<int32_t>& Order(int64_t epoch) const {
    if (epoch_ == epoch || (!options_.shuffle && !order_.empty())) return order_;
    epoch_ = epoch;
    if (options_.shuffle) return order_ = Permutation(images_.count, options_.seed, epoch);
    order_.resize(images_.count);
    std::iota(order_.begin(), order_.end(), 0);
    return order_;
  }

  const ImageSet& images_;
  BatchOptions options_;
  float values_[256];
  mutable std::optional<int64_t> epoch_;  // of order_
  mutable std::vector<int32_t> order_;
};

// Rows start at places that the counter chooses in a pool of normal numbers.
class RandomSource : public BatchSource {
 public:
  RandomSource(HostTensor pool, int features, int64_t steps, const BatchOptions& options)
      : pool_(std::move(pool)), features_(features), steps_(steps), options_(options) {}

  int64_t steps() const override { return steps_; }

  absl::StatusOr<TensorMap> Batch(int64_t, int64_t step) const override {
    TensorMap feeds;
    AMPC_ASSIGN_OR_RETURN(feeds["x"], Rows(2 * step));
    AMPC_ASSIGN_OR_RETURN(feeds["y"], Rows(2 * step + 1));
    return feeds;
  }

 private:
  absl::StatusOr<HostTensor> Rows(int64_t stream) const {
    const int64_t rows = options_.batch;
    AMPC_ASSIGN_OR_RETURN(HostTensor out, HostTensor::CreateUninitialized(DType::kF32, {rows, features_}));
    const absl::Span<const float> pool = pool_.values<float>();
    for (int64_t row = 0; row < rows; ++row) {
      const uint64_t at = Random(options_.seed, stream, static_cast<uint64_t>(row)) % (pool.size() - features_);
      std::memcpy(out.mutable_values<float>().data() + row * features_, pool.data() + at, sizeof(float) * features_);
    }
    return out;
  }

  HostTensor pool_;
  int64_t features_, steps_;
  BatchOptions options_;
};

}  // namespace

std::vector<int32_t> Permutation(int64_t count, uint64_t seed, int64_t epoch) {
  std::vector<int32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = count - 1; i > 0; --i) {
    const uint64_t k = Random(seed, epoch, static_cast<uint64_t>(i)) % static_cast<uint64_t>(i + 1);  // off by at most 2^-48
    std::swap(order[i], order[k]);
  }
  return order;
}

absl::StatusOr<std::unique_ptr<BatchSource>> ImageBatches(const ImageSet& images, const BatchOptions& options) {
  AMPC_RETURN_IF_ERROR(Check(options));
  auto source = std::make_unique<ImageSource>(images, options);
  if (source->steps() < 1)
    return UsageError(absl::StrCat("found ", images.count, " images for a batch of ", options.batch, ", needed at least one batch"));
  return source;
}

absl::StatusOr<std::unique_ptr<BatchSource>> RandomBatches(int features, int64_t steps, const BatchOptions& options) {
  AMPC_RETURN_IF_ERROR(Check(options));
  if (features < 1 || steps < 1) return UsageError(absl::StrCat("found ", features, " features and ", steps, " steps, needed both from 1"));
  AMPC_ASSIGN_OR_RETURN(HostTensor pool, InitialValues(Initializer::Normal(0, 1), DType::kF32, {(int64_t{1} << 20) + features},
                                                       options.seed, "random batches"));
  return std::make_unique<RandomSource>(std::move(pool), features, steps, options);
}

}  // namespace ampc
