#include "passes/amp/decide/op_times.h"

#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/base/error.h"
#include "graph/base/fnv.h"
#include "graph/base/json_reader.h"
#include "graph/base/json_writer.h"
#include "graph/base/mapped_file.h"
#include "graph/base/status_macros.h"
#include "graph/device_numbers.h"
#include "passes/amp/decide/decision.h"
#include "passes/amp/decide/structure_keys.h"

namespace ampc {
namespace {

constexpr char kVersionKey[] = "ampc-profile";
constexpr double kMostSeconds = 1e6;

absl::Status ReadText(const JsonValue& object, const char* key, std::string* out) {
  const JsonValue* member = object.Find(key);
  if (member == nullptr || !member->Is(JsonValue::Kind::kString)) return BadInputError(absl::StrCat("'", key, "' needs to be a string"));
  *out = member->text;
  return absl::OkStatus();
}

absl::Status ReadSeconds(const JsonValue& object, const char* key, std::optional<double>* out) {
  const JsonValue* member = object.Find(key);
  if (member == nullptr) return absl::OkStatus();
  *out = member->AsDouble();
  if (out->has_value() && **out >= 0 && **out <= kMostSeconds) return absl::OkStatus();
  return BadInputError(absl::StrCat("'", key, "' needs to be a number of seconds"));
}

absl::Status ReadOp(const JsonValue& value, OpTimes* times) {
  if (!value.Is(JsonValue::Kind::kObject)) return BadInputError("it needs to be an object");
  OpTime time;
  std::string key;
  uint64_t number = 0;
  std::optional<double> fp32;
  AMPC_RETURN_IF_ERROR(ReadText(value, "op", &time.type));
  AMPC_RETURN_IF_ERROR(ReadText(value, "key", &key));
  AMPC_RETURN_IF_ERROR(ReadSeconds(value, "fp32", &fp32));
  AMPC_RETURN_IF_ERROR(ReadSeconds(value, "fp16", &time.f16));
  AMPC_RETURN_IF_ERROR(ReadSeconds(value, "bf16", &time.bf16));
  if (key.size() != 16 || !absl::SimpleHexAtoi(key, &number))
    return BadInputError(absl::StrCat("'key' is '", key, "', needs 16 hexadecimal digits"));
  if (!fp32.has_value()) return BadInputError("'fp32' needs to be a number of seconds");
  time.fp32 = *fp32;
  if (!times->ops.emplace(number, std::move(time)).second) return BadInputError(absl::StrCat("'key' ", key, " is there twice"));
  return absl::OkStatus();
}

}  // namespace

void OpTimes::Add(const OpTimes& newer) {
  for (const auto& [key, time] : newer.ops) ops[key] = time;
}

std::vector<uint64_t> SizedKeys(const Program& program, const ProgramSizes& sizes) {
  std::vector<uint64_t> keys = StructureKeys(program);
  ForEachOp(program, [&](const Op& op) {
    uint64_t& key = keys[op.id()];
    if (IsInserted(op)) return;
    std::string elements;
    for (const Var* var : op.inputs()) absl::StrAppend(&elements, sizes.elements[var->id()], ",");
    for (const Var* var : op.outputs()) absl::StrAppend(&elements, sizes.elements[var->id()], ";");
    key = Fnv1a(elements, key);
  });
  return keys;
}

int UseTimes(const OpTimes& times, const Program& program, DType low, ProgramSizes* sizes) {
  const std::vector<uint64_t> keys = SizedKeys(program, *sizes);
  sizes->measured.assign(program.num_op_ids(), {});
  int known = 0;
  ForEachOp(program, [&](const Op& op) {
    const auto time = IsInserted(op) ? times.ops.end() : times.ops.find(keys[op.id()]);
    if (time == times.ops.end()) return;
    sizes->measured[op.id()] = {time->second.fp32, low == DType::kBF16 ? time->second.bf16 : time->second.f16};
    ++known;
  });
  return known;
}

std::string OpTimesJson(const OpTimes& times) {
  JsonWriter json(JsonWriter::kIndented);
  json.BeginObject().Field(kVersionKey, 1).Field("device", times.device).Key("ops").BeginArray();
  for (const auto& [key, time] : times.ops) {
    json.BeginObject(JsonWriter::kInline).Field("op", time.type).Field("key", absl::StrFormat("%016x", key)).Field("fp32", time.fp32);
    if (time.f16.has_value()) json.Field("fp16", *time.f16);
    if (time.bf16.has_value()) json.Field("bf16", *time.bf16);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return json.Take() + "\n";
}

absl::StatusOr<OpTimes> ParseOpTimes(absl::string_view text) {
  AMPC_ASSIGN_OR_RETURN(const JsonValue json, ParseJson(text));
  const JsonValue* version = json.Find(kVersionKey);
  const JsonValue* ops = json.Find("ops");
  if (version == nullptr || version->AsInt() != 1) return BadInputError(absl::StrCat("'", kVersionKey, "' needs to be 1"));
  if (ops == nullptr || !ops->Is(JsonValue::Kind::kArray)) return BadInputError("'ops' needs to be an array");
  OpTimes times;
  AMPC_RETURN_IF_ERROR(ReadText(json, "device", &times.device));
  if (FindDeviceNumbers(times.device) == nullptr) return BadInputError(absl::StrCat("'device' is '", times.device, "', which is none"));
  for (const JsonValue& item : ops->items) {
    const absl::Status read = ReadOp(item, &times);
    if (!read.ok()) return Annotate(read, absl::StrCat("op ", times.ops.size()));
  }
  return times;
}

absl::StatusOr<OpTimes> ReadOpTimes(const std::string& path) {
  AMPC_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  absl::StatusOr<OpTimes> times = ParseOpTimes(file.text());
  return times.ok() ? std::move(times) : Annotate(times.status(), path);
}

}  // namespace ampc
