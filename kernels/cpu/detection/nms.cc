// multiclass_nms, multiclass_nms2 and multiclass_nms3: per class the boxes that overlap no better one, the best of them per image.
// matrix_nms: all boxes, their scores lowered by how much better ones overlap them.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/kernel_registry.h"

namespace ampc {
namespace {

using Operands = absl::Span<const HostTensor* const>;
constexpr int64_t kBoxSize = 4;

struct Settings {
  float score_threshold, nms_threshold, eta;
  int64_t nms_top_k, keep_top_k, background;
  bool normalized;
};

float Area(const float* box, bool normalized) {
  const float w = box[2] - box[0], h = box[3] - box[1], more = normalized ? 0 : 1;
  return w < 0 || h < 0 ? 0 : (w + more) * (h + more);
}

// Intersection over union; touching boxes that are not normalized share a line of pixels.
float Overlap(const float* a, const float* b, bool normalized) {
  if (b[0] > a[2] || b[2] < a[0] || b[1] > a[3] || b[3] < a[1]) return 0;
  const float more = normalized ? 0 : 1;
  const float w = std::min(a[2], b[2]) - std::max(a[0], b[0]) + more, h = std::min(a[3], b[3]) - std::max(a[1], b[1]) + more;
  const float common = w * h;
  return common / (Area(a, normalized) + Area(b, normalized) - common);
}

// The boxes and scores of one image. Box i of class c: boxes + i * box_step + c * class_step; its score: scores + i * score_step + c *
// score_class_step.
struct Image {
  const float* boxes;
  const float* scores;
  int64_t count, classes;
  int64_t box_step, class_step, score_step, score_class_step;
  int64_t first_index;  // of box 0 of class 0 in Index
  bool per_class;       // boxes differ between classes: they stay in the order of the operand

  const float* Box(int64_t i, int64_t c) const { return boxes + i * box_step + c * class_step; }
  float Score(int64_t i, int64_t c) const { return scores[i * score_step + c * score_class_step]; }
};

struct Kept {
  int64_t label, box;
};

// The boxes of one class that stay, best first.
std::vector<Kept> Suppress(const Image& image, int64_t label, const Settings& s) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < image.count; ++i) {
    if (image.Score(i, label) > s.score_threshold) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return image.Score(a, label) > image.Score(b, label); });
  if (s.nms_top_k > -1 && s.nms_top_k < static_cast<int64_t>(order.size())) order.resize(s.nms_top_k);
  std::vector<Kept> kept;
  float threshold = s.nms_threshold;
  for (int64_t i : order) {
    const auto covers = [&](const Kept& k) { return !(Overlap(image.Box(i, label), image.Box(k.box, label), s.normalized) <= threshold); };
    if (std::any_of(kept.begin(), kept.end(), covers)) continue;
    kept.push_back({label, i});
    if (s.eta < 1 && threshold > 0.5f) threshold *= s.eta;
  }
  return kept;
}

// All classes of an image: by label, within one by score (by position where classes have boxes of their own).
std::vector<Kept> Select(const Image& image, const Settings& s) {
  std::vector<Kept> all;
  for (int64_t label = 0; label < image.classes; ++label) {
    if (label == s.background) continue;
    const std::vector<Kept> kept = Suppress(image, label, s);
    all.insert(all.end(), kept.begin(), kept.end());
  }
  const auto by_place = [&](const Kept& a, const Kept& b) {
    return a.label != b.label ? a.label < b.label : image.per_class && a.box < b.box;
  };
  std::stable_sort(all.begin(), all.end(), by_place);
  if (s.keep_top_k > -1 && static_cast<int64_t>(all.size()) > s.keep_top_k) {
    std::stable_sort(all.begin(), all.end(),
                     [&](const Kept& a, const Kept& b) { return image.Score(a.box, a.label) > image.Score(b.box, b.label); });
    all.resize(s.keep_top_k);
    std::stable_sort(all.begin(), all.end(), by_place);
  }
  return all;
}

// The operands and results in flat order.
struct Slots {
  const Op& op;
  Operands operands;

