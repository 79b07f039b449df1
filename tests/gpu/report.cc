// Puts together what a run of the GPU bundle left in a folder: report.json for programs, report.txt for people.
//   report FOLDER           exit code 0: every test passed and every training agrees with the CPU's; 1: not; 3: the folder has no results
//   report --failed FILE    the tests that failed by a result of GoogleTest, a line each
// It reads, where present: machine.txt; tests/ (tests/gpu/test_results.h); train/NETWORK_LEVEL_{cpu,device}.jsonl (ampc train --json) and
// why a training ended early; stages.txt, left_out.txt, stopped.txt; bench/*.jsonl (ampc bench --json, one object per line, also of peers);
// roofline.json.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "graph/base/json_reader.h"
#include "graph/base/json_writer.h"
#include "tests/gpu/test_results.h"

namespace ampc::testing {
namespace {

namespace fs = std::filesystem;

// A training on the device may end this far from the CPU's: sums in another order, and in O1 and O2 other roundings, for 30 steps.
constexpr double kLossTolerance = 0.01;

std::vector<JsonValue> Lines(const fs::path& path) {
  std::vector<JsonValue> lines;
  for (absl::string_view line : absl::StrSplit(ReadAll(path), '\n', absl::SkipWhitespace())) {
    absl::StatusOr<JsonValue> value = ParseJson(line);
    if (value.ok()) lines.push_back(*std::move(value));
  }
  return lines;
}

double Number(const JsonValue& object, const char* key) {
  const JsonValue* value = object.Find(key);
  return value == nullptr ? NAN : value->AsDouble().value_or(NAN);
}

std::string Text(const JsonValue& object, const char* key) {
  const JsonValue* value = object.Find(key);
  return value == nullptr ? "" : value->text;
}

class Report {
 public:
  explicit Report(fs::path folder) : folder_(std::move(folder)), json_(JsonWriter::kIndented) {}

  int Run() {
    json_.BeginObject().Field("machine", ReadAll(folder_ / "machine.txt"));
    text_ = ReadAll(folder_ / "machine.txt") + "\n";
    const bool any = Tests() + Trainings() + Benches() > 0;
    Claims();
    LeftOut();
    json_.Field("ok", ok_).EndObject();
    text_ += ok_ ? "\nall tests passed, all trainings agree\n" : "\nNOT ALL IS WELL: see above\n";
    std::ofstream(folder_ / "report.json") << json_.Take() << "\n";
    std::ofstream(folder_ / "report.txt") << text_;
    std::cout << text_;
    return !any ? 3 : ok_ ? 0 : 1;
  }

 private:
  int Tests() {
    json_.Key("tests").BeginArray();
    text_ += absl::StrFormat("%-28s %8s %8s %8s\n", "tests", "passed", "failed", "skipped");
    const std::vector<TestResult> results = ReadTestResults(folder_ / "tests");
    for (const TestResult& r : results) OneTest(r);
    json_.EndArray();
    Kernels();
    json_.Key("sanitizers").BeginArray();
    for (const SanitizerResult& r : ReadSanitizerResults(folder_ / "tests")) {
      ok_ = ok_ && !r.found;
      json_.BeginObject(JsonWriter::kInline).Field("tool", r.tool).Field("found", r.found).Field("text", r.text).EndObject();
      text_ += absl::StrFormat("%-28s %s\n", r.tool, r.text);
    }
    json_.EndArray();
    return static_cast<int>(results.size());
  }

  // The kernels that the test programs ran, of those that they have. All of them, if all programs ran.
  void Kernels() {
    const KernelsRan kernels = ReadKernelsRan(folder_ / "tests");
    const std::string stages = "\n" + ReadAll(folder_ / "stages.txt");
    const bool all = absl::StrContains(stages, "\nkernels\n") && absl::StrContains(stages, "\ntests\n");
    ok_ = ok_ && (!all || kernels.others.empty());
    json_.Key("kernels")
        .BeginObject(JsonWriter::kInline)
        .Field("has", kernels.has)
        .Field("ran", kernels.ran)
        .Field("all_programs_ran", all);
    json_.Key("never_ran").BeginArray(JsonWriter::kInline);
    for (const std::string& kernel : kernels.others) json_.String(kernel);
    json_.EndArray().EndObject();
    if (kernels.has == 0) return;
    text_ +=
        absl::StrFormat("device kernels that ran: %d of %d%s\n", kernels.ran, kernels.has, all ? "" : ", by some of the test programs");
    for (const std::string& kernel : kernels.others) text_ += all ? "    failed: no test ran " + kernel + "\n" : "";
  }

