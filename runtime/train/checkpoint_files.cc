#include "runtime/train/checkpoint_files.h"

#include <zlib.h>

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/atomic_file.h"
#include "graph/base/error.h"
#include "graph/base/json_reader.h"
#include "graph/base/json_writer.h"
#include "graph/base/mapped_file.h"
#include "graph/base/status_macros.h"

namespace ampc {
namespace {

std::string Crc(const MappedFile& file) {
  const auto crc = static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(file.bytes().data()), file.bytes().size()));
  return absl::StrCat(absl::Hex(crc, absl::kZeroPad8));
}

absl::Status Malformed(absl::string_view key) { return BadInputError(absl::StrCat("member '", key, "' is absent or of another kind")); }

absl::Status Read(const JsonValue& object, absl::string_view key, int64_t* out) {
  const JsonValue* value = object.Find(key);
  if (value == nullptr || !value->AsInt().has_value()) return Malformed(key);
  *out = *value->AsInt();
  return absl::OkStatus();
}

absl::Status Read(const JsonValue& object, absl::string_view key, std::string* out) {
  const JsonValue* value = object.Find(key);
  if (value == nullptr || !value->Is(JsonValue::Kind::kString)) return Malformed(key);
  *out = value->text;
  return absl::OkStatus();
}

absl::StatusOr<const JsonValue*> Member(const JsonValue& object, absl::string_view key, JsonValue::Kind kind) {
  const JsonValue* value = object.Find(key);
  if (value == nullptr || !value->Is(kind)) return Malformed(key);
  return value;
}

absl::Status CheckFile(const std::string& directory, const ManifestEntry& entry) {
  AMPC_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(absl::StrCat(directory, "/", entry.name)));
  if (static_cast<int64_t>(file.bytes().size()) != entry.bytes) {
    return BadInputError(absl::StrCat("file '", entry.name, "' has ", file.bytes().size(), " bytes, needs ", entry.bytes));
  }
  if (const std::string found = Crc(file); found != entry.crc32) {
    return BadInputError(absl::StrCat("file '", entry.name, "' has checksum ", found, ", needs ", entry.crc32));
  }
  return absl::OkStatus();
}

absl::Status ReadCounts(const JsonValue& json, TrainingProgress* progress) {
  AMPC_RETURN_IF_ERROR(Read(json, "steps", &progress->steps));
  AMPC_RETURN_IF_ERROR(Read(json, "updates", &progress->updates));
  AMPC_RETURN_IF_ERROR(Read(json, "micro", &progress->micro));
  AMPC_RETURN_IF_ERROR(Read(json, "accumulate", &progress->accumulate));
  std::string fingerprint;
  AMPC_RETURN_IF_ERROR(Read(json, "program", &fingerprint));
  return absl::SimpleHexAtoi(fingerprint, &progress->program) ? absl::OkStatus() : Malformed("program");
}

}  // namespace

std::string TrainingJson(const TrainingProgress& progress, const VariableTypes& types) {
  JsonWriter json(JsonWriter::kIndented);
  json.BeginObject().Field("format", "ampc checkpoint").Field("version", 1);
  json.Field("program", absl::StrCat(absl::Hex(progress.program, absl::kZeroPad16)));
  json.Field("steps", progress.steps)
      .Field("updates", progress.updates)
      .Field("micro", progress.micro)
      .Field("accumulate", progress.accumulate);
  json.Key("scalers").BeginObject();
  for (const auto& [name, skips] : progress.scalers) {
    json.Key(name).BeginObject(JsonWriter::kInline).Field("skipped", skips.skipped).Field("in_a_row", skips.in_a_row).EndObject();
  }
  json.EndObject().Key("position").BeginObject();
  for (const auto& [name, value] : progress.position) json.Field(name, value);
  json.EndObject().Key("variables").BeginObject();
  for (const auto& [name, type] : types) json.Field(name, type);
  json.EndObject().EndObject();
  return json.Take();
}

