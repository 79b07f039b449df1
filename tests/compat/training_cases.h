// The recorded training programs of tests/golden/paddle_training.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/program.h"
#include "runtime/train/decorate_options.h"

namespace ampc::testing {

struct TrainingCase {
  std::string name;
  std::map<std::string, std::string> fields;
  // "" when absent.
  std::string operator[](const std::string& field) const;
  bool Is(const std::string& field) const { return (*this)[field] == "true"; }
  std::string release() const;  // "g1", "g2", "g3"
  std::string compat() const;   // "paddle-2.0", ...
  amp::DecorateOptions Options() const;
};

std::vector<TrainingCase> ReadTrainingCases();
// The bytes of a member of programs.zip; "" when it is not there.
std::string TrainingProgramBytes(const std::string& member);
// The same as a program; `folder` gets a copy that must stay as long as the program.
absl::StatusOr<Program> LoadTrainingProgram(const std::string& member, const std::string& folder);

}  // namespace ampc::testing