  const HostTensor* In(absl::string_view slot) const {
    const int s = op.def().InputSlot(slot);
    if (s < 0 || op.inputs(s).empty()) return nullptr;
    return operands[op.inputs(s).data() - op.inputs().data()];
  }
};

absl::StatusOr<std::vector<Image>> Images(const Slots& slots) {
  const HostTensor &boxes = *slots.In("BBoxes"), &scores = *slots.In("Scores");
  const float *b = boxes.values<float>().data(), *s = scores.values<float>().data();
  const int64_t size = boxes.dims()[2];
  std::vector<Image> images;
  if (scores.rank() == 3) {
    const int64_t classes = scores.dims()[1], n = scores.dims()[2];
    for (int64_t i = 0; i < scores.dims()[0]; ++i) {
      images.push_back({b + i * n * size, s + i * classes * n, n, classes, size, 0, 1, n, i * n, false});
    }
    return images;
  }
  const HostTensor* counts = slots.In("RoisNum");
  if (counts == nullptr) {
    return UnsupportedError(absl::StrCat(Describe(slots.op), ": Scores of rank 2 without RoisNum, that is with LoD, cannot be executed"));
  }
  const int64_t classes = scores.dims()[1], all = scores.dims()[0];
  int64_t first = 0;
  for (int64_t i = 0; i < counts->num_elements(); ++i) {
    const int64_t n = ReadAsInt(counts->data(), counts->dtype(), i);
    if (n < 0 || n > all - first) {
      return UsageError(absl::StrCat(Describe(slots.op), ": RoisNum gives image ", i, " ", n, " boxes, needs 0 to ", all - first));
    }
    images.push_back(
        {b + first * classes * size, s + first * classes, n, classes, classes * size, size, classes, 1, first * classes, true});
    first += n;
  }
  return images;
}

absl::StatusOr<std::vector<HostTensor>> Nms(const Op& op, Operands operands, int) {
  const Slots slots{op, operands};
  if (const int64_t size = slots.In("BBoxes")->dims()[2]; size != kBoxSize) {
    return UnsupportedError(absl::StrCat(Describe(op), ": the cpu kernel has no polygons of ", size, " numbers, only boxes of 4"));
  }
  const Settings s{static_cast<float>(op.GetFloat("score_threshold")),
                   static_cast<float>(op.GetFloat("nms_threshold")),
                   static_cast<float>(op.GetFloat("nms_eta")),
                   op.GetInt("nms_top_k"),
                   op.GetInt("keep_top_k"),
                   op.GetInt("background_label"),
                   op.GetBool("normalized")};
  AMPC_ASSIGN_OR_RETURN(const std::vector<Image> images, Images(slots));
  std::vector<float> out;
  std::vector<int32_t> index, counts;
  for (const Image& image : images) {
    const std::vector<Kept> kept = Select(image, s);
    for (const Kept& k : kept) {
      out.push_back(static_cast<float>(k.label));
      out.push_back(image.Score(k.box, k.label));
      out.insert(out.end(), image.Box(k.box, k.label), image.Box(k.box, k.label) + kBoxSize);
      index.push_back(static_cast<int32_t>(image.first_index + (image.per_class ? k.box * image.classes + k.label : k.box)));
    }
    counts.push_back(static_cast<int32_t>(kept.size()));
  }
  const int64_t n = static_cast<int64_t>(index.size());
  const bool mark = n == 0 && op.def().OutputSlot("Index") < 0;  // the first form says -1
  if (mark) out = {-1};
  std::vector<HostTensor> results;
  results.push_back(HostTensor::FromValues<float>(mark ? std::vector<int64_t>{1, 1} : std::vector<int64_t>{n, kBoxSize + 2}, out));
  if (op.output("Index") != nullptr) results.push_back(HostTensor::FromValues<int32_t>({n, 1}, index));
  if (op.output("NmsRoisNum") != nullptr) {
    results.push_back(HostTensor::FromValues<int32_t>({static_cast<int64_t>(counts.size())}, counts));
  }
  return results;
}

struct Decay {
  float score_threshold, post_threshold, sigma;
  int64_t nms_top_k;
  bool normalized, gaussian;

