// The files of a Paddle model.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "graph/formats/format.h"

namespace ampc::paddle {

enum class ParamsLayout {
  kNone,      // program only
  kCombined,  // one file
  kSeparate,  // a folder with one file per variable
};

struct PaddleFiles {
  std::string model;
  ParamsLayout layout = ParamsLayout::kNone;
  std::string params;  // the file or the folder; it need not exist
};

// `path` is x.pdmodel, __model__, another program file, or a folder with one of them. BadInput when there is no program.
absl::StatusOr<PaddleFiles> LocateForReading(const std::string& path, const LoadOptions& options);

// Files to write: `path` is a file name, or a folder (existing, or one that ends in '/'); `separate` says how a folder's parameters are
// laid out.
PaddleFiles LocateForWriting(const std::string& path, const SaveOptions& options, bool separate);

// The file of one variable in the folder of a separate layout. BadInput for a name that would leave the folder.
absl::StatusOr<std::string> SeparateFile(const std::string& folder, absl::string_view var);

bool IsPaddlePath(const std::string& path);  // by name only

}  // namespace ampc::paddle
