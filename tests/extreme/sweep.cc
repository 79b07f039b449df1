#include "tests/extreme/sweep.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/fnv.h"
#include "graph/base/shape.h"
#include "tests/extreme/attempt.h"

namespace ampc::extreme {
namespace {

enum class State : uint8_t { kNotTried, kBegun, kRan, kRefused, kShortOfMemory, kImpolite };

// A child's message to its parent.
struct Record {
  State state;
  Outcome outcome;
  char stage[8];
  char what[240];
};
struct Shared {
  int64_t at;        // the model that the child tries, as a position
  double cpu_start;  // the child's processor time when it began
  Record records[];
};

Shared* shared = nullptr;
Record* current = nullptr;

double CpuSeconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::vector<const OpDef*> Chosen(const std::string& only) {
  std::vector<const OpDef*> ops = TriedOps();
  std::erase_if(ops, [&](const OpDef* def) { return !absl::StrContains(def->name, only); });
  return ops;
}

Outcome OutcomeOf(const TensorMap& fetches) {
  Outcome outcome;
  outcome.ran = true;
  for (const auto& [name, tensor] : fetches) {
    const absl::string_view bytes(static_cast<const char*>(tensor.data()), tensor.size_bytes());
    outcome.results = Fnv1a(bytes, Fnv1a(absl::StrCat(name, Name(tensor.dtype()), ShapeToString(tensor.dims())), outcome.results));
    if (name == "r0" && tensor.dtype() == DType::kI64 && tensor.num_elements() > 0)
      outcome.first = *static_cast<const int64_t*>(tensor.data());
  }
  return outcome;
}

int64_t IndexOf(const SweepOptions& options, int64_t position) { return options.first + position * options.step; }

void TryOne(const SweepOptions& options, int64_t position, const std::string& folder) {
  Record& record = shared->records[position];
  current = &record;
  shared->at = position;
  shared->cpu_start = CpuSeconds(CLOCK_PROCESS_CPUTIME_ID);
  record.state = State::kBegun;
  const Attempt attempt = Try(ModelOf(options, IndexOf(options, position)), folder,
                              [](const char* stage) { std::strncpy(current->stage, stage, sizeof(current->stage) - 1); });
  const absl::Status polite = CheckPolite(attempt);
  record.outcome = attempt.status.ok() ? OutcomeOf(attempt.fetches) : Outcome();
  const absl::Status& told = polite.ok() ? attempt.status : polite;
  std::strncpy(record.what, std::string(told.message()).c_str(), sizeof(record.what) - 1);
  record.state = !polite.ok()                ? State::kImpolite
                 : attempt.status.ok()       ? State::kRan
                 : attempt.too_little_memory ? State::kShortOfMemory
                                             : State::kRefused;
}

[[noreturn]] void Child(const SweepOptions& options, int64_t begin, int64_t end, const std::string& folder) {
  const int err = open((folder + "/err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(err, STDERR_FILENO);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  if (options.memory_bytes > 0) {
    const rlimit memory{static_cast<rlim_t>(options.memory_bytes), static_cast<rlim_t>(options.memory_bytes)};
    setrlimit(RLIMIT_AS, &memory);
  }
  for (int64_t i = begin; i < end; ++i) TryOne(options, i, folder);
  _exit(0);
}

std::string LastWords(const std::string& folder) {
  std::ifstream in(folder + "/err");
  std::stringstream text;
  text << in.rdbuf();
  std::string words = text.str();
  for (const char* begin : {"ERROR: AddressSanitizer", "runtime error:"}) {
    const size_t at = words.find(begin);
    if (at != std::string::npos) return absl::StrCat(" ", words.substr(at, 200));
  }
  words = words.substr(words.size() > 200 ? words.size() - 200 : 0);
  return words.empty() ? "" : absl::StrCat(" ", words);
}

// "" where the child ended by itself, else what ended it.
std::string Watch(pid_t child, int seconds) {
  clockid_t clock;
  const bool has_clock = clock_getcpuclockid(child, &clock) == 0;
  for (;;) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) {
      if (WIFSIGNALED(status)) return absl::StrCat("signal ", WTERMSIG(status));
      return WEXITSTATUS(status) == 0 ? "" : absl::StrCat("exit ", WEXITSTATUS(status));
    }
    if (has_clock && CpuSeconds(clock) - shared->cpu_start > seconds) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return "hang";
    }
    usleep(2000);
  }
}

