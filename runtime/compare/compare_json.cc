#include "runtime/compare/compare_json.h"

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
  json.EndObject();
  return json.Take() + "\n";
}

}  // namespace ampc
