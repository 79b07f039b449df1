#include "graph/formats/onnx/messages.h"

#include <cstring>

#include "graph/formats/onnx/undo.h"

namespace ampc::onnx {
namespace {

// Calls take(field) for every field; false when one is malformed or `take` says so.
template <typename Take>
bool ForEachField(absl::string_view message, Take&& take) {
  WireReader reader(message);
  for (WireField field; reader.Next(&field);) {
    if (!take(field)) return false;
  }
  return reader.ok();
}

float Float32(absl::string_view bytes) {
  float value = 0;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

bool AppendFloats(const WireField& field, std::vector<float>* out) {
  if (field.type == kVarint || field.type == kFixed64 || field.bytes.size() % sizeof(float) != 0) return false;
  for (size_t i = 0; i < field.bytes.size(); i += sizeof(float)) out->push_back(Float32(field.bytes.substr(i)));
  return true;
}

// Takes a field of one message type at the place given; a field of another wire type is unknown, hence skipped.
bool Take(const WireField& field, WireType type, absl::string_view* out) {
  if (field.type == type) *out = field.bytes;
  return true;
}

}  // namespace

bool AppendInts(const WireField& field, std::vector<int64_t>* out) {
  if (field.type == kVarint) {
    out->push_back(field.Int());
    return true;
  }
  if (field.type != kBytes) return false;
  uint64_t value = 0;
  const char* at = field.bytes.data();
  for (const char* const end = at + field.bytes.size(); at != end;) {
    if (!TakeVarint(&at, end, &value)) return false;
    out->push_back(static_cast<int64_t>(value));
  }
  return true;
}

absl::string_view BytesField(absl::string_view message, int number) {
  absl::string_view found;
  WireReader reader(message);
  for (WireField field; reader.Next(&field);) {
    if (field.Is(number, kBytes)) found = field.bytes;
  }
  return found;
}

bool ReadEntry(absl::string_view bytes, absl::string_view* key, absl::string_view* value) {
  *key = *value = absl::string_view();
  return ForEachField(bytes, [&](const WireField& field) {
    if (field.number == 1) return Take(field, kBytes, key);
    if (field.number == 2) return Take(field, kBytes, value);
    return true;
  });
}

bool ReadOpset(absl::string_view bytes, OpsetView* out) {
  return ForEachField(bytes, [out](const WireField& field) {
    if (field.Is(1, kBytes)) out->domain = field.bytes;
    if (field.Is(2, kVarint)) out->version = field.Int();
    return true;
  });
}

bool ReadModel(absl::string_view bytes, ModelView* out) {
  return ForEachField(bytes, [out](const WireField& field) {
    if (field.Is(model::kIrVersion, kVarint)) out->ir_version = field.Int();
    if (field.type != kBytes) return true;
    absl::string_view key, value;
    switch (field.number) {
      case model::kGraph:
        out->graph = field.bytes;
        ++out->graphs;
        return true;
      case model::kOpsets: return ReadOpset(field.bytes, &out->opsets.emplace_back());
      case model::kMetadata:
        if (!ReadEntry(field.bytes, &key, &value)) return false;
        if (key == kUndoKey) out->undo = value;
        return true;
      case model::kFunctions: out->functions.push_back(field.bytes); return true;
      default: return true;
    }
  });
}

bool ReadGraph(absl::string_view bytes, GraphView* out) {
  return ForEachField(bytes, [out](const WireField& field) {
    if (field.type != kBytes) return true;
    switch (field.number) {
      case graph::kNode: out->nodes.push_back(field.bytes); break;
      case graph::kInitializer: out->initializers.push_back(field.bytes); break;
      case graph::kInput: out->inputs.push_back(field.bytes); break;
      case graph::kOutput: out->outputs.push_back(field.bytes); break;
      case graph::kValueInfo: out->value_infos.push_back(field.bytes); break;
      case graph::kSparse: out->sparse.push_back(field.bytes); break;
      default: break;
    }
    return true;
  });
}

bool ReadNode(absl::string_view bytes, NodeView* out) {
  out->inputs.clear();
  out->outputs.clear();
  out->attributes.clear();
  out->name = out->type = out->domain = out->overload = absl::string_view();
  return ForEachField(bytes, [out](const WireField& field) {
    if (field.type != kBytes) return true;
    switch (field.number) {
      case node::kInput: out->inputs.push_back(field.bytes); break;
      case node::kOutput: out->outputs.push_back(field.bytes); break;
      case node::kName: out->name = field.bytes; break;
      case node::kType: out->type = field.bytes; break;
      case node::kAttribute: out->attributes.push_back(field.bytes); break;
      case node::kDomain: out->domain = field.bytes; break;
      case 8: out->overload = field.bytes; break;
      default: break;
    }
    return true;
  });
}

bool ReadFunction(absl::string_view bytes, FunctionView* out) {
  return ForEachField(bytes, [out](const WireField& field) {
    if (field.type != kBytes) return true;
    switch (field.number) {
      case 1: out->name = field.bytes; return true;
      case 4: out->inputs.push_back(field.bytes); return true;
      case 5: out->outputs.push_back(field.bytes); return true;
      case 7: out->nodes.push_back(field.bytes); return true;
      case 9: return ReadOpset(field.bytes, &out->opsets.emplace_back());
      case 10: out->domain = field.bytes; return true;
      case 11: out->defaults.push_back(field.bytes); return true;
      case 13: out->overload = field.bytes; return true;
      default: return true;
    }
  });
}

bool ReadAttribute(absl::string_view bytes, AttributeView* out) {
  *out = AttributeView();
  return ForEachField(bytes, [out](const WireField& field) {
    switch (field.number) {
      case attribute::kName: return Take(field, kBytes, &out->name);
      case attribute::kType: out->type = static_cast<int>(field.Int()); return field.type == kVarint;
      case attribute::kRef: out->is_reference = !field.bytes.empty(); return true;
      case attribute::kF:
        if (field.type != kFixed32) return false;
        out->f = Float32(field.bytes);
        return out->has_f = true;
      case attribute::kI: out->i = field.Int(); return out->has_i = field.type == kVarint;
      case attribute::kS: out->has_s = true; return Take(field, kBytes, &out->s);
      case attribute::kT: out->has_t = true; return Take(field, kBytes, &out->t);
      case attribute::kG: out->has_g = true; return Take(field, kBytes, &out->g);
      case attribute::kSparse: out->has_sparse = true; return Take(field, kBytes, &out->sparse);
      case attribute::kFloats: return AppendFloats(field, &out->floats);
      case attribute::kInts: return AppendInts(field, &out->ints);
      case attribute::kStrings: out->strings.push_back(field.bytes); return field.type == kBytes;
      case attribute::kGraphs: out->graphs.push_back(field.bytes); return field.type == kBytes;
      default: return true;
    }
  });
}

namespace {

bool ReadExternal(absl::string_view bytes, TensorView* out) {
  absl::string_view key, value;
  if (!ReadEntry(bytes, &key, &value)) return false;
  if (key == "location") out->location = value;
  if (key == "offset") out->offset = value;
  if (key == "length") out->length = value;
  return true;
}

}  // namespace

bool ReadTensor(absl::string_view bytes, TensorView* out) {
  return ForEachField(bytes, [out](const WireField& field) {
    switch (field.number) {
      case tensor::kDims: return AppendInts(field, &out->dims);
      case tensor::kDataType: out->data_type = field.Int(); return field.type == kVarint;
      case tensor::kSegment: return out->has_segment = true;
      case tensor::kFloats:
      case tensor::kInts:
      case tensor::kLongs:
      case tensor::kDoubles:
      case tensor::kUlongs: out->typed.push_back(field); return true;
      case tensor::kStrings: return out->has_strings = true;
      case tensor::kName: return Take(field, kBytes, &out->name);
      case tensor::kRaw: out->has_raw = true; return Take(field, kBytes, &out->raw);
      case tensor::kExternal: return field.type == kBytes && ReadExternal(field.bytes, out);
      case tensor::kLocation: out->is_external = field.value == 1; return true;
      default: return true;
    }
  });
}

bool ReadValueInfo(absl::string_view bytes, ValueInfoView* out) {
  *out = ValueInfoView();
  return ForEachField(bytes, [out](const WireField& field) {
    if (field.number == value_info::kName) return Take(field, kBytes, &out->name);
    if (field.number != value_info::kType) return true;
    out->has_type = true;
    return Take(field, kBytes, &out->type);
  });
}

}  // namespace ampc::onnx
