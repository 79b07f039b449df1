// The files of a Paddle 3 model.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "graph/formats/format.h"

namespace ampc::pir {

struct PirFiles {
  std::string model;   // x.json
  std::string params;  // x.pdiparams; it need not exist. "" for a program alone
};

bool IsPirPath(const std::string& path);  // by name only: x.json
// A folder with one program of Paddle 3 and none of Paddle 2.
bool IsPirFolder(const std::string& path);

absl::StatusOr<PirFiles> LocateForReading(const std::string& path, const LoadOptions& options);
// `path` is a file name, or a folder (existing, or one that ends in '/').
PirFiles LocateForWriting(const std::string& path, const SaveOptions& options);

}  // namespace ampc::pir
