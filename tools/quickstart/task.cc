#include "tools/quickstart/task.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"
#include "graph/base/mapped_file.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"

namespace ampc {
namespace {

constexpr double kYes = 0.5, kUndecided = 0.02, kProbabilityError = 0.05;
constexpr double kSimilarityError = 0.01, kCosine = 0.995, kF1 = 0.98;

using Rows = std::vector<std::vector<double>>;

std::vector<Task> Tasks() {
  const std::vector<std::string> upright = {"0", "180"};
  const std::string file = "model.onnx";
  // clang-format off
  return {
      {.name = "rec", .file = "inference.pdmodel", .inputs = "rec", .outputs = "rec", .kind = AnswerKind::kText, .labels_file = "charset.txt"},
      // Its stored fetches are Paddle 3.3.1's, with 0 for what is below 1e-6.
      {.name = "ppocrv5_rec", .file = "inference.json", .inputs = "rec", .outputs = "ppocrv5_rec", .kind = AnswerKind::kText, .labels_file = "charset.txt"},
      {.name = "cls", .file = "inference.pdmodel", .inputs = "cls", .outputs = "cls", .labels = upright},
      {.name = "ppocrv4_rec_onnx", .file = file, .inputs = "rec", .outputs = "rec", .kind = AnswerKind::kText},
      {.name = "ppocr_cls_onnx", .file = file, .inputs = "cls", .outputs = "ppocr_cls_onnx", .labels = upright},
      {.name = "magika", .file = file, .inputs = "magika", .outputs = "magika"},
      {.name = "silero_vad", .file = file, .inputs = "silero_vad", .outputs = "silero_vad", .kind = AnswerKind::kProbability, .output = "output"},
      {.name = "silero_vad_ifless", .file = file, .inputs = "silero_vad_ifless", .outputs = "silero_vad_ifless",
       .kind = AnswerKind::kProbability, .output = "output"},
      {.name = "basic_pitch", .file = file, .inputs = "basic_pitch", .outputs = "basic_pitch", .kind = AnswerKind::kNotes,
       .thresholds = {{"StatefulPartitionedCall:0", 0.3}, {"StatefulPartitionedCall:1", 0.3}, {"StatefulPartitionedCall:2", 0.5}}},
      {.name = "minilm", .file = file, .inputs = "minilm", .outputs = "minilm", .kind = AnswerKind::kEmbedding},
  };
  // clang-format on
}

// Index of the largest value, -1 when one is not finite.
int64_t Best(absl::Span<const float> values) {
  if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) return -1;
  return std::max_element(values.begin(), values.end()) - values.begin();
}

std::string Label(const Task& task, int64_t best) {
  if (best < 0) return "?";
  if (!task.labels.empty()) return task.labels[best];
  return absl::StrCat(best, task.kind == AnswerKind::kText ? " " : "");
}

absl::Status CheckShape(const HostTensor& t, int rank, const Task& task) {
  const bool right =
      t.dtype() == DType::kF32 && t.rank() == rank && (task.labels.empty() || t.dims().back() == static_cast<int64_t>(task.labels.size()));
  if (right) return absl::OkStatus();
  return UsageError(absl::StrCat("the output is ", Name(t.dtype()), " ", ShapeToString(t.dims()), ", f32 of rank ", rank,
                                 task.labels.empty() ? "" : absl::StrCat(" with ", task.labels.size(), " classes"), " is needed"));
}

absl::StatusOr<const HostTensor*> Find(const TensorMap& tensors, const std::string& name) {
  const auto it = name.empty() ? tensors.begin() : tensors.find(name);
  if (it == tensors.end()) return UsageError(absl::StrCat("there is no tensor '", name, "' among feeds and fetches, the answer needs it"));
  return &it->second;
}

// A step with a value that is not finite decodes to "?".
absl::StatusOr<Answer> DecodeText(const Task& task, const HostTensor& t) {
  AMPC_RETURN_IF_ERROR(CheckShape(t, 3, task));
  const int64_t steps = t.dims()[1], classes = t.dims()[2];
  Answer answer;
  for (int64_t b = 0; b < t.dims()[0]; ++b) {
    std::string text;
    int64_t previous = 0;
    for (int64_t step = 0; step < steps; ++step) {
      const int64_t best = Best(t.values<float>().subspan((b * steps + step) * classes, classes));
      if (best != previous && best != 0) absl::StrAppend(&text, Label(task, best));
      previous = best;
    }
    answer.texts.push_back(std::move(text));
  }
  return answer;
}

absl::StatusOr<Answer> DecodeClass(const Task& task, const HostTensor& t) {
  AMPC_RETURN_IF_ERROR(CheckShape(t, 2, task));
  const int64_t classes = t.dims()[1];
  Answer answer;
  for (int64_t b = 0; b < t.dims()[0]; ++b) answer.texts.push_back(Label(task, Best(t.values<float>().subspan(b * classes, classes))));
  return answer;
}

absl::StatusOr<Answer> DecodeProbability(const HostTensor& t) {
  const absl::Span<const float> values = t.values<float>();
  Answer answer;
  answer.texts = {absl::StrJoin(values, " ", [](std::string* out, float v) { absl::StrAppendFormat(out, "%.2f", v); })};
  answer.numbers = {std::vector<double>(values.begin(), values.end())};
  return answer;
}

double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// The mean over the tokens that the mask shows, of length 1.
std::vector<double> Embed(absl::Span<const float> states, absl::Span<const int64_t> mask, int64_t width) {
  std::vector<double> sum(static_cast<size_t>(width));
  for (size_t token = 0; token < mask.size(); ++token) {
    for (int64_t i = 0; i < width && mask[token] != 0; ++i) sum[i] += states[token * width + i];
  }
  const double length = std::sqrt(Dot(sum, sum));
  for (double& v : sum) v /= length;
  return sum;
}

absl::StatusOr<Answer> DecodeEmbedding(const Task& task, const HostTensor& t, const HostTensor& mask) {
  AMPC_RETURN_IF_ERROR(CheckShape(t, 3, task));
  const int64_t tokens = t.dims()[1], width = t.dims()[2];
  if (mask.dtype() != DType::kI64 || mask.dims() != t.dims().first(2)) {
    return UsageError(absl::StrCat("the mask is ", Name(mask.dtype()), " ", ShapeToString(mask.dims()), ", i64 ",
                                   ShapeToString(t.dims().first(2)), " is needed"));
  }
  Answer answer;
  for (int64_t b = 0; b < t.dims()[0]; ++b) {
    answer.numbers.push_back(
        Embed(t.values<float>().subspan(b * tokens * width, tokens * width), mask.values<int64_t>().subspan(b * tokens, tokens), width));
  }
  std::vector<std::string> pairs;
  for (size_t a = 0; a < answer.numbers.size(); ++a) {
    for (size_t b = a + 1; b < answer.numbers.size(); ++b)
      pairs.push_back(absl::StrFormat("%d~%d %.3f", a + 1, b + 1, Dot(answer.numbers[a], answer.numbers[b])));
  }
  answer.texts = {absl::StrJoin(pairs, "  ")};
  return answer;
}

absl::StatusOr<Answer> DecodeNotes(const Task& task, const TensorMap& fetches) {
  Answer answer;
  std::vector<std::string> counts;
  for (const auto& [name, threshold] : task.thresholds) {
    AMPC_ASSIGN_OR_RETURN(const HostTensor* t, Find(fetches, name));
    std::vector<double>& lit = answer.numbers.emplace_back();
    for (float v : t->values<float>()) lit.push_back(v > threshold ? 1 : 0);
    counts.push_back(absl::StrFormat("%g", Dot(lit, lit)));
  }
  answer.texts = {absl::StrJoin(counts, " + ") + " cells"};
  return answer;
}

bool SameProbabilities(const std::vector<double>& want, const std::vector<double>& got) {
  for (size_t i = 0; i < want.size(); ++i) {
    if (!(std::abs(got[i] - want[i]) <= kProbabilityError)) return false;
    if ((want[i] > kYes) != (got[i] > kYes) && std::abs(want[i] - kYes) > kUndecided) return false;
  }
  return true;
}

bool SameEmbeddings(const Rows& want, const Rows& got) {
  for (size_t a = 0; a < want.size(); ++a) {
    if (!(Dot(want[a], got[a]) > kCosine)) return false;
    for (size_t b = 0; b < a; ++b) {
      if (!(std::abs(Dot(want[a], want[b]) - Dot(got[a], got[b])) < kSimilarityError)) return false;
    }
  }
  return true;
}

bool SameNotes(const std::vector<double>& want, const std::vector<double>& got) {
  const double all = Dot(want, want) + Dot(got, got);
  return all == 0 || 2 * Dot(want, got) / all >= kF1;
}

}  // namespace

