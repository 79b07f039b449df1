// sweep [--seed N] [--count N] [--first N] [--step N] [--only OP] [--changes N] [--no_limit] [--known FILE] [--write INDEX FOLDER]
// Tries models; prints what failed, by kind, but for what the file lists as known; exit status 1 where there is any. --write leaves one of
// them and its feeds in a folder: odd.onnx or odd.prog, in.npz.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>

#include "absl/strings/str_cat.h"
#include "graph/formats/tensor_io/npz.h"
#include "tests/extreme/sweep.h"

namespace ampc::extreme {
namespace {

int Write(const SweepOptions& options, int64_t index, const std::string& folder) {
  const OddModel model = ModelOf(options, index);
  std::ofstream(absl::StrCat(folder, "/odd", ExtensionOf(model)), std::ios::binary) << FileOf(model);
  const absl::Status status = WriteNpz(folder + "/in.npz", FeedsOf(model));
  std::printf("%s\n", Describe(model).c_str());
  return status.ok() ? 0 : 1;
}

// Messages without numbers and names: those of one kind are the same.
std::string KindOf(const Failure& failure) {
  std::string kind;
  bool quoted = false;
  for (const char c : failure.what) {
    if (c == '\'') quoted = !quoted;
    if (!quoted && (c < '0' || c > '9' || kind.size() < 10)) kind.push_back(c);
  }
  return absl::StrCat(failure.stage, " ", kind);
}

int Main(int argc, char** argv) {
  SweepOptions options;
  std::vector<std::string> known;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const auto number = [&] { return i + 1 < argc ? std::atoll(argv[++i]) : 0; };
    if (flag == "--seed") options.seed = static_cast<uint64_t>(number());
    if (flag == "--count") options.count = number();
    if (flag == "--first") options.first = number();
    if (flag == "--step") options.step = number();
    if (flag == "--only") options.only = i + 1 < argc ? argv[++i] : "";
    if (flag == "--changes") options.changes = static_cast<int>(number());
    if (flag == "--no_limit") options.memory_bytes = 0;
    if (flag == "--known" && i + 1 < argc) known = ReadList(argv[++i]);
    if (flag == "--write" && i + 2 < argc) return Write(options, std::atoll(argv[i + 1]), argv[i + 2]);
  }
  SweepResult result = Sweep(options);
  const size_t failed = result.failures.size();
  std::erase_if(result.failures, [&](const Failure& failure) { return IsKnown(failure, known); });
  std::map<std::string, std::vector<const Failure*>> kinds;
  for (const Failure& failure : result.failures) kinds[KindOf(failure)].push_back(&failure);
  for (const auto& [kind, failures] : kinds) {
    std::printf("%zu x %s\n", failures.size(), kind.c_str());
    std::map<std::string, int> shown;
    for (const Failure* f : failures) {
      if (++shown[f->op] > 2 || shown.size() > 12) continue;
      std::printf("    %lld %s\n        %s\n", static_cast<long long>(f->index), f->model.c_str(), f->what.c_str());
    }
  }
  const auto number = [](int64_t n) { return static_cast<long long>(n); };
  std::printf("%lld tried, %lld ran, %lld refused, %lld short of memory, %zu failed, %zu of them known\n", number(result.tried),
              number(result.ran), number(result.refused), number(result.short_of_memory), failed, failed - result.failures.size());
  return result.failures.empty() ? 0 : 1;
}

}  // namespace
}  // namespace ampc::extreme

int main(int argc, char** argv) { return ampc::extreme::Main(argc, argv); }
