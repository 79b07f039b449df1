// MemoryFiles: the files of a model that lie in memory, by name. A caller that gives a model as bytes fills one; one that wants the result
// as bytes gets one filled.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>

namespace ampc {

class MemoryFiles {
 public:
  struct File {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void>
        owner;  // of the bytes; null: the caller's, who keeps them as long as anything that was read from them is used
  };

  void Add(const std::string& name, File file) { files_[name] = std::move(file); }
  const File* Find(const std::string& name) const {
    const auto it = files_.find(name);
    return it == files_.end() ? nullptr : &it->second;
  }
  const std::map<std::string, File>& files() const { return files_; }

  // While one lives, what its thread opens for reading (mapped_file.h) is looked for in `files` before the disk. They do not nest. Null:
  // nothing.
  class Scope {
   public:
    explicit Scope(const MemoryFiles* files);
    ~Scope();
    Scope(const Scope&) = delete;
  };
  // In the scope of this thread; null where there is none.
  static const File* FindInScope(const std::string& name);

 private:
  std::map<std::string, File> files_;
};

}  // namespace ampc
