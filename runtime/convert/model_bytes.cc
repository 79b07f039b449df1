#include "runtime/convert/model_bytes.h"

#include <filesystem>
#include <set>
#include <system_error>

namespace ampc {
namespace {

namespace fs = std::filesystem;

int64_t BytesOf(const fs::path& path, const MemoryFiles* memory) {
  if (const MemoryFiles::File* file = memory == nullptr ? nullptr : memory->Find(path.string()))
    return static_cast<int64_t>(file->bytes.size());
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    const uintmax_t size = fs::file_size(path, error);
    return error ? 0 : static_cast<int64_t>(size);
  }
  int64_t bytes = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    if (entry.is_regular_file(error)) bytes += BytesOf(entry.path(), nullptr);
  }
  return bytes;
}

}  // namespace

int64_t ModelBytes(const std::string& path, const Program& program, const MemoryFiles* memory) {
  std::set<std::string> files;
  std::error_code error;
  const bool directory = fs::is_directory(path, error);
  if (!directory) files.insert(fs::path(path).lexically_normal().string());
  ForEachVar(program, [&](const Var& v) {
    if (v.weight == nullptr || v.weight->source->path().empty()) return;
    if (!directory || fs::path(v.weight->source->path()).parent_path() != fs::path(path))
      files.insert(fs::path(v.weight->source->path()).lexically_normal().string());
  });
  int64_t bytes = directory ? BytesOf(path, nullptr) : 0;
  for (const std::string& file : files) bytes += BytesOf(file, memory);
  return bytes;
}

}  // namespace ampc