absl::Status ParseTrainingJson(absl::string_view text, TrainingProgress* progress, VariableTypes* types) {
  AMPC_ASSIGN_OR_RETURN(const JsonValue json, ParseJson(text));
  std::string format;
  int64_t version = 0;
  AMPC_RETURN_IF_ERROR(Read(json, "format", &format));
  AMPC_RETURN_IF_ERROR(Read(json, "version", &version));
  if (format != "ampc checkpoint" || version != 1)
    return BadInputError(absl::StrCat("is '", format, "' version ", version, ", needs 'ampc checkpoint' version 1"));
  AMPC_RETURN_IF_ERROR(ReadCounts(json, progress));
  AMPC_ASSIGN_OR_RETURN(const JsonValue* scalers, Member(json, "scalers", JsonValue::Kind::kObject));
  for (const JsonValue::Member& m : scalers->members) {
    TrainingProgress::Skips& skips = progress->scalers[m.key];
    AMPC_RETURN_IF_ERROR(Read(m.value, "skipped", &skips.skipped));
    AMPC_RETURN_IF_ERROR(Read(m.value, "in_a_row", &skips.in_a_row));
  }
  AMPC_ASSIGN_OR_RETURN(const JsonValue* position, Member(json, "position", JsonValue::Kind::kObject));
  for (const JsonValue::Member& m : position->members) {
    if (!m.value.AsInt().has_value()) return Malformed(m.key);
    progress->position[m.key] = *m.value.AsInt();
  }
  AMPC_ASSIGN_OR_RETURN(const JsonValue* variables, Member(json, "variables", JsonValue::Kind::kObject));
  for (const JsonValue::Member& m : variables->members) {
    if (!m.value.Is(JsonValue::Kind::kString)) return Malformed(m.key);
    (*types)[m.key] = m.value.text;
  }
  return absl::OkStatus();
}

absl::Status WriteManifest(const std::string& directory, const std::vector<std::string>& names) {
  JsonWriter json(JsonWriter::kIndented);
  json.BeginObject().Key("files").BeginArray();
  for (const std::string& name : names) {
    AMPC_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(absl::StrCat(directory, "/", name)));
    json.BeginObject(JsonWriter::kInline).Field("name", name).Field("bytes", file.bytes().size()).Field("crc32", Crc(file)).EndObject();
  }
  json.EndArray().EndObject();
  return WriteFileAtomically(absl::StrCat(directory, "/", kManifest), json.text());
}

absl::StatusOr<std::vector<ManifestEntry>> ParseManifest(absl::string_view text) {
  AMPC_ASSIGN_OR_RETURN(const JsonValue json, ParseJson(text));
  AMPC_ASSIGN_OR_RETURN(const JsonValue* files, Member(json, "files", JsonValue::Kind::kArray));
  std::vector<ManifestEntry> entries;
  for (const JsonValue& file : files->items) {
    ManifestEntry& entry = entries.emplace_back();
    AMPC_RETURN_IF_ERROR(Read(file, "name", &entry.name));
    AMPC_RETURN_IF_ERROR(Read(file, "bytes", &entry.bytes));
    AMPC_RETURN_IF_ERROR(Read(file, "crc32", &entry.crc32));
  }
  return entries;
}

absl::Status CheckManifest(const std::string& directory, const std::vector<std::string>& names) {
  AMPC_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(absl::StrCat(directory, "/", kManifest)));
  const absl::StatusOr<std::vector<ManifestEntry>> entries = ParseManifest(file.text());
  if (!entries.ok()) return Annotate(entries.status(), kManifest);
  std::vector<std::string> listed;
  for (const ManifestEntry& entry : *entries) listed.push_back(entry.name);
  if (listed != names)
    return BadInputError(absl::StrCat(kManifest, " lists ", absl::StrJoin(listed, ", "), ", needs ", absl::StrJoin(names, ", ")));
  for (const ManifestEntry& entry : *entries) AMPC_RETURN_IF_ERROR(CheckFile(directory, entry));
  return absl::OkStatus();
}

}  // namespace ampc