// Tries all positions below `count`.
void TryAll(const SweepOptions& options, const std::string& folder) {
  for (int64_t begin = 0; begin < options.count;) {
    const int64_t end = std::min<int64_t>(options.count, begin + options.models_per_child);
    shared->at = begin;
    shared->cpu_start = 0;
    const pid_t child = fork();
    if (child == 0) Child(options, begin, end, folder);
    const std::string ended = child < 0 ? "no child" : Watch(child, options.seconds);
    begin = end;
    if (ended.empty()) continue;
    Record& record = shared->records[shared->at];
    record.state = State::kImpolite;
    std::strncpy(record.what, absl::StrCat(ended, LastWords(folder)).c_str(), sizeof(record.what) - 1);
    begin = shared->at + 1;
  }
}

SweepResult Collect(const SweepOptions& options, size_t num_ops) {
  SweepResult result;
  std::set<std::string> ran;
  for (int64_t i = 0; i < options.count; ++i) {
    const Record& record = shared->records[i];
    result.tried += record.state != State::kNotTried;
    result.ran += record.state == State::kRan;
    result.refused += record.state == State::kRefused;
    result.short_of_memory += record.state == State::kShortOfMemory;
    result.outcomes.push_back(record.outcome);
    const int64_t index = IndexOf(options, i);
    if (record.state == State::kRan && !options.model && (options.changes == 0 || index < static_cast<int64_t>(num_ops)))
      ran.insert(ModelOf(options, index).def->name);
    if (record.state != State::kImpolite) continue;
    const OddModel model = ModelOf(options, index);
    result.failures.push_back({index, model.def->name, record.stage, record.what, Describe(model)});
  }
  result.ops_that_ran.assign(ran.begin(), ran.end());
  return result;
}

}  // namespace

OddModel ModelOf(const SweepOptions& options, int64_t index) {
  if (options.model) return options.model(index);
  static auto& chosen = *new std::map<std::string, std::vector<const OpDef*>>;
  std::vector<const OpDef*>& ops = chosen[options.only];
  if (ops.empty()) ops = Chosen(options.only);
  const size_t round = static_cast<size_t>(index) / ops.size();
  Choices choices(options.seed * 1'000'003 + static_cast<uint64_t>(index));
  return MakeModel(*ops[static_cast<size_t>(index) % ops.size()],
                   options.changes >= 0 ? options.changes
                   : round == 0         ? 0
                   : round % 3 == 0     ? 2
                                        : 1,
                   choices);
}

SweepResult Sweep(const SweepOptions& options) {
  const size_t bytes = sizeof(Shared) + static_cast<size_t>(options.count) * sizeof(Record);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  shared = static_cast<Shared*>(memory);
  std::string folder = (std::filesystem::temp_directory_path() / "ampc-extreme-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) std::abort();
  TryAll(options, folder);
  const SweepResult result = Collect(options, Chosen(options.only).size());
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  munmap(memory, bytes);
  return result;
}

std::vector<std::string> ReadList(const std::string& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line[0] != '#') lines.push_back(line.substr(0, line.find(" # ")));
  }
  return lines;
}

bool IsKnown(const Failure& failure, const std::vector<std::string>& known) {
  const std::string text = absl::StrCat(failure.op, " ", failure.stage, " ", failure.what);
  return std::any_of(known.begin(), known.end(), [&](const std::string& line) { return std::regex_search(text, std::regex(line)); });
}

}  // namespace ampc::extreme
