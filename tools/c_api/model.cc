#include "tools/c_api/model.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "tools/c_api/errors.h"

namespace ampc::c_api {

absl::Status CheckModel(const ampc_model* model, const char* name) {
  AMPC_RETURN_IF_ERROR(Need(model, name));
  AMPC_RETURN_IF_ERROR(Need(model->path, "its path"));
  AMPC_RETURN_IF_ERROR(NeedArray(model->files, model->num_files, "its files"));
  bool found = model->num_files == 0;
  for (size_t i = 0; i < model->num_files; ++i) {
    const ampc_file& file = model->files[i];
    if (file.name == nullptr) return UsageError(absl::StrCat("the name of file ", i, " is NULL"));
    if (file.data == nullptr && file.bytes > 0) return UsageError(absl::StrCat("the data of file '", file.name, "' is NULL"));
    found = found || absl::string_view(file.name) == model->path;
  }
  return found ? absl::OkStatus() : UsageError(absl::StrCat("none of the files is named '", model->path, "', as the model is"));
}

MemoryFiles FilesOf(const ampc_model& model) {
  MemoryFiles files;
  for (size_t i = 0; i < model.num_files; ++i) {
    files.Add(model.files[i].name, {.bytes = {static_cast<const std::byte*>(model.files[i].data), model.files[i].bytes}, .owner = nullptr});
  }
  return files;
}

}  // namespace ampc::c_api
