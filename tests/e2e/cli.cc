#include "tests/e2e/cli.h"

#include <algorithm>
#include <filesystem>

#include "graph/formats/tensor_io/npz.h"
#include "tests/testlib/status.h"

namespace ampc::testing {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> Names(const std::map<std::string, std::string>& files) {
  std::vector<std::string> names;
  for (const auto& [name, unused] : files) names.push_back(name);
  return names;
}

}  // namespace

std::string CliTest::Ok(const std::vector<std::string>& args) const {
  const Outcome outcome = Ampc(args);
  EXPECT_EQ(outcome.code, 0) << ::testing::PrintToString(args) << "\n" << outcome.err;
  EXPECT_EQ(outcome.err, "") << ::testing::PrintToString(args);
  return outcome.out;
}

JsonValue CliTest::OkJson(std::vector<std::string> args) const {
  args.push_back("--json");
  const std::string out = Ok(args);
  absl::StatusOr<JsonValue> json = ParseJson(out);
  EXPECT_TRUE(json.ok() && json->Is(JsonValue::Kind::kObject)) << out << json.status();
  return json.ok() ? *std::move(json) : JsonValue();
}

void CliTest::ExpectFailure(const std::vector<std::string>& args, int code, const std::string& part) const {
  const std::map<std::string, std::string> before = Files();
  const Outcome outcome = Ampc(args);
  const std::string what = ::testing::PrintToString(args) + "\n" + outcome.err;
  ASSERT_EQ(outcome.code, code) << what << outcome.out;
  EXPECT_THAT(outcome.err, ::testing::StartsWith("ampc")) << what;
  EXPECT_THAT(outcome.err, ::testing::HasSubstr(part)) << what;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << what;
  EXPECT_EQ(outcome.out, "") << what;
  const std::map<std::string, std::string> after = Files();
  EXPECT_TRUE(after == before) << what << "files were left behind or changed: " << ::testing::PrintToString(Names(after));
}

std::map<std::string, HostTensor> CliTest::ReadArchive(const std::string& name) const {
  absl::StatusOr<std::map<std::string, HostTensor>> tensors = ReadNpz(folder_ / name);
  EXPECT_OK(tensors);
  return tensors.ok() ? *std::move(tensors) : std::map<std::string, HostTensor>();
}

void CliTest::WriteArchive(const std::string& name, const std::map<std::string, HostTensor>& tensors) const {
  EXPECT_OK(WriteNpz(folder_ / name, tensors));
}

std::map<std::string, std::string> CliTest::Files() const {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder_.path())) {
    files[entry.path().lexically_relative(folder_.path()).string()] = entry.is_regular_file() ? ReadFile(entry.path().string()) : "folder";
  }
  return files;
}

void CliTest::MakeModel(const std::string& name, const std::string& text) const {
  Write(name + ".prog", text);
  Ok({"convert", name + ".prog", "-o", name + ".pdmodel", "--level", "O0", "--no-sync"});
}

double Number(const JsonValue& object, const std::string& key) {
  const JsonValue* value = object.Find(key);
  return value == nullptr ? -1 : value->AsDouble().value_or(-1);
}

std::string Text(const JsonValue& object, const std::string& key) {
  const JsonValue* value = object.Find(key);
  return value == nullptr ? "" : value->text;
}

}  // namespace ampc::testing
