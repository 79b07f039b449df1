#include "runtime/compare/compare_json.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "graph/base/json_writer.h"

namespace ampc {
namespace {

void WriteValue(const ComparedValue& v, JsonWriter& json) {
  json.BeginObject(JsonWriter::kInline)
      .Field("name", v.name)
      .Field("op", v.op)
      .Field("dtype_a", Name(v.dtype_a))
      .Field("dtype_b", Name(v.dtype_b));
  json.Field("same_dims", v.same_dims)
      .Field("fetch", v.fetch)
      .Field("max_abs", v.difference.max_abs)
      .Field("max_rel", v.difference.max_rel);
  json.Field("mean_rel", v.difference.mean_rel).Field("max_ulp", v.difference.max_ulp).Field("cosine", v.difference.cosine);
  json.Field("mismatched_non_finite", v.difference.mismatched_non_finite).Field("both_non_finite", v.difference.both_non_finite);
  if (v.fetch) json.Field("p99_rel", v.difference.p99_rel).Field("passed", v.verdict.passed).Field("why", v.verdict.why);
  json.EndObject();
}

std::string Quoted(absl::string_view text) {
  if (text.find_first_of(",\"\n\r") == absl::string_view::npos) return std::string(text);
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

}  // namespace

std::string ComparisonJson(const std::string& a, const std::string& b, const ModelComparison& c) {
  JsonWriter json(JsonWriter::kIndented);
  json.BeginObject().Field("a", a).Field("b", b).Field("passed", c.passed).Field("reason", c.reason).Field("lowest", Name(c.lowest));
  json.Key("values").BeginArray();
  for (const ComparedValue& v : c.values) WriteValue(v, json);
  json.EndArray().Key("lost_most");
  if (c.lost_most.has_value()) {
    json.BeginObject(JsonWriter::kInline)
        .Field("name", c.lost_most->name)
        .Field("op", c.lost_most->op)
        .Field("before", c.lost_most->before);
    json.Field("after", c.lost_most->after).EndObject();
  } else {
    json.Null();
  }
  json.Key("first_divergence");
  if (c.first_divergence.has_value()) {
    json.String(c.values[*c.first_divergence].name);
  } else {
    json.Null();
  }
  if (!c.runs.empty()) {
    json.Key("runs").BeginArray();
    for (const ComparedRun& run : c.runs) {
      json.BeginObject(JsonWriter::kInline).Field("source", run.source).Field("passed", run.passed).Field("reason", run.reason).EndObject();
    }
    json.EndArray().Field("values_of", c.runs[c.worst].source);
  }
  json.EndObject();
  return json.Take() + "\n";
}

std::string ComparisonCsv(const ModelComparison& c) {
  std::string out =
      "name,op,dtype_a,dtype_b,same_dims,fetch,max_abs,max_rel,mean_rel,max_ulp,cosine,mismatched_non_finite,both_non_finite,p99_rel,"
      "passed,why\n";
  for (const ComparedValue& v : c.values) {
    const Difference& d = v.difference;
    absl::StrAppend(&out, Quoted(v.name), ",", Quoted(v.op), ",", Name(v.dtype_a), ",", Name(v.dtype_b), ",", v.same_dims ? 1 : 0, ",",
                    v.fetch ? 1 : 0, ",");
    absl::StrAppendFormat(&out, "%.9g,%.9g,%.9g,%.9g,%.12g,", d.max_abs, d.max_rel, d.mean_rel, d.max_ulp, d.cosine);
    absl::StrAppend(&out, d.mismatched_non_finite, ",", d.both_non_finite, ",");
    if (v.fetch) absl::StrAppendFormat(&out, "%.9g,%d,%s", d.p99_rel, v.verdict.passed ? 1 : 0, Quoted(v.verdict.why));
    absl::StrAppend(&out, v.fetch ? "\n" : ",,\n");
  }
  return out;
}

}  // namespace ampc
