#include "runtime/train/checkpoint.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "graph/base/atomic_file.h"
#include "graph/base/error.h"
#include "graph/base/mapped_file.h"
#include "graph/base/shape.h"
#include "graph/base/signal_cleanup.h"
#include "graph/base/status_macros.h"
#include "graph/formats/tensor_io/safetensors.h"
#include "runtime/train/checkpoint_files.h"
#include "runtime/train/skipped_steps.h"

namespace ampc {
namespace {

namespace fs = std::filesystem;

constexpr char kState[] = "state.safetensors";
constexpr char kTraining[] = "training.json";
constexpr char kLatest[] = "latest";
constexpr char kPrefix[] = "step-";
constexpr char kUnfinished[] = ".unfinished-";

std::string In(const std::string& directory, absl::string_view name) { return absl::StrCat(directory, "/", name); }

bool IsTransient(const CheckpointOptions& options, const std::string& name) {
  return std::find(options.transient.begin(), options.transient.end(), name) != options.transient.end();
}

// The state that `name` is the value of in front of an update; "" for another variable.
std::string KeptState(absl::string_view name) { return absl::ConsumeSuffix(&name, kKeptSuffix) ? std::string(name) : ""; }

VariableTypes TypesOf(const Scope& scope) {
  VariableTypes types;
  for (const auto& [name, v] : scope.variables()) types[name] = absl::StrCat(Name(v.dtype), " ", ShapeToString(v.value.dims()));
  return types;
}

// {steps, number among those of the same step}, from "step-000000000012" or "step-000000000012.1"; false for other names.
bool ParseName(absl::string_view name, std::pair<int64_t, int64_t>* order) {
  if (!absl::ConsumePrefix(&name, kPrefix)) return false;
  *order = {0, 0};
  const size_t dot = name.find('.');
  if (dot != absl::string_view::npos && !absl::SimpleAtoi(name.substr(dot + 1), &order->second)) return false;
  return absl::SimpleAtoi(name.substr(0, dot), &order->first);
}

// Names of the checkpoints in a directory, newest first.
std::vector<std::string> List(const std::string& directory) {
  std::vector<std::pair<std::pair<int64_t, int64_t>, std::string>> found;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    std::pair<int64_t, int64_t> order;
    const std::string name = it->path().filename().string();
    if (ParseName(name, &order)) found.emplace_back(order, name);
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> names;
  for (auto& [order, name] : found) names.push_back(std::move(name));
  return names;
}

absl::StatusOr<std::string> ReadText(const std::string& path) {
  AMPC_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  return std::string(file.text());
}

// "" when there is none that names a checkpoint.
std::string Latest(const std::string& directory) {
  absl::StatusOr<std::string> text = ReadText(In(directory, kLatest));
  if (!text.ok()) return "";
  const std::string name(absl::StripSuffix(*text, "\n"));
  std::pair<int64_t, int64_t> order;
  return ParseName(name, &order) ? name : "";
}

absl::Status WriteState(const std::string& path, const Scope& scope, const VariableTypes& wanted) {
  std::vector<SafetensorsWriter::Spec> specs;
  for (const auto& [name, type] : wanted) {
    const Scope::Variable& v = *scope.Find(name);
    specs.push_back({name, v.dtype, {v.value.dims().begin(), v.value.dims().end()}});
  }
  AMPC_ASSIGN_OR_RETURN(SafetensorsWriter writer, SafetensorsWriter::Create(path, specs, {}, {}));
  for (const SafetensorsEntry& entry : writer.entries()) {
    const Scope::Variable& v = *scope.Find(entry.name);
    if (v.value.dtype() == v.dtype) {
      AMPC_RETURN_IF_ERROR(writer.Append(v.value.bytes()));
    } else {
      AMPC_ASSIGN_OR_RETURN(const HostTensor low, scope.Get(entry.name));
      AMPC_RETURN_IF_ERROR(writer.Append(low.bytes()));
    }
  }
  return writer.Commit();
}

absl::Status Failed(absl::string_view what, const std::string& path, const std::error_code& error) {
  return IoError(absl::StrCat(path, ": cannot be ", what, ": ", error.message()));
}

// Removes older ones than the `keep` newest, and what saves that did not finish left behind.
void Prune(const std::string& directory, const std::string& latest, int keep) {
  std::error_code ignored;
  std::vector<std::string> old = List(directory);
  std::erase(old, latest);
  for (size_t i = static_cast<size_t>(std::max(1, keep)) - 1; i < old.size(); ++i) fs::remove_all(In(directory, old[i]), ignored);
}

// A name for the checkpoint of that step which no other has.
std::string FreeName(const std::string& directory, int64_t steps) {
  const std::string base = absl::StrFormat("%s%012d", kPrefix, steps);
  std::string name = base;
  std::error_code ignored;
  for (int i = 1; fs::exists(In(directory, name), ignored); ++i) name = absl::StrCat(base, ".", i);
  return name;
}

// The first few of the differences, in words.
std::string Differences(const VariableTypes& have, const VariableTypes& need, const CheckpointOptions& options) {
  std::vector<std::string> parts;
  for (const auto& [name, type] : need) {
    const auto it = have.find(name);
    if (it == have.end()) {
      if (!IsTransient(options, name)) parts.push_back(absl::StrCat("'", name, "' (", type, ") is missing"));
    } else if (it->second != type) {
      parts.push_back(absl::StrCat("'", name, "' is ", it->second, ", the program has ", type));
    }
  }
  for (const auto& [name, type] : have) {
    if (need.contains(name)) continue;
    if (need.contains(KeptState(name))) continue;  // a program that skips no update keeps nothing
    parts.push_back(absl::StrCat("'", name, "' (", type, ") is extra"));
  }
  constexpr size_t kShown = 6;
  if (parts.size() > kShown) {
    const size_t more = parts.size() - kShown;
    parts.resize(kShown);
    parts.push_back(absl::StrCat("and ", more, " more"));
  }
  return absl::StrJoin(parts, "; ");
}

struct Content {
  TrainingProgress progress;
  VariableTypes types;
  std::map<std::string, HostTensor> values;
};

// Errors: the checkpoint is damaged.
absl::StatusOr<Content> ReadContent(const std::string& path) {
  AMPC_RETURN_IF_ERROR(CheckManifest(path, {kState, kTraining}));
  Content content;
  AMPC_ASSIGN_OR_RETURN(const std::string text, ReadText(In(path, kTraining)));
  AMPC_RETURN_IF_ERROR(Annotate(ParseTrainingJson(text, &content.progress, &content.types), kTraining));
  AMPC_ASSIGN_OR_RETURN(content.values, ReadSafetensors(In(path, kState)));
  return content;
}

absl::Status Fill(const std::string& path, const Content& content, Scope& scope, const CheckpointOptions& options) {
  const std::string differences = Differences(content.types, TypesOf(scope), options);
  if (!differences.empty()) return BadInputError(absl::StrCat("checkpoint '", path, "' belongs to another program: ", differences));
  if (content.progress.micro > 0 && content.progress.accumulate != options.accumulate) {
    return BadInputError(absl::StrCat("checkpoint '", path, "' was saved after ", content.progress.micro, " of ",
                                      content.progress.accumulate, " steps of an update; it needs accumulate ", content.progress.accumulate,
                                      ", not ", options.accumulate));
  }
  for (const auto& [name, type] : content.types) {
    const auto it = content.values.find(name);
    if (it == content.values.end())
      return BadInputError(absl::StrCat("checkpoint '", path, "': ", kState, " has no '", name, "', which ", kTraining, " lists"));
  }
  for (const auto& [name, variable] : scope.variables()) {
    auto it = content.values.find(name);
    // Within an update, saved by a version that did not keep it.
    if (it == content.values.end() && content.progress.micro > 0) it = content.values.find(KeptState(name));
    if (it != content.values.end()) {
      AMPC_RETURN_IF_ERROR(scope.Set(name, it->second));
    } else if (variable.value.size_bytes() > 0) {
      HostTensor& zero = *scope.FindStorage(name);
      std::fill(zero.mutable_bytes().begin(), zero.mutable_bytes().end(), std::byte{0});
    }
  }
  return absl::OkStatus();
}

// A folder under the name of a save that is not finished; removed unless it got another name, by a signal that ends the process too.
class Unfinished {
 public:
  explicit Unfinished(const std::string& directory) : directory_(directory), path_(In(directory, absl::StrCat(kUnfinished, getpid()))) {}
  ~Unfinished() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
    for (const std::string& path : Paths()) KeepOnSignal(path);
    if (made_) fs::remove(directory_, ignored);  // stays where it has a checkpoint
  }
  absl::Status Make() {
    // Before the save, not behind it: a process that is killed in between leaves a last checkpoint, after which nothing is saved any more.
    RemoveUnfinishedSaves(directory_);
    std::error_code error;
    made_ = fs::create_directories(directory_, error);
    for (const std::string& path : Paths()) RemoveOnSignal(path);
    if (!error) fs::create_directory(path_, error);
    return error ? Failed("created", path_, error) : absl::OkStatus();
  }
  const std::string& path() const { return path_; }

