#include "tools/cli/config_writer.h"

#include "tools/cli/convert_model.h"

namespace ampc {
namespace {

void WriteList(JsonWriter& json, absl::string_view key, const std::vector<std::string>& values) {
  json.Key(key).BeginArray(JsonWriter::kInline);
  for (const std::string& value : values) json.String(value);
  json.EndArray();
}

// A flag, or names.
void WriteIo(JsonWriter& json, absl::string_view key, bool all, const std::vector<std::string>& names) {
  if (names.empty()) {
    json.Field(key, all);
  } else {
    WriteList(json, key, names);
  }
}

}  // namespace

void WriteConvertConfig(const ConvertRequest& request, JsonWriter& json) {
  const ConvertOptions& o = request.options;
  json.BeginObject().Field("ampc-config", 1).Field("dtype", o.dtype == DType::kBF16 ? "bf16" : "fp16").Field("level", o.level);
  if (o.mode != "own") json.Field("compat", o.mode);
  WriteIo(json, "keep-io", !o.low_io && o.low_io_names.empty(), o.keep_io);
  WriteIo(json, "low-io", o.low_io, o.low_io_names);
  json.Field("guard", o.guard).Field("promote", o.promote);
  WriteList(json, "white-list", o.white_list);
  WriteList(json, "black-list", o.black_list);
  WriteList(json, "black-vars", o.black_vars);
  WriteList(json, "include", o.include);
  WriteList(json, "exclude", o.exclude);
  json.Field("on-overflow", o.on_overflow).Field("on-tiny", o.on_tiny).Field("target", request.target);
  json.Field("program-only", request.program_only).EndObject();
}

}  // namespace ampc