  // Of a score, for its overlap with a better box whose own best overlap is `covered`.
  float Factor(float overlap, float covered) const {
    return gaussian ? std::exp((covered * covered - overlap * overlap) * sigma) : (1 - overlap) / (1 - covered);
  }
};

struct Scored {
  int64_t label, box;
  float score;
};

// The boxes of one class, best first, with their lowered scores.
void Decayed(const Image& image, int64_t label, const Decay& s, std::vector<Scored>* out) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < image.count; ++i) {
    if (image.Score(i, label) > s.score_threshold) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return image.Score(a, label) > image.Score(b, label); });
  if (s.nms_top_k > -1 && s.nms_top_k < static_cast<int64_t>(order.size())) order.resize(s.nms_top_k);
  std::vector<float> covered(order.size(), 0);
  for (size_t i = 0; i < order.size(); ++i) {
    float factor = 1;
    for (size_t j = 0; j < i; ++j) {
      const float overlap = Overlap(image.Box(order[i], label), image.Box(order[j], label), s.normalized);
      covered[i] = std::max(covered[i], overlap);
      factor = std::min(factor, s.Factor(overlap, covered[j]));
    }
    const float score = factor * image.Score(order[i], label);
    if (score > s.post_threshold) out->push_back({label, order[i], score});
  }
}

absl::StatusOr<std::vector<HostTensor>> MatrixNms(const Op& op, Operands operands, int) {
  const Slots slots{op, operands};
  const Decay s{static_cast<float>(op.GetFloat("score_threshold")),
                static_cast<float>(op.GetFloat("post_threshold")),
                static_cast<float>(op.GetFloat("gaussian_sigma")),
                op.GetInt("nms_top_k"),
                op.GetBool("normalized"),
                op.GetBool("use_gaussian")};
  const int64_t keep = op.GetInt("keep_top_k"), background = op.GetInt("background_label");
  AMPC_ASSIGN_OR_RETURN(const std::vector<Image> images, Images(slots));
  std::vector<float> out;
  std::vector<int32_t> index, counts;
  for (const Image& image : images) {
    std::vector<Scored> all;
    for (int64_t label = 0; label < image.classes; ++label) {
      if (label != background) Decayed(image, label, s, &all);
    }
    std::stable_sort(all.begin(), all.end(), [](const Scored& a, const Scored& b) { return a.score > b.score; });
    if (keep > -1 && static_cast<int64_t>(all.size()) > keep) all.resize(keep);
    for (const Scored& k : all) {
      out.push_back(static_cast<float>(k.label));
      out.push_back(k.score);
      out.insert(out.end(), image.Box(k.box, k.label), image.Box(k.box, k.label) + kBoxSize);
      index.push_back(static_cast<int32_t>(image.first_index + k.box));
    }
    counts.push_back(static_cast<int32_t>(all.size()));
  }
  const int64_t n = static_cast<int64_t>(index.size());
  std::vector<HostTensor> results;
  results.push_back(HostTensor::FromValues<float>({n, kBoxSize + 2}, out));
  if (op.output("Index") != nullptr) results.push_back(HostTensor::FromValues<int32_t>({n, 1}, index));
  if (op.output("RoisNum") != nullptr) results.push_back(HostTensor::FromValues<int32_t>({static_cast<int64_t>(counts.size())}, counts));
  return results;
}

}  // namespace

absl::Status RegisterNms(KernelRegistry* registry) {
  KernelEntry matrix;
  matrix.op = "matrix_nms";
  matrix.dtypes = {DType::kF32, DType::kF16, DType::kBF16};
  matrix.evaluate = &MatrixNms;
  AMPC_RETURN_IF_ERROR(registry->Add(std::move(matrix)));
  for (const char* op : {"multiclass_nms", "multiclass_nms2", "multiclass_nms3"}) {
    KernelEntry entry;
    entry.op = op;
    entry.dtypes = {DType::kF32, DType::kF16, DType::kBF16};
    entry.evaluate = &Nms;
    AMPC_RETURN_IF_ERROR(registry->Add(std::move(entry)));
  }
  return absl::OkStatus();
}

}  // namespace ampc