  void OneTest(const TestResult& r) {
    ok_ = ok_ && r.failed == 0;
    json_.BeginObject(JsonWriter::kInline)
        .Field("name", r.name)
        .Field("passed", r.passed)
        .Field("failed", r.failed)
        .Field("skipped", r.skipped);
    json_.Key("failures").BeginArray(JsonWriter::kInline);
    for (const std::string& failure : r.failures) json_.String(failure);
    json_.EndArray().EndObject();
    text_ += absl::StrFormat("%-28s %8d %8d %8d\n", r.name, r.passed, r.failed, r.skipped);
    for (size_t i = 0; i < std::min<size_t>(r.failures.size(), 20); ++i) text_ += "    failed: " + r.failures[i] + "\n";
    if (r.failures.size() > 20) text_ += absl::StrFormat("    and %d more: report.json has all\n", r.failures.size() - 20);
  }

  // Stages for which no time was left, a signal, benchmarks that failed: nobody should take the rest for all.
  void LeftOut() {
    const std::string left_out = ReadAll(folder_ / "left_out.txt"), stopped = ReadAll(folder_ / "stopped.txt");
    const std::string benches = ReadAll(folder_ / "bench" / "failed.txt");
    const auto lines = [](const std::string& text) { return std::vector<std::string>(absl::StrSplit(text, '\n', absl::SkipWhitespace())); };
    json_.Key("left_out").BeginArray(JsonWriter::kInline);
    for (const std::string& stage : lines(left_out)) {
      json_.String(stage);
      text_ += "no time was left for: " + stage + "\n";
    }
    json_.EndArray();
    for (const std::string& line : lines(benches)) text_ += "FAILED: " + line + "\n";
    for (const std::string& line : lines(stopped)) text_ += line + ": what stands here is not all\n";
    ok_ = ok_ && stopped.empty() && benches.empty();
  }

  // Losses of the device against those of the CPU, step by step.
  int Trainings() {
    std::map<std::string, std::map<std::string, std::vector<double>>> losses;  // by network and level, by device
    for (const fs::path& path : FilesIn(folder_ / "train", ".jsonl")) {
      const std::string stem = path.stem();
      const size_t at = stem.rfind('_');
      std::vector<double>& of = losses[stem.substr(0, at)][stem.substr(at + 1)];
      for (const JsonValue& line : Lines(path)) {
        if (Text(line, "event") == "step") of.push_back(Number(line, "loss"));
      }
    }
    json_.Key("trainings").BeginArray();
    text_ += absl::StrFormat("\n%-28s %10s %10s %10s %12s\n", "training", "steps", "cpu", "device", "largest diff");
    for (const auto& [name, by_device] : losses) OneTraining(name, by_device);
    json_.EndArray();
    return static_cast<int>(losses.size());
  }

  void OneTraining(const std::string& name, const std::map<std::string, std::vector<double>>& by_device) {
    const auto cpu = by_device.find("cpu"), cuda = by_device.find("device");
    const std::string failed(absl::StripAsciiWhitespace(ReadAll(folder_ / "train" / (name + "_device.jsonl.failed"))));
    bool ok = failed.empty() && cpu != by_device.end() && cuda != by_device.end() && !cpu->second.empty() &&
              cpu->second.size() == cuda->second.size();
    double worst = NAN;
    if (ok) {
      worst = 0;
      for (size_t i = 0; i < cpu->second.size(); ++i) {
        const double difference = std::abs(cpu->second[i] - cuda->second[i]) / std::max(1e-3, std::abs(cpu->second[i]));
        worst = difference <= worst ? worst : difference;  // a NaN stays
      }
      ok = worst <= kLossTolerance;
    }
    ok_ = ok_ && ok;
    const auto last = [&](auto it) { return it == by_device.end() || it->second.empty() ? NAN : it->second.back(); };
    const int steps = cuda == by_device.end() ? 0 : static_cast<int>(cuda->second.size());
    json_.BeginObject(JsonWriter::kInline)
        .Field("name", name)
        .Field("steps", steps)
        .Field("cpu_loss", last(cpu))
        .Field("device_loss", last(cuda));
    json_.Field("largest_relative_difference", worst).Field("ok", ok).Field("failed", failed).EndObject();
    text_ += absl::StrFormat("%-28s %10d %10.5f %10.5f %12.2e%s\n", name, steps, last(cpu), last(cuda), worst, ok ? "" : "   WRONG");
    if (!failed.empty()) text_ += "    " + failed + "\n";
  }

