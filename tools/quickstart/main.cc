// The table of the quick start: real models, converted to fp16 and bf16, run and judged.
//
// usage: quickstart [--runs=N] MODELS DATA WORK MODEL...    MODELS: from tools/fetch_models.py; DATA: inputs and the frameworks' fp32
// outputs;
//                                                           WORK: where converted models go; MODEL: a name of task.cc; N: timed runs per
//                                                           variant
#include <algorithm>
#include <chrono>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/tensor_io/npz.h"
#include "runtime/compare/difference.h"
#include "runtime/convert/convert.h"
#include "runtime/session.h"
#include "tools/cli/console.h"
#include "tools/quickstart/task.h"

namespace ampc {
namespace {

constexpr int kInputs = 2;  // sets of inputs per model

struct Request {
  std::string models, data, work;
  std::vector<std::string> names;
  int runs = 20;
};

struct Variant {
  std::string label;
  std::string path;
  std::vector<Answer> answers;
  double error = 0;    // largest |difference| of a fetch from the stored one over its largest value
  double latency = 0;  // best of all runs, first set of inputs
  ConvertResult converted;
};

absl::StatusOr<TensorMap> Feeds(const Task& task, const std::string& data, int k) {
  return ReadNpz(absl::StrCat(data, "/", task.inputs, "_inputs_", k, ".npz"));
}

absl::Status Judge(const Task& task, const std::string& data, const Session& session, Variant& variant) {
  for (int k = 0; k < kInputs; ++k) {
    AMPC_ASSIGN_OR_RETURN(const TensorMap feeds, Feeds(task, data, k));
    AMPC_ASSIGN_OR_RETURN(const TensorMap wanted, ReadNpz(absl::StrCat(data, "/", task.outputs, "_outputs_", k, ".npz")));
    AMPC_ASSIGN_OR_RETURN(const TensorMap got, session.Run(feeds));
    for (const auto& [name, want] : wanted) {
      const auto it = got.find(name);
      if (it == got.end() || it->second.dims() != want.dims())
        return InternalError(absl::StrCat(variant.path, ": output '", name, "' is missing or has other dims"));
      const Difference d = Compare(ToDoubles(want), ToDoubles(it->second), DType::kF32);
      variant.error = d.mismatched_non_finite > 0 ? INFINITY : std::max(variant.error, d.max_rel);
    }
    AMPC_ASSIGN_OR_RETURN(Answer answer, Decode(task, feeds, got));
    variant.answers.push_back(std::move(answer));
  }
  return absl::OkStatus();
}

bool SameAnswers(const Task& task, const Variant& a, const Variant& b) {
  for (int k = 0; k < kInputs; ++k) {
    if (!Same(task, a.answers[k], b.answers[k])) return false;
  }
  return true;
}

// Interleaved, so that a change of the machine's speed hits all variants alike.
absl::Status Time(const Task& task, const Request& request, const std::vector<Session>& sessions, std::vector<Variant>& variants) {
  AMPC_ASSIGN_OR_RETURN(const TensorMap feeds, Feeds(task, request.data, 0));
  for (int run = 0; run < request.runs; ++run) {
    for (size_t i = 0; i < sessions.size(); ++i) {
      const auto start = std::chrono::steady_clock::now();
      AMPC_RETURN_IF_ERROR(sessions[i].Run(feeds).status());
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      variants[i].latency = run == 0 ? seconds : std::min(variants[i].latency, seconds);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Variant>> Variants(const Task& task, const Request& wanted) {
  const std::string original = absl::StrCat(wanted.models, "/", task.name, "/", task.file);
  std::vector<Variant> variants(1);
  variants[0].label = "fp32";
  variants[0].path = original;
  for (DType dtype : {DType::kF16, DType::kBF16}) {
    Variant v;
    v.label = dtype == DType::kF16 ? "fp16" : "bf16";
    v.path = absl::StrCat(wanted.work, "/", task.name, "_", v.label, task.file.substr(task.file.rfind('.')));
    ConvertOptions convert;
    convert.model = original;
    convert.output = v.path;
    convert.dtype = dtype;
    AMPC_ASSIGN_OR_RETURN(v.converted, Convert(convert));
    variants.push_back(std::move(v));
  }
  std::vector<Session> sessions;
  for (Variant& v : variants) {
    AMPC_ASSIGN_OR_RETURN(const Session rounded, Session::Load(v.path, {.excess_precision = false}));
    AMPC_RETURN_IF_ERROR(Judge(task, wanted.data, rounded, v));
    AMPC_ASSIGN_OR_RETURN(Session session, Session::Load(v.path));
    sessions.push_back(std::move(session));
  }
  AMPC_RETURN_IF_ERROR(Time(task, wanted, sessions, variants));
  return variants;
}

std::vector<std::string> Row(const Task& task, const Variant& v, const Variant& fp32) {
  const ConvertResult& c = v.converted;
  const bool original = &v == &fp32;
  const ModelFacts& facts = c.after;
  return {task.name,
          v.label,
          original ? "" : absl::StrCat(HumanBytes(c.bytes_before), " -> ", HumanBytes(c.bytes_after)),
          original ? "" : absl::StrCat(facts.low_ops, " / ", facts.float_ops - facts.low_ops),
          original ? "" : facts.ShareText(),
          original ? "" : absl::StrCat(facts.casts),
          original ? "" : HumanSeconds(c.seconds()),
          HumanSeconds(v.latency),
          absl::StrFormat("%.2f", v.latency / fp32.latency),
          absl::StrFormat("%.1e", v.error),
          SameAnswers(task, fp32, v) ? "same" : "CHANGED"};
}

std::string Texts(const Variant& v) {
  std::vector<std::string> texts;
  for (const Answer& answer : v.answers) texts.insert(texts.end(), answer.texts.begin(), answer.texts.end());
  return absl::StrJoin(texts, " | ");
}

absl::Status Run(const Request& request, Console& console) {
  std::vector<std::vector<std::string>> rows = {
      {"model", "type", "size", "ops low / fp32", "low flops", "casts", "conversion", "latency", "x fp32", "error", "answer"}};
  std::string answers;
  bool same = true;
  for (const std::string& name : request.names) {
    AMPC_ASSIGN_OR_RETURN(Task task, FindTask(name));
    AMPC_RETURN_IF_ERROR(ReadLabels(request.models, task));
    AMPC_ASSIGN_OR_RETURN(const std::vector<Variant> variants, Variants(task, request));
    for (const Variant& v : variants) {
      rows.push_back(Row(task, v, variants[0]));
      same = same && SameAnswers(task, variants[0], v);
      absl::StrAppend(&answers, task.name, " ", v.label, ": ", Texts(v), "\n");
    }
  }
  console.Out(absl::StrCat("\n", FormatTable(rows),
                           "\nerror: against the fp32 outputs of Paddle or ONNX Runtime, over their largest value. latency: best of ",
                           request.runs,
                           " runs on this CPU, all variants interleaved.\nError and answer are those of half storage: each result is "
                           "rounded to its type. Latency is that of a plain run, which rounds less.\n\nanswers\n",
                           answers));
  return same ? absl::OkStatus() : NoError("a converted model gives another answer than the original");
}

}  // namespace
}  // namespace ampc

int main(int argc, char** argv) {
  ampc::Console console;
  ampc::Request request;
  const bool runs = argc > 1 && absl::StartsWith(argv[1], "--runs=");
  if (runs && (!absl::SimpleAtoi(absl::StripPrefix(argv[1], "--runs="), &request.runs) || request.runs < 1)) argc = 0;
  argv += runs ? 1 : 0;
  argc -= runs ? 1 : 0;
  if (argc < 5) {
    console.Note("usage: quickstart [--runs=N] MODELS DATA WORK MODEL...");
    return 2;
  }
  request.models = argv[1];
  request.data = argv[2];
  request.work = argv[3];
  request.names.assign(argv + 4, argv + argc);
  const absl::Status status = ampc::Run(request, console);
  if (!status.ok()) console.Note(absl::StrCat("quickstart: ", status.message()));
  return static_cast<int>(ampc::ExitCodeOf(status));
}
