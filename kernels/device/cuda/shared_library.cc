#include "kernels/device/cuda/shared_library.h"

#include <dlfcn.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "kernels/device/missing_library.h"

namespace ampc {
namespace {

std::string Env(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::string> Split(const std::string& folders) { return absl::StrSplit(folders, ':', absl::SkipEmpty()); }

bool IsFolder(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

void AddMatches(const std::string& pattern, std::vector<std::string>* folders) {
  glob_t found = {};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc; ++i) {
      if (IsFolder(found.gl_pathv[i])) folders->push_back(found.gl_pathv[i]);
    }
  }
  globfree(&found);
}

// The libraries of nvidia packages in the Python environment at `prefix`.
void AddPython(const std::string& prefix, std::vector<std::string>* folders) {
  if (prefix.empty()) return;
  for (const char* packages : {"site-packages", "dist-packages"}) {
    AddMatches(absl::StrCat(prefix, "/lib/python3*/", packages, "/nvidia/*/lib"), folders);
  }
}

// "/opt/env/bin/.." for the first python3 in $PATH, /opt/env/bin/python3, and for what it links to in turn: a link may lead into an
// environment.
std::vector<std::string> PythonPrefixes() {
  std::vector<std::string> prefixes;
  std::filesystem::path python;
  for (const std::string& folder : Split(Env("PATH"))) {
    python = folder + "/python3";
    if (access(python.c_str(), X_OK) == 0) break;
    python.clear();
  }
  constexpr size_t kMostLinks = 8;
  while (!python.empty() && prefixes.size() < kMostLinks) {
    prefixes.push_back(python.parent_path() / "..");
    std::error_code error;
    const std::filesystem::path target = std::filesystem::read_symlink(python, error);
    python = error ? std::filesystem::path() : python.parent_path() / target;  // an absolute target stays as it is
  }
  return prefixes;
}

void* TryOpen(const std::string& path) { return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); }

// Opens the first name that lies in one of the folders; null, and in *reason why a file that lies there could not be opened.
void* OpenIn(const std::vector<std::string>& folders, const std::vector<std::string>& names, std::string* path, std::string* reason) {
  for (const std::string& folder : folders) {
    for (const std::string& name : names) {
      *path = absl::StrCat(folder, "/", name);
      if (access(path->c_str(), F_OK) != 0) continue;
      if (void* handle = TryOpen(*path)) return handle;
      if (reason->empty()) *reason = dlerror();
    }
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> CudaLibraryFolders() {
  std::vector<std::string> folders;
  for (const std::string& folder : Split(Env("AMPC_CUDA_LIBS"))) {
    if (IsFolder(folder)) folders.push_back(folder);
  }
  for (const std::string& root : {Env("CUDA_HOME"), std::string("/usr/local/cuda")}) {
    if (!root.empty() && IsFolder(root + "/lib64")) folders.push_back(root + "/lib64");
  }
  AddPython(Env("VIRTUAL_ENV"), &folders);
  AddPython(Env("CONDA_PREFIX"), &folders);
  for (const std::string& prefix : PythonPrefixes()) AddPython(prefix, &folders);
  if (!Env("HOME").empty()) AddPython(Env("HOME") + "/.local", &folders);
  AddPython("/usr/local", &folders);
  AddPython("/usr", &folders);
  return folders;
}

absl::StatusOr<SharedLibrary> SharedLibrary::Open(const std::vector<std::string>& names) {
  std::string path, reason;
  if (void* handle = OpenIn(Split(Env("AMPC_CUDA_LIBS")), names, &path, &reason)) return SharedLibrary(handle, path);
  for (const std::string& name : names) {
    if (void* handle = TryOpen(name)) return SharedLibrary(handle, name);
  }
  const std::vector<std::string> folders = CudaLibraryFolders();
  if (void* handle = OpenIn(folders, names, &path, &reason)) return SharedLibrary(handle, path);
  const std::string wanted = absl::StrJoin(names, " or ");
  if (!reason.empty()) return MissingLibraryError(absl::StrCat(wanted, " cannot be opened: ", reason));
  std::vector<std::string> places = {"the loader's paths"};
  for (const std::string& folder : Split(Env("AMPC_CUDA_LIBS"))) places.push_back(folder);
  for (const std::string& folder : folders) {
    if (absl::StrCat(":", Env("AMPC_CUDA_LIBS"), ":").find(absl::StrCat(":", folder, ":")) == std::string::npos) places.push_back(folder);
  }
  return MissingLibraryError(absl::StrCat(wanted, " was not found; looked in ", absl::StrJoin(places, ", "),
                                          " and the nvidia packages of python3; AMPC_CUDA_LIBS may name its folder"));
}

absl::StatusOr<void*> SharedLibrary::Symbol(const char* name) const {
  if (void* symbol = dlsym(handle_, name)) return symbol;
  return MissingLibraryError(absl::StrCat(path_, " has no function ", name, ": a newer version of the library is needed"));
}

}  // namespace ampc