  int Benches() {
    json_.Key("benchmarks").BeginArray();
    text_ += absl::StrFormat("\n%-12s %-10s %-6s %-6s %-7s %6s %12s %14s\n", "engine", "model", "job", "level", "dtype", "batch", "p50 ms",
                             "items/s");
    int lines = 0;
    for (const fs::path& path : FilesIn(folder_ / "bench", ".jsonl")) {
      for (const JsonValue& line : Lines(path)) {
        ++lines;
        Bench b;
        b.engine = Text(line, "engine").empty() ? "ampc" : Text(line, "engine");
        b.model = Text(line, "model");
        b.job = Text(line, "job");
        b.level = Text(line, "level");
        b.dtype = Text(line, "dtype");
        b.batch = static_cast<int64_t>(Number(line, "batch"));
        b.accumulate = line.Find("accumulate") == nullptr ? 1 : static_cast<int64_t>(Number(line, "accumulate"));
        b.seconds = Number(line, "p50_seconds");
        json_.BeginObject(JsonWriter::kInline)
            .Field("engine", b.engine)
            .Field("model", b.model)
            .Field("job", b.job)
            .Field("level", b.level);
        json_.Field("dtype", b.dtype).Field("batch", b.batch).Field("accumulate", b.accumulate).Field("p50_seconds", b.seconds).EndObject();
        text_ += absl::StrFormat("%-12s %-10s %-6s %-6s %-7s %6d %12.3f %14.1f\n", b.engine, b.model, b.job, b.level, b.dtype, b.batch,
                                 b.seconds * 1e3, static_cast<double>(b.batch) / b.seconds);
        benches_.push_back(std::move(b));
      }
    }
    json_.EndArray();
    return lines;
  }

  struct Bench {
    std::string engine, model, job, level, dtype;
    int64_t batch = 0, accumulate = 1;
    double seconds = NAN;
  };

  double SecondsOf(const std::string& engine, const std::string& model, const std::string& job, const std::string& level,
                   int64_t batch) const {
    for (const Bench& b : benches_) {
      if (b.engine == engine && b.model == model && b.job == job && b.level == level && b.batch == batch && b.accumulate == 1)
        return b.seconds;
    }
    return NAN;
  }

  void Claim(const std::string& what, double found, const char* relation, double needed) {
    const bool known = std::isfinite(found);
    const bool holds = known && (relation[0] == '<' ? found <= needed : found >= needed);
    json_.BeginObject(JsonWriter::kInline)
        .Field("claim", what)
        .Field("found", found)
        .Field("needed", std::string(relation) + absl::StrFormat(" %g", needed));
    json_.Field("holds", holds).EndObject();
    text_ += absl::StrFormat("%-68s %8s  needed %s %g: %s\n", what, known ? absl::StrFormat("%.3f", found) : "-", relation, needed,
                             !known  ? "not measured"
                             : holds ? "holds"
                                     : "does not hold");
  }

  // The bars of speed. Bytes per parameter of a step of SGD in O2: check 2, update 2 + 4 + 4 + 2 (gradient, master both ways, low copy).
  void Claims() {
    json_.Key("speed").BeginArray();
    text_ += "\n";
    const double fp32 = SecondsOf("ampc", "simplenet", "train", "O0", 512), o2 = SecondsOf("ampc", "simplenet", "train", "O2", 512);
    Claim("simplenet training, batch 512: fp32 step over O2 step", fp32 / o2, ">=", 3.3);
    const absl::StatusOr<JsonValue> roofline = ParseJson(ReadAll(folder_ / "roofline.json"));
    if (roofline.ok()) {
      const double features = Number(*roofline, "features"), parameters = Number(*roofline, "layers") * (features * features + features);
      const double bytes = 14 * parameters / (0.85 * Number(*roofline, "copy_bytes_per_second"));
      Claim("O2 step over its products and its bytes at 85 % of copy bandwidth", o2 / (Number(*roofline, "products_seconds_fp16") + bytes),
            "<=", 1.15);
    }
    for (const char* model : {"resnet50", "bert"}) {
      Claim(std::string(model) + " inference, batch 1: O2 over fp32 latency",
            SecondsOf("ampc", model, "run", "O2", 1) / SecondsOf("ampc", model, "run", "O0", 1), "<=", 1.05);
    }
    const double torch = SecondsOf("torch", "simplenet", "train", "O1", 512);
    if (std::isfinite(torch)) Claim("simplenet training: O2 step over PyTorch's autocast step", o2 / torch, "<=", 1);
    json_.EndArray();
  }

  const fs::path folder_;
  JsonWriter json_;
  std::string text_;
  std::vector<Bench> benches_;
  bool ok_ = true;
};

}  // namespace
}  // namespace ampc::testing

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--failed") {
    for (const std::string& name : ampc::testing::FailedTests(argv[2])) std::cout << name << "\n";
    return 0;
  }
  if (argc != 2) {
    std::cerr << "usage: report FOLDER, or report --failed FILE\n";
    return 2;
  }
  return ampc::testing::Report(argv[1]).Run();
}
