#include "runtime/tune/judge.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/signal_cleanup.h"
#include "graph/base/status_macros.h"
#include "graph/formats/tensor_io/npz.h"

extern char** environ;

namespace ampc {
namespace {

namespace fs = std::filesystem;

// A new folder for files that go with it.
class JudgeFolder {
 public:
  JudgeFolder() = default;
  JudgeFolder(const JudgeFolder&) = delete;
  ~JudgeFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
    for (const std::string& made : made_) KeepOnSignal(made);
  }

  absl::Status Make() {
    std::error_code error;
    const fs::path temporary = fs::temp_directory_path(error);
    std::string name = ((error ? fs::path("/tmp") : temporary) / "ampc-judge-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) return SystemError(name, "make this folder", errno);
    path_ = name;
    RemoveLater(path_);
    for (const char* folder : {"outputs", "reference"}) {
      fs::create_directory(path_ / folder, error);
      if (error) return SystemError((path_ / folder).string(), "make this folder", error.value());
      RemoveLater(path_ / folder);
    }
    return absl::OkStatus();
  }
  std::string Of(const char* folder) const { return (path_ / folder).string(); }
  absl::Status Write(const char* folder, int input, const TensorMap& tensors) {
    const std::string file = (path_ / folder / absl::StrCat(input, ".npz")).string();
    RemoveLater(file);
    return WriteNpz(file, tensors, {.no_sync = true});
  }

 private:
  void RemoveLater(const fs::path& path) { RemoveOnSignal(made_.emplace_back(path.string())); }

  fs::path path_;
  std::vector<std::string> made_;
};

// The process's environment with two variables more.
std::vector<std::string> EnvironmentWith(const std::map<std::string, std::string>& more) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!more.contains(text.substr(0, text.find('=')))) out.push_back(text);
  }
  for (const auto& [name, value] : more) out.push_back(absl::StrCat(name, "=", value));
  return out;
}

// The exit code of `sh -c command`, whose standard output is this process's standard error.
absl::StatusOr<int> RunShell(const std::string& command, std::vector<std::string> environment) {
  std::vector<char*> variables;
  for (std::string& entry : environment) variables.push_back(entry.data());
  variables.push_back(nullptr);
  std::string shell = "sh", option = "-c", text = command;
  char* const words[] = {shell.data(), option.data(), text.data(), nullptr};
  posix_spawn_file_actions_t actions;
  if (const int error = posix_spawn_file_actions_init(&actions); error != 0) return SystemError("--judge", "be run", error);
  pid_t child = 0;
  int error = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  if (error == 0) error = posix_spawn(&child, "/bin/sh", &actions, nullptr, words, variables.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return SystemError("--judge", "be run", error);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return SystemError("--judge", "be waited for", errno);
  }
  if (WIFSIGNALED(status)) return UsageError(absl::StrCat("--judge: signal ", WTERMSIG(status), " ended '", command, "'"));
  return WEXITSTATUS(status);
}

}  // namespace

absl::StatusOr<bool> AskJudge(const std::string& command, absl::Span<const JudgedRun> runs) {
  JudgeFolder folder;
  AMPC_RETURN_IF_ERROR(folder.Make());
  for (const JudgedRun& run : runs) {
    AMPC_RETURN_IF_ERROR(folder.Write("outputs", run.input, *run.outputs));
    AMPC_RETURN_IF_ERROR(folder.Write("reference", run.input, *run.reference));
  }
  const std::map<std::string, std::string> variables = {{"AMPC_OUTPUTS", folder.Of("outputs")}, {"AMPC_REFERENCE", folder.Of("reference")}};
  AMPC_ASSIGN_OR_RETURN(const int code, RunShell(command, EnvironmentWith(variables)));
  if (code == 126 || code == 127) {
    return UsageError(absl::StrCat("--judge: '", command, "' cannot be run, the shell says with exit code ", code));
  }
  return code == 0;
}

}  // namespace ampc