 private:
  std::vector<std::string> Paths() const { return {In(path_, kState), In(path_, kTraining), In(path_, kManifest), path_}; }

  std::string directory_, path_;
  bool made_ = false;
};

}  // namespace

void RemoveUnfinishedSaves(const std::string& directory) {
  std::error_code ignored;
  std::vector<fs::path> left;
  for (fs::directory_iterator it(directory, ignored), end; !ignored && it != end; it.increment(ignored)) {
    if (absl::StartsWith(it->path().filename().string(), kUnfinished)) left.push_back(it->path());
  }
  for (const fs::path& path : left) fs::remove_all(path, ignored);
}

absl::Status SaveCheckpoint(const std::string& directory, const Scope& scope, const TrainingProgress& progress,
                            const CheckpointOptions& options) {
  Unfinished folder(directory);
  AMPC_RETURN_IF_ERROR(folder.Make());
  const std::string& unfinished = folder.path();
  VariableTypes types = TypesOf(scope);
  if (progress.micro == 0) {
    for (const std::string& name : options.transient) types.erase(name);
  }
  AMPC_RETURN_IF_ERROR(WriteState(In(unfinished, kState), scope, types));
  AMPC_RETURN_IF_ERROR(WriteFileAtomically(In(unfinished, kTraining), TrainingJson(progress, types)));
  AMPC_RETURN_IF_ERROR(WriteManifest(unfinished, {kState, kTraining}));
  AMPC_RETURN_IF_ERROR(SyncDirectory(unfinished));
  const std::string name = FreeName(directory, progress.steps);
  std::error_code error;
  fs::rename(unfinished, In(directory, name), error);
  if (error) return Failed("renamed", unfinished, error);
  AMPC_RETURN_IF_ERROR(SyncDirectory(directory));
  AMPC_RETURN_IF_ERROR(WriteFileAtomically(In(directory, kLatest), absl::StrCat(name, "\n")));
  Prune(directory, name, options.keep);
  return absl::OkStatus();
}

