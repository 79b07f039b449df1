// The source of batches. A batch depends on the seed, the epoch and the step and nothing else: training resumes at any position.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/session.h"

namespace ampc {

struct BatchOptions {
  int batch = 64;
  uint64_t seed = 0;
  bool shuffle = true;     // in an order of its own in each epoch; else in the order of the files
  bool drop_last = false;  // leave out the last batch of an epoch when it is not full
};

class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual int64_t steps() const = 0;  // of one epoch
  // The feeds x and y of step `step` (from 0) of epoch `epoch`.
  virtual absl::StatusOr<TensorMap> Batch(int64_t epoch, int64_t step) const = 0;
};

// 0 .. count - 1 in the order of that seed and epoch (Fisher and Yates, with numbers from a counter).
std::vector<int32_t> Permutation(int64_t count, uint64_t seed, int64_t epoch);

// Images and their classes.
struct ImageSet {
  int64_t count = 0, rows = 0, columns = 0;
  std::string pixels, labels;
};
struct Dataset {
  ImageSet train, test;
};

// The four IDX files of MNIST's form in `folder` (train-images-idx3-ubyte.gz, ...; with or without .gz). BadInput in one sentence: an
// absent, cut short or damaged file, images and labels of different number, images that are not 28 x 28, a label that is none of 10.
absl::StatusOr<Dataset> LoadImages(const std::string& folder);
// Where Debian's package dataset-fashion-mnist has them.
inline constexpr char kFashionMnist[] = "/usr/share/datasets/fashion-mnist";

// x: f32 [n, 1, rows, columns], pixels with the mean and the deviation of Fashion-MNIST's training set taken out; y: i64 [n, 1].
// `images` has to outlive it. Usage error: a batch below 1, or a set with less than one step.
absl::StatusOr<std::unique_ptr<BatchSource>> ImageBatches(const ImageSet& images, const BatchOptions& options);

// x and y: normal numbers, f32 [n, features]; `steps` different batches, the same in each epoch.
absl::StatusOr<std::unique_ptr<BatchSource>> RandomBatches(int features, int64_t steps, const BatchOptions& options);

}  // namespace ampc