absl::StatusOr<Task> FindTask(absl::string_view name) {
  std::vector<Task> tasks = Tasks();
  const auto it = std::find_if(tasks.begin(), tasks.end(), [name](const Task& task) { return task.name == name; });
  if (it != tasks.end()) return std::move(*it);
  return UsageError(absl::StrCat("there is no model '", name, "', there are ",
                                 absl::StrJoin(tasks, ", ", [](std::string* out, const Task& task) { out->append(task.name); })));
}

// Class 0 of a recogniser is the blank, the last one a space.
absl::Status ReadLabels(const std::string& models, Task& task) {
  if (task.labels_file.empty()) return absl::OkStatus();
  AMPC_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(absl::StrCat(models, "/", task.name, "/", task.labels_file)));
  task.labels = {""};
  for (absl::string_view line : absl::StrSplit(file.text(), '\n')) task.labels.emplace_back(line);
  if (task.labels.size() > 1 && task.labels.back().empty()) task.labels.pop_back();
  task.labels.emplace_back(" ");
  return absl::OkStatus();
}

absl::StatusOr<Answer> Decode(const Task& task, const TensorMap& feeds, const TensorMap& fetches) {
  if (task.kind == AnswerKind::kNotes) return DecodeNotes(task, fetches);
  AMPC_ASSIGN_OR_RETURN(const HostTensor* t, Find(fetches, task.output));
  switch (task.kind) {
    case AnswerKind::kText: return DecodeText(task, *t);
    case AnswerKind::kClass: return DecodeClass(task, *t);
    case AnswerKind::kProbability: return DecodeProbability(*t);
    default: break;
  }
  AMPC_ASSIGN_OR_RETURN(const HostTensor* mask, Find(feeds, "attention_mask"));
  return DecodeEmbedding(task, *t, *mask);
}

bool Same(const Task& task, const Answer& want, const Answer& got) {
  if (want.numbers.size() != got.numbers.size() || want.texts.size() != got.texts.size()) return false;
  for (size_t i = 0; i < want.numbers.size(); ++i) {
    if (want.numbers[i].size() != got.numbers[i].size()) return false;
    if (task.kind == AnswerKind::kProbability && !SameProbabilities(want.numbers[i], got.numbers[i])) return false;
    if (task.kind == AnswerKind::kNotes && !SameNotes(want.numbers[i], got.numbers[i])) return false;
  }
  if (task.kind == AnswerKind::kEmbedding) return SameEmbeddings(want.numbers, got.numbers);
  return !want.numbers.empty() || want.texts == got.texts;
}

}  // namespace ampc
