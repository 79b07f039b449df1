// The answers of the real models of the quick start and of the tests, and whether two answers are the same.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/tensor_map.h"

namespace ampc {

enum class AnswerKind {
  kText,         // [batch, time, classes]: the text of each line, by greedy CTC decoding
  kClass,        // [batch, classes]: the best class of each row
  kProbability,  // any shape: yes or no for each number
  kEmbedding,    // [batch, time, width]: how similar the sentences of the batch are
  kNotes,        // several fetches: which cells are over a threshold
};

struct Task {
  std::string name;     // of the folder that tools/fetch_models.py makes
  std::string file;     // of the model in it
  std::string inputs;   // its stored feeds are in <inputs>_inputs_K.npz, K 0 and 1,
  std::string outputs;  // its fp32 fetches in <outputs>_outputs_K.npz
  AnswerKind kind = AnswerKind::kClass;
  std::string output = "";                        // the fetch with the answer; "" for the only one
  std::vector<std::string> labels = {};           // of the classes; none: their numbers
  std::string labels_file = "";                   // in the model's folder: a label per line, of class 1 and up
  std::map<std::string, double> thresholds = {};  // kNotes: of each fetch
};

// The model called `name`; UsageError for an unknown one.
absl::StatusOr<Task> FindTask(absl::string_view name);

// Fills in the labels of a model that has them in a file of its folder below `models`; BadInput where that is absent.
absl::Status ReadLabels(const std::string& models, Task& task);

struct Answer {
  std::vector<std::string> texts;            // for people
  std::vector<std::vector<double>> numbers;  // what texts round: probabilities; unit vectors of sentences; 1 for each lit cell
};

// UsageError for an absent fetch, another rank, or another number of classes. A number that is not finite decodes to "?".
absl::StatusOr<Answer> Decode(const Task& task, const TensorMap& feeds, const TensorMap& fetches);

// Texts and classes are equal; probabilities differ by at most 0.05 and fall on the same side of 0.5, unless they lie within 0.02 of it;
// similarities differ by less than 0.01 and each vector's cosine is over 0.995; the F1 of lit cells is at least 0.98 in each fetch.
bool Same(const Task& task, const Answer& want, const Answer& got);

}  // namespace ampc
