#include "kernels/kernel_choices.h"

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/atomic_file.h"
#include "graph/base/error.h"
#include "graph/base/json_reader.h"
#include "graph/base/json_writer.h"
#include "graph/base/mapped_file.h"
#include "graph/base/status_macros.h"

namespace ampc {
namespace {

constexpr char kVersionKey[] = "ampc-kernel-choices";

absl::StatusOr<std::string> TextOf(const JsonValue& object, const char* key) {
  const JsonValue* member = object.Find(key);
  if (member == nullptr || !member->Is(JsonValue::Kind::kString)) return BadInputError(absl::StrCat("'", key, "' needs to be a string"));
  return member->text;
}

absl::StatusOr<const JsonValue*> ArrayOf(const JsonValue& object, const char* key) {
  const JsonValue* member = object.Find(key);
  if (member == nullptr || !member->Is(JsonValue::Kind::kArray)) return BadInputError(absl::StrCat("'", key, "' needs to be an array"));
  return member;
}

using Machines = std::map<std::string, std::map<std::string, std::string>>;

absl::StatusOr<Machines> Parse(absl::string_view text) {
  AMPC_ASSIGN_OR_RETURN(const JsonValue json, ParseJson(text));
  const JsonValue* version = json.Find(kVersionKey);
  if (version == nullptr || version->AsInt() != 1) return BadInputError(absl::StrCat("'", kVersionKey, "' needs to be 1"));
  AMPC_ASSIGN_OR_RETURN(const JsonValue* const all, ArrayOf(json, "machines"));
  Machines machines;
  for (const JsonValue& one : all->items) {
    AMPC_ASSIGN_OR_RETURN(const std::string machine, TextOf(one, "machine"));
    AMPC_ASSIGN_OR_RETURN(const JsonValue* const choices, ArrayOf(one, "choices"));
    for (const JsonValue& choice : choices->items) {
      AMPC_ASSIGN_OR_RETURN(std::string shape, TextOf(choice, "shape"));
      AMPC_ASSIGN_OR_RETURN(std::string implementation, TextOf(choice, "implementation"));
      if (!machines[machine].emplace(shape, std::move(implementation)).second)
        return BadInputError(absl::StrCat("shape '", shape, "' is there twice"));
    }
  }
  return machines;
}

// None where there is no such file.
absl::StatusOr<Machines> Read(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return Machines();
  AMPC_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  absl::StatusOr<Machines> machines = Parse(file.text());
  return machines.ok() ? std::move(machines) : Annotate(machines.status(), path);
}

std::string Json(const Machines& machines) {
  JsonWriter json(JsonWriter::kIndented);
  json.BeginObject().Field(kVersionKey, 1).Key("machines").BeginArray();
  for (const auto& [machine, choices] : machines) {
    json.BeginObject().Field("machine", machine).Key("choices").BeginArray();
    for (const auto& [shape, implementation] : choices) {
      json.BeginObject(JsonWriter::kInline).Field("shape", shape).Field("implementation", implementation).EndObject();
    }
    json.EndArray().EndObject();
  }
  json.EndArray().EndObject();
  return json.Take() + "\n";
}

}  // namespace

absl::StatusOr<std::unique_ptr<KernelChoices>> KernelChoices::Open(std::string path, std::string machine) {
  AMPC_ASSIGN_OR_RETURN(Machines machines, Read(path));
  std::unique_ptr<KernelChoices> choices(new KernelChoices(std::move(path), std::move(machine)));
  const MutexLock lock(choices->mutex_);
  choices->machines_ = std::move(machines);
  return choices;
}

absl::StatusOr<std::string> KernelChoices::Get(const std::string& shape, Measure measure) {
  const MutexLock lock(mutex_);
  Choices& known = machines_[machine_];
  if (const auto at = known.find(shape); at != known.end()) return at->second;
  AMPC_ASSIGN_OR_RETURN(std::string implementation, measure());
  ++measured_;
  ++unsaved_;
  return known.emplace(shape, std::move(implementation)).first->second;
}

absl::Status KernelChoices::Save() {
  const MutexLock lock(mutex_);
  if (unsaved_ == 0) return absl::OkStatus();
  AMPC_ASSIGN_OR_RETURN(Machines all, Read(path_));  // what others have added counts
  for (const auto& [machine, choices] : machines_) all[machine].insert(choices.begin(), choices.end());
  AMPC_ASSIGN_OR_RETURN(AtomicFileWriter file, AtomicFileWriter::Create(path_));
  AMPC_RETURN_IF_ERROR(file.Append(Json(all)));
  AMPC_RETURN_IF_ERROR(file.Commit());
  unsaved_ = 0;
  return absl::OkStatus();
}

int KernelChoices::known() const {
  const MutexLock lock(mutex_);
  const auto at = machines_.find(machine_);
  return at == machines_.end() ? 0 : static_cast<int>(at->second.size());
}

int KernelChoices::measured() const {
  const MutexLock lock(mutex_);
  return measured_;
}

}  // namespace ampc
