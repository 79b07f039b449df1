#include "runtime/convert/report.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/low_range.h"

namespace ampc {
namespace {

// At most this part of a weight's norm is lost, from the counts and the largest magnitude: the norm is at least that.
struct NormLoss {
  double clamped = 0, zeros = 0;
};

NormLoss NormLossOf(const ConvertOptions& options, const WeightDamage& damage) {
  const LowRange& range = LowRangeOf(options.dtype);
  const auto value = [](uint32_t bits) { return static_cast<double>(std::bit_cast<float>(bits)); };
  const auto part = [&damage](int64_t count, double each) {
    return count == 0 || damage.max_abs == 0 ? 0 : std::min(1.0, std::sqrt(static_cast<double>(count)) * each / damage.max_abs);
  };
  const bool clamps = options.on_overflow == "clamp";
  return {part(clamps ? damage.clamped : 0, damage.max_abs - value(range.max_finite)),
          part(damage.flushed, value(options.on_tiny == "flush" ? range.normal_min : range.zero_max))};
}

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

void WriteValue(JsonWriter& json, const char* name, DType value) { json.Field(name, DTypeWord(value)); }
void WriteValue(JsonWriter& json, const char* name, bool value) { json.Field(name, value); }
void WriteValue(JsonWriter& json, const char* name, int value) { json.Field(name, value); }
void WriteValue(JsonWriter& json, const char* name, const std::string& value) { json.Field(name, value); }
void WriteValue(JsonWriter& json, const char* name, const std::vector<std::string>& value) { WriteList(json, name, value); }

}  // namespace

void WriteConvertConfig(const ConvertOptions& o, JsonWriter& json) {
  json.BeginObject().Field("ampc-config", 1);
  for (const ConvertOption& option : ConvertOptionTable()) {
    const absl::string_view name = option.name;
    if (option.scope == OptionScope::kRun || option.form == OptionForm::kNone) continue;
    if (name == "compat" && o.mode == "own") continue;
    if (name == "low-io") {
      WriteIo(json, "keep-io", !o.low_io && o.low_io_names.empty(), o.keep_io);
      WriteIo(json, "low-io", o.low_io, o.low_io_names);
    } else if (name != "keep-io") {
      std::visit([&](auto member) { WriteValue(json, option.name, o.*member); }, option.member);
    }
  }
  json.EndObject();
}

std::string ConfigJson(const ConvertOptions& options) {
  JsonWriter json(JsonWriter::kIndented);
  WriteConvertConfig(options, json);
  return json.Take() + "\n";
}

namespace {

void WriteFigures(const ConvertResult& result, JsonWriter& json) {
  json.Field("bytes_before", result.bytes_before).Field("bytes_after", result.bytes_after);
  json.Field("load_seconds", result.load_seconds).Field("pass_seconds", result.pass_seconds).Field("save_seconds", result.save_seconds);
}

void WriteFindings(const ConvertResult& result, JsonWriter& json) {
  if (!result.probe.empty()) json.Field("probe", result.probe);
  if (!result.predicted.none()) result.predicted.Write(json.Key("predicted"));
  json.Key("notes").BeginArray();
  for (const std::string& note : result.notes) json.String(note);
  json.EndArray();
}

}  // namespace

std::string SummaryJson(const ConvertResult& result) {
  JsonWriter json(JsonWriter::kIndented);
  json.BeginObject().Field("input", result.options.model).Field("output", result.options.output);
  WriteValue(json, "dtype", result.options.dtype);
  WriteFigures(result, json.Field("level", result.options.level));
  WriteFindings(result, json.Field("sync_seconds", result.sync_seconds));
  json.Key("after").BeginObject();
  result.after.Write(json);
  json.EndObject().EndObject();
  return json.Take() + "\n";
}

AmpReport ReportOf(const ConvertResult& result) {
  AmpReport report = MakeAmpReport(*result.program, result.decision.get());
  for (AmpWeightEntry& weight : report.weights) {
    const auto it = result.damages.find(weight.name);
    if (it == result.damages.end()) continue;
    weight.damage = it->second;
    const NormLoss loss = NormLossOf(result.options, it->second);
    weight.norm_lost = std::min(1.0, loss.clamped + loss.zeros);
  }
  return report;
}

std::string ReportJson(const ConvertResult& result, const AmpReportLimits& limits) {
  const ConvertOptions& o = result.options;
  JsonWriter json(JsonWriter::kIndented);
  json.BeginObject().Field("input", o.model).Field("output", o.output).Field("command", o.command);
  WriteFigures(result, json);
  json.Field("seconds", result.seconds()).Field("target", o.target).Field("pipeline", ConvertPipeline(o).ToString());
  WriteConvertConfig(o, json.Key("config"));
  WriteFindings(result, json);
  WriteAmpReport(ReportOf(result), json, limits);
  json.EndObject();
  return json.Take() + "\n";
}

std::string WeightLossText(const ConvertResult& result) {
  struct Worst {
    double part = 0;
    std::string name;
    void Add(double lost, const std::string& weight) {
      if (lost > part) *this = {lost, weight};
    }
    std::string Text() const { return absl::StrFormat("%.2g %% ('%s')", 100 * part, name); }
  } clamped, zeros;
  for (const auto& [name, damage] : result.damages) {
    const NormLoss loss = NormLossOf(result.options, damage);
    clamped.Add(loss.clamped, name);
    zeros.Add(loss.zeros, name);
  }
  std::string text;
  if (clamped.part > 0) absl::StrAppend(&text, "clamping takes up to ", clamped.Text());
  if (zeros.part > 0) absl::StrAppend(&text, text.empty() ? "" : ", ", "what became zero at most ", zeros.Text());
  return text.empty() ? "" : absl::StrCat("of a weight's norm ", text);
}

}  // namespace ampc
