// ONNX's messages as views into the bytes of a file. Reading one costs no memory that grows with weights; what is not needed stays unread.
//
// Read... gives false for a malformed message. Field numbers: proto/onnx.proto.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "graph/formats/onnx/wire.h"

namespace ampc::onnx {

// The domain of the standard's own operators has two names.
inline bool IsDefaultDomain(absl::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

// ModelProto.
namespace model {
inline constexpr int kIrVersion = 1, kGraph = 7, kOpsets = 8, kMetadata = 14, kFunctions = 25;
}
struct OpsetView {
  absl::string_view domain;
  int64_t version = 0;
};
struct ModelView {
  int64_t ir_version = 0;
  absl::string_view graph;
  int graphs = 0;  // fields of that number; one is right
  std::vector<OpsetView> opsets;
  std::vector<absl::string_view> functions;  // their messages
  absl::string_view undo;                    // of metadata_props
};
bool ReadModel(absl::string_view bytes, ModelView* out);
bool ReadOpset(absl::string_view bytes, OpsetView* out);
// StringStringEntryProto.
bool ReadEntry(absl::string_view bytes, absl::string_view* key, absl::string_view* value);

// GraphProto: the places of its parts.
namespace graph {
inline constexpr int kNode = 1, kName = 2, kInitializer = 5, kDoc = 10, kInput = 11, kOutput = 12, kValueInfo = 13, kSparse = 15;
}
struct GraphView {
  std::vector<absl::string_view> nodes, initializers, inputs, outputs, value_infos, sparse;
};
bool ReadGraph(absl::string_view bytes, GraphView* out);

// NodeProto.
namespace node {
inline constexpr int kInput = 1, kOutput = 2, kName = 3, kType = 4, kAttribute = 5, kDomain = 7;
}
struct NodeView {
  absl::InlinedVector<absl::string_view, 4> inputs, outputs;
  absl::string_view name, type, domain, overload;
  absl::InlinedVector<absl::string_view, 6> attributes;

  bool IsDefaultDomain() const { return onnx::IsDefaultDomain(domain); }
};
bool ReadNode(absl::string_view bytes, NodeView* out);

// FunctionProto.
struct FunctionView {
  absl::string_view name, domain, overload;
  std::vector<absl::string_view> inputs, outputs, nodes;
  std::vector<absl::string_view> defaults;  // AttributeProtos of attributes that a call need not give
  std::vector<OpsetView> opsets;
};
bool ReadFunction(absl::string_view bytes, FunctionView* out);

// AttributeProto.
namespace attribute {
inline constexpr int kName = 1, kF = 2, kI = 3, kS = 4, kT = 5, kG = 6, kFloats = 7, kInts = 8, kStrings = 9, kTensors = 10, kGraphs = 11,
                     kType = 20, kRef = 21, kSparse = 22;
enum Type {
  kTypeFloat = 1,
  kTypeInt,
  kTypeString,
  kTypeTensor,
  kTypeGraph,
  kTypeFloats,
  kTypeInts,
  kTypeStrings,
  kTypeTensors,
  kTypeGraphs,
  kTypeSparse
};
}  // namespace attribute
struct AttributeView {
  absl::string_view name;
  int type = 0;  // attribute::Type; 0 when the file does not say it
  bool is_reference = false;
  float f = 0;
  int64_t i = 0;
  absl::string_view s, t, g, sparse;
  bool has_f = false, has_i = false, has_s = false, has_t = false, has_g = false, has_sparse = false;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<absl::string_view> strings;
  std::vector<absl::string_view> graphs;
};
bool ReadAttribute(absl::string_view bytes, AttributeView* out);

// TensorProto.
namespace tensor {
inline constexpr int kDims = 1, kDataType = 2, kSegment = 3, kFloats = 4, kInts = 5, kStrings = 6, kLongs = 7, kName = 8, kRaw = 9,
                     kDoubles = 10, kUlongs = 11, kExternal = 13, kLocation = 14;
}
struct TensorView {
  absl::string_view name;
  std::vector<int64_t> dims;
  int64_t data_type = 0;
  bool has_raw = false, is_external = false, has_segment = false, has_strings = false;
  absl::string_view raw;
  // The fields of typed data: float_data, int32_data, int64_data, double_data.
  std::vector<WireField> typed;
  absl::string_view location;
  absl::string_view offset, length;  // decimal, "" for not given
};
bool ReadTensor(absl::string_view bytes, TensorView* out);

// ValueInfoProto.
namespace value_info {
inline constexpr int kName = 1, kType = 2;
}
struct ValueInfoView {
  absl::string_view name, type;
  bool has_type = false;
};
bool ReadValueInfo(absl::string_view bytes, ValueInfoView* out);

// The integers of a repeated field, packed or not, appended.
bool AppendInts(const WireField& field, std::vector<int64_t>* out);

// The field `number` that holds bytes, the last of several, as protobuf reads it; empty when there is none.
absl::string_view BytesField(absl::string_view message, int number);

}  // namespace ampc::onnx
