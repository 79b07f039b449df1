// non_max_suppression: per image and class the boxes that overlap no better one.
#include <algorithm>
#include <utility>
#include <vector>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/kernel_registry.h"

namespace ampc {
namespace {

using Operands = absl::Span<const HostTensor* const>;

struct Corners {
  float top, left, bottom, right;
  float area() const { return (bottom - top) * (right - left); }
};

Corners CornersOf(const float* box, bool center) {
  if (center) return {box[1] - box[3] / 2, box[0] - box[2] / 2, box[1] + box[3] / 2, box[0] + box[2] / 2};
  return {std::min(box[0], box[2]), std::min(box[1], box[3]), std::max(box[0], box[2]), std::max(box[1], box[3])};
}

bool Overlap(const Corners& a, const Corners& b, float threshold) {
  const float h = std::min(a.bottom, b.bottom) - std::max(a.top, b.top), w = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (h <= 0 || w <= 0 || a.area() <= 0 || b.area() <= 0) return false;
  return h * w / (a.area() + b.area() - h * w) > threshold;
}

struct Settings {
  int64_t most = 0;
  float overlap = 0, score = 0;
  bool by_score = false;  // scores have to be above `score`
};

// Numbers of the boxes that stay, best first.
std::vector<int64_t> Choose(const std::vector<Corners>& boxes, const float* scores, const Settings& s) {
  std::vector<int64_t> order, kept;
  for (size_t i = 0; i < boxes.size(); ++i) {
    if (!s.by_score || scores[i] > s.score) order.push_back(static_cast<int64_t>(i));
  }
  std::stable_sort(order.begin(), order.end(), [scores](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  for (int64_t i : order) {
    if (static_cast<int64_t>(kept.size()) >= s.most) break;
    if (std::none_of(kept.begin(), kept.end(), [&](int64_t k) { return Overlap(boxes[i], boxes[k], s.overlap); })) kept.push_back(i);
  }
  return kept;
}

absl::StatusOr<std::vector<HostTensor>> NonMaxSuppression(const Op& op, Operands operands, int) {
  const auto find = [&](const char* slot) -> const HostTensor* {
    const auto vars = op.inputs(op.def().InputSlot(slot));
    return vars.empty() ? nullptr : operands[vars.data() - op.inputs().data()];
  };
  const auto number = [&](const char* slot) { return ReadAsDouble(find(slot)->data(), find(slot)->dtype()); };
  Settings s;
  if (const HostTensor* most = find("MaxOutputBoxes")) s.most = ReadAsInt(most->data(), most->dtype());
  if (find("IouThreshold") != nullptr) s.overlap = static_cast<float>(number("IouThreshold"));
  s.by_score = find("ScoreThreshold") != nullptr;
  if (s.by_score) s.score = static_cast<float>(number("ScoreThreshold"));
  const HostTensor &boxes = *find("Boxes"), &scores = *find("Scores");
  const int64_t images = boxes.dims()[0], count = boxes.dims()[1], classes = scores.dims()[1];
  const float *box = boxes.values<float>().data(), *score = scores.values<float>().data();
  std::vector<int64_t> rows;
  for (int64_t n = 0; n < images; ++n) {
    std::vector<Corners> corners(count);
    for (int64_t i = 0; i < count; ++i) corners[i] = CornersOf(box + (n * count + i) * 4, op.GetBool("center_point_box"));
    for (int64_t c = 0; c < classes; ++c) {
      for (int64_t i : Choose(corners, score + (n * classes + c) * count, s)) rows.insert(rows.end(), {n, c, i});
    }
  }
  std::vector<HostTensor> results;
  results.push_back(HostTensor::FromValues<int64_t>({static_cast<int64_t>(rows.size()) / 3, 3}, rows));
  return results;
}

}  // namespace

absl::Status RegisterNonMaxSuppression(KernelRegistry* registry) {
  KernelEntry entry;
  entry.op = "non_max_suppression";
  entry.dtypes = {DType::kF32, DType::kF16, DType::kBF16};
  entry.evaluate = &NonMaxSuppression;
  return registry->Add(std::move(entry));
}

}  // namespace ampc
