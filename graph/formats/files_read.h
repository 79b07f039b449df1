// FilesRead: the files of the models that were read, so that nobody writes over them.
//
// Only who reads a model knows all of its files: the names of external data are the model's choice, a folder has a file for each parameter.
#pragma once

#include <set>
#include <string>

namespace ampc {

// While it lives, it collects the names of the files of all models that its thread loads (format.h), also of those with the weights where
// only the program is read. They nest; each sees all.
class FilesRead {
 public:
  FilesRead();
  ~FilesRead();
  FilesRead(const FilesRead&) = delete;
  FilesRead& operator=(const FilesRead&) = delete;

  const std::set<std::string>& paths() const { return paths_; }

  // LoadModel says the model's name and the files that its weights lie in; a format, what else it knows.
  static void Record(const std::string& path);

 private:
  FilesRead* outer_;
  std::set<std::string> paths_;
};

}  // namespace ampc