absl::StatusOr<LoadedCheckpoint> LoadCheckpoint(const std::string& directory, Scope& scope, const CheckpointOptions& options) {
  std::vector<std::string> names = List(directory);
  const std::string latest = Latest(directory);
  LoadedCheckpoint out;
  if (latest.empty() && !names.empty())
    out.notes.push_back(absl::StrCat("'", In(directory, kLatest), "' names no checkpoint, the newest one is taken"));
  if (!latest.empty()) {
    std::erase(names, latest);
    names.insert(names.begin(), latest);
  }
  for (const std::string& name : names) {
    const std::string path = In(directory, name);
    absl::StatusOr<Content> content = ReadContent(path);
    if (!content.ok()) {
      out.notes.push_back(absl::StrCat("checkpoint '", path, "' is damaged and was passed over: ", content.status().message()));
      continue;
    }
    AMPC_RETURN_IF_ERROR(Fill(path, *content, scope, options));
    out.path = path;
    out.progress = std::move(content->progress);
    return out;
  }
  if (out.notes.empty()) return BadInputError(absl::StrCat("'", directory, "' has no checkpoint"));
  return BadInputError(absl::StrCat("'", directory, "' has no whole checkpoint: ", absl::StrJoin(out.notes, "; ")));
}

}  // namespace ampc
