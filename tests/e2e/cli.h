// Fixture of the command line's tests: a folder, the command in it, and small models.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "graph/base/host_tensor.h"
#include "graph/base/json_reader.h"
#include "tests/e2e/process.h"
#include "tests/formats/test_files.h"

namespace ampc::testing {

class CliTest : public ::testing::Test {
 protected:
  // File names in arguments are relative to the folder.
  Outcome Ampc(const std::vector<std::string>& args) const { return RunProcess("tools/ampc", args, folder_.path()); }
  // Expects exit code 0 and a silent standard error; returns standard output.
  std::string Ok(const std::vector<std::string>& args) const;
  // The same with --json behind the arguments; a null value where the output is no JSON object.
  JsonValue OkJson(std::vector<std::string> args) const;

  // Expects that exit code, one line on standard error that begins with "ampc" and has `part` in it, a silent standard output, and the
  // folder as it was.
  void ExpectFailure(const std::vector<std::string>& args, int code, const std::string& part) const;

  std::string Read(const std::string& name) const { return ReadFile(folder_ / name); }
  void Write(const std::string& name, const std::string& bytes) const { WriteFile(folder_ / name, bytes); }
  std::map<std::string, HostTensor> ReadArchive(const std::string& name) const;
  void WriteArchive(const std::string& name, const std::map<std::string, HostTensor>& tensors) const;
  // Everything in the folder: path below it and content.
  std::map<std::string, std::string> Files() const;

  // NAME.prog from `text`, then NAME.pdmodel and NAME.pdiparams through `ampc convert --level O0`.
  void MakeModel(const std::string& name, const std::string& text) const;

  TempFolder folder_;
};

// Member `key` as a number, text or number of items; -1 or "" where it is not that.
double Number(const JsonValue& object, const std::string& key);
std::string Text(const JsonValue& object, const std::string& key);

}  // namespace ampc::testing
