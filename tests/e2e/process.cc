#include "tests/e2e/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "tests/formats/test_files.h"

namespace ampc::testing {
namespace {

namespace fs = std::filesystem;

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (std::string& s : strings) out.push_back(s.data());
  out.push_back(nullptr);
  return out;
}

std::vector<std::string> Environment(const std::vector<std::string>& extra) {
  std::vector<std::string> env = extra;
  for (char** e = environ; *e != nullptr; ++e) env.push_back(*e);
  return env;
}

}  // namespace

Outcome RunProcess(const std::string& binary, const std::vector<std::string>& args, const std::string& folder,
                   const std::vector<std::string>& extra_env) {
  const std::string program = fs::absolute(binary).string();
  std::vector<std::string> words = {program};
  words.insert(words.end(), args.begin(), args.end());
  std::vector<std::string> env = Environment(extra_env);
  const std::string out = (fs::path(::testing::TempDir()) / ("out." + std::to_string(getpid()))).string();
  const std::string err = (fs::path(::testing::TempDir()) / ("err." + std::to_string(getpid()))).string();

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  pid_t pid = 0;
  const int failed = posix_spawn(&pid, program.c_str(), &actions, nullptr, Pointers(words).data(), Pointers(env).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return {127, "", "cannot start " + program};
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
  }
  Outcome outcome{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), ReadFile(out), ReadFile(err)};
  fs::remove(out);
  fs::remove(err);
  return outcome;
}

}  // namespace ampc::testing
