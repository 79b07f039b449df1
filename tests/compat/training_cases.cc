#include "tests/compat/training_cases.h"

#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/formats/format.h"
#include "graph/formats/tensor_io/zip_reader.h"
#include "tests/formats/test_files.h"

namespace ampc::testing {
namespace {

constexpr char kData[] = "tests/golden/paddle_training/";

struct Archive {
  std::string bytes;
  std::map<std::string, ZipMember> members;
};

const Archive& Programs() {
  static const Archive* archive = [] {
    auto* out = new Archive;
    out->bytes = ReadFile(absl::StrCat(kData, "programs.zip"));
    const absl::StatusOr<std::vector<ZipMember>> members = ReadZipDirectory(out->bytes, "programs.zip");
    if (members.ok()) {
      for (const ZipMember& member : *members) out->members[member.name] = member;
    }
    return out;
  }();
  return *archive;
}

}  // namespace

std::string TrainingCase::operator[](const std::string& field) const {
  const auto it = fields.find(field);
  return it == fields.end() ? "" : it->second;
}

std::string TrainingCase::release() const { return name.substr(name.rfind('.') + 1); }

std::string TrainingCase::compat() const { return release() == "g1" ? "paddle-2.0" : release() == "g2" ? "paddle-2.4" : "paddle-2.6"; }

amp::DecorateOptions TrainingCase::Options() const {
  amp::DecorateOptions o = Is("legacy") ? amp::LegacyPaddle() : amp::DecorateOptions();
  o.compat = compat();
  o.level = (*this)["level"];
  o.dtype = (*this)["dtype"] == "bfloat16" ? DType::kBF16 : DType::kF16;
  o.use_fp16_guard = Is("guard");
  o.use_promote = Is("promote");
  o.master_grad = Is("master_grad");
  if (!Is("master_weight")) o.master_weight = false;
  double init = 0;
  if (absl::SimpleAtod((*this)["init"], &init)) o.init_loss_scaling = init;
  if (fields.contains("dynamic")) o.use_dynamic_loss_scaling = Is("dynamic");
  if (fields.contains("black")) o.lists.custom_black_list = absl::StrSplit((*this)["black"], ',');
  return o;
}

std::vector<TrainingCase> ReadTrainingCases() {
  std::vector<TrainingCase> out;
  std::ifstream file(absl::StrCat(kData, "cases.txt"));
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> parts = absl::StrSplit(line, '\t');
    TrainingCase c;
    c.name = parts[0];
    for (size_t i = 1; i < parts.size(); ++i) {
      const std::vector<std::string> field = absl::StrSplit(parts[i], absl::MaxSplits('=', 1));
      c.fields[field.at(0)] = field.at(1);
    }
    out.push_back(std::move(c));
  }
  return out;
}

std::string TrainingProgramBytes(const std::string& member) {
  const auto it = Programs().members.find(member);
  if (it == Programs().members.end()) return "";
  std::string buffer;
  const absl::StatusOr<absl::string_view> bytes = ReadZipMember(Programs().bytes, "programs.zip", it->second, &buffer);
  return bytes.ok() ? std::string(*bytes) : "";
}

absl::StatusOr<Program> LoadTrainingProgram(const std::string& member, const std::string& folder) {
  const std::string path = absl::StrCat(folder, "/", member, ".pdmodel");
  WriteFile(path, TrainingProgramBytes(member));
  return LoadModel(path, {.program_only = true});
}

}  // namespace ampc::testing
