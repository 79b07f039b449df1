#include "tools/cli/trace.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/json_writer.h"

namespace ampc {

std::string ResultTypes(const ObservedStep& step) {
  return absl::StrJoin(step.results, ", ", [&step](std::string* out, const ObservedValue& v) {
    absl::StrAppend(out, v.var->name(), ": ", ToString(TensorType(v.desc.dtype, v.desc.dims)),
                    v.desc.layout == Layout::kChannelsLast ? " nhwc" : "");
    if (step.device == "cpu" && v.desc.storage() != v.desc.dtype) absl::StrAppend(out, " as ", Name(v.desc.storage()));
  });
}

std::string DeviceText(const ObservedStep& step) {
  return step.copied_bytes > 0 ? absl::StrCat(step.device, " (", step.copied_bytes, " bytes copied)") : step.device;
}

void Trace::Add(const ObservedStep& step) {
  const std::string name = step.results.empty() ? step.op->type() : step.results[0].var->name();
  events_.push_back({name, step.op->type(), step.implementation, DeviceText(step), ResultTypes(step), step.start_seconds, step.seconds});
}

std::string Trace::ToJson() const {
  JsonWriter json(JsonWriter::kIndented);
  json.BeginObject().Field("displayTimeUnit", "ms").Key("traceEvents").BeginArray();
  for (const Event& e : events_) {
    json.BeginObject(JsonWriter::kInline).Field("name", absl::StrCat(e.type, " ", e.name)).Field("cat", e.type).Field("ph", "X");
    json.Field("ts", e.start * 1e6).Field("dur", e.seconds * 1e6).Field("pid", 0).Field("tid", 0);
    json.Key("args")
        .BeginObject()
        .Field("implementation", e.implementation)
        .Field("device", e.device)
        .Field("results", e.results)
        .EndObject()
        .EndObject();
  }
  json.EndArray().EndObject();
  return json.Take();
}

}  // namespace ampc
