#include "graph/formats/files_read.h"

namespace ampc {
namespace {

thread_local FilesRead* innermost = nullptr;

}  // namespace

FilesRead::FilesRead() : outer_(innermost) { innermost = this; }
FilesRead::~FilesRead() { innermost = outer_; }

void FilesRead::Record(const std::string& path) {
  for (FilesRead* reader = innermost; reader != nullptr; reader = reader->outer_) reader->paths_.insert(path);
}

}  // namespace ampc
