#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/onnx/attr.h"
#include "graph/formats/onnx/exporter.h"
#include "graph/ops/onnx/dtype_number.h"

namespace ampc::onnx {
namespace {

constexpr uint64_t kLeastExternal = 1024;     // a smaller value stays in the model
constexpr uint64_t kPage = 4096, kLine = 64;  // alignment of large and of other external values
constexpr uint64_t kLarge = uint64_t{1} << 20;
constexpr uint64_t kMostGap = uint64_t{1} << 16;  // on average, between values of a file that is laid out again
// Forms of a Constant node, as in undo.h.
constexpr int kFormFloat = -2, kFormFloats = -7;

bool IsConstant(const Var& var) {
  return (var.kind == VarKind::kConst || var.kind == VarKind::kParam) && var.type.kind == TypeKind::kTensor;
}
bool HasValue(const Var& var) { return var.weight != nullptr || var.literal != nullptr; }

// The field of typed data that a TensorProto has, kRaw when it has none.
int TypedForm(absl::string_view tensor_bytes) {
  WireReader reader(tensor_bytes);
  for (WireField field; reader.Next(&field);) {
    if (field.number == tensor::kFloats || field.number == tensor::kDoubles) return field.number;
  }
  return tensor::kRaw;
}

std::string ExternalFields(const ExternalLayout& layout, const ExternalLayout::Extent& extent) {
  std::string out, entry;
  const auto add = [&](absl::string_view key, absl::string_view value) {
    entry.clear();
    AppendBytesField(1, key, &entry);
    AppendBytesField(2, value, &entry);
    AppendBytesField(tensor::kExternal, entry, &out);
  };
  add("location", layout.location);
  if (extent.says_offset) add("offset", absl::StrCat(extent.offset));
  if (extent.says_length) add("length", absl::StrCat(extent.bytes));
  AppendVarintField(tensor::kLocation, 1, &out);
  return out;
}

bool IsData(int number) {
  switch (number) {
    case tensor::kFloats:
    case tensor::kInts:
    case tensor::kStrings:
    case tensor::kLongs:
    case tensor::kRaw:
    case tensor::kDoubles:
    case tensor::kUlongs:
    case tensor::kExternal:
    case tensor::kLocation: return true;
    default: return false;
  }
}

// The tensor says that its data lies where the layout has it.
bool SameLocation(const TensorView& view, const ExternalLayout& layout, const ExternalLayout::Extent& extent) {
  const auto same = [](absl::string_view text, bool says, uint64_t value) { return says ? text == absl::StrCat(value) : text.empty(); };
  return view.is_external && view.location == layout.location && same(view.offset, extent.says_offset, extent.offset) &&
         same(view.length, extent.says_length, extent.bytes);
}

// Both give the same bytes.
bool SameValue(const Var& a, const Var& b) {
  if (!HasValue(a) && !HasValue(b)) return true;
  if (a.weight == nullptr || b.weight == nullptr) return a.literal != nullptr && b.literal != nullptr && *a.literal == *b.literal;
  const WeightRef &x = *a.weight, &y = *b.weight;
  if (x.source == y.source && x.offset == y.offset && x.bytes == y.bytes && x.transforms.empty() && y.transforms.empty()) return true;
  const absl::StatusOr<HostTensor> left = LoadWeight(x, a.type.dims), right = LoadWeight(y, b.type.dims);
  return left.ok() && right.ok() && left->bytes() == right->bytes();
}

// Regions in ascending order share no byte, but where they are the same.
bool Disjoint(const std::vector<ExternalLayout::Extent>& extents) {
  uint64_t end = 0;
  for (size_t i = 0; i < extents.size(); ++i) {
    if (extents[i].offset < end) {
      const ExternalLayout::Extent& before = extents[i - 1];
      if (before.offset != extents[i].offset || before.bytes != extents[i].bytes || !SameValue(*before.var, *extents[i].var)) return false;
    }
    end = std::max(end, extents[i].offset + extents[i].bytes);
  }
  return true;
}

uint64_t AlignUp(uint64_t offset, uint64_t bytes) {
  const uint64_t alignment = bytes >= kLarge ? kPage : kLine;
  return (offset + alignment - 1) / alignment * alignment;
}

}  // namespace

bool Exporter::Unchanged(const Var& var) const {
  if (var.origin < 0 || origin_ == nullptr) return false;
  const OnnxOrigin::Value& value = origin_->values[var.origin];
  const OnnxOrigin::Constant* stored = origin_->ConstantOf(value);
  if (stored == nullptr || !(var.type == origin_->TypeOf(value))) return false;
  if (var.type.kind != TypeKind::kTensor) return true;
  if (stored->literal != nullptr)
    return var.weight == nullptr && var.literal != nullptr && (var.literal == stored->literal || *var.literal == *stored->literal);
  if (var.weight == nullptr) return stored->source == nullptr && var.literal == nullptr;
  return var.weight->transforms.empty() && var.weight->source.get() == stored->source && var.weight->offset == stored->offset;
}

const ExternalLayout::Extent* Exporter::ExtentOf(const Var& var) const {
  const int index = external_.extent_of.empty() ? -1 : external_.extent_of[var.id()];
  return index < 0 ? nullptr : &external_.extents[index];
}

std::optional<ValueMarks::External> Exporter::Before(const Var& var) const {
  if (var.origin < 0 || origin_ == nullptr) return std::nullopt;
  const OnnxOrigin::Value& value = origin_->values[var.origin];
  if (!origin_->IsExternal(value)) return std::nullopt;
  if (origin_->undo.found()) return DecodeValueMarks(origin_->undo.Find(value.location)).at;
  const OnnxOrigin::Constant& stored = *origin_->ConstantOf(value);
  if (!origin_->one_file || stored.source == nullptr) return std::nullopt;
  ValueMarks::External at{.offset = stored.offset, .has_offset = stored.says_offset, .has_length = stored.says_length};
  if (stored.offset == 0) at.size = stored.file_size;
  return at;
}

// Of a program that a conversion was taken back from: the file as it was.
bool Exporter::LayOutAsBefore() {
  if (converted_ || origin_ == nullptr || !origin_->undo.found()) return false;
  std::vector<ExternalLayout::Extent> packed = external_.extents;
  uint64_t most = 0;  // a file with marks that nobody wrote in earnest must not fill the disk
  for (const ExternalLayout::Extent& extent : packed) most += 2 * extent.bytes + kMostGap;
  for (ExternalLayout::Extent& extent : external_.extents) {
    const std::optional<ValueMarks::External> at = Before(*extent.var);
    if (!at.has_value() || at->offset > most || at->size > most) {
      external_.extents = std::move(packed);
      return false;
    }
    extent.offset = at->offset;
    extent.says_offset = at->has_offset;
    extent.says_length = at->has_length;
    external_.size = std::max(external_.size, at->size);
  }
  std::stable_sort(external_.extents.begin(), external_.extents.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
  if (Disjoint(external_.extents)) return true;
  external_.extents = std::move(packed);
  external_.size = 0;
  return false;
}

// Gives every extent its offset: that of the file it came from, or the next one that is aligned.
void Exporter::LayOut(bool keep_offsets) {
  std::vector<ExternalLayout::Extent>& extents = external_.extents;
  const bool as_before = LayOutAsBefore();
  if (!as_before && keep_offsets) {
    for (ExternalLayout::Extent& extent : extents) {
      const OnnxOrigin::Constant& stored = *origin_->ConstantOf(origin_->values[extent.var->origin]);
      extent.offset = stored.offset;
      extent.says_offset = stored.says_offset;
      extent.says_length = stored.says_length;
      external_.size = stored.file_size;
    }
    std::stable_sort(extents.begin(), extents.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
    keep_offsets = Disjoint(extents);
  }
  uint64_t end = 0;
  if (!as_before && !keep_offsets) {
    external_.size = 0;
    for (ExternalLayout::Extent& extent : extents) {
      extent = {extent.var, AlignUp(end, extent.bytes), extent.bytes};
      end = extent.offset + extent.bytes;
    }
  }
  for (size_t i = 0; i < extents.size(); ++i) external_.extent_of[extents[i].var->id()] = static_cast<int>(i);
}

absl::Status Exporter::PlanValues(std::string location, uint64_t most_in_file) {
  external_.location = std::move(location);
  std::vector<ExternalLayout::Extent> all;
  uint64_t total = 0;
  absl::Status status;
  ForEachVar(program_, [&](const Var& var) {
    const bool had = var.origin >= 0 && origin_ != nullptr;
    const bool foreign = had && origin_->IsExternal(origin_->values[var.origin]) && var.type.kind != TypeKind::kTensor;
    if (foreign)
      status =
          UnsupportedError(absl::StrCat("initializer '", var.exported(), "': external data of a type that is not known cannot be copied"));
    if (!IsConstant(var) || InFunction(var.block()) || (!had && !read_[var.id()]) || (!HasValue(var) && Unchanged(var))) return;
    absl::StatusOr<uint64_t> bytes = StoredBytes(var);
    if (!bytes.ok()) {
      status = bytes.status();
      return;
    }
    all.push_back({&var, 0, *bytes});
    total += *bytes;
  });
  AMPC_RETURN_IF_ERROR(status);
  const bool came_external = origin_ != nullptr && origin_->external;
  if (total <= most_in_file && !came_external) return absl::OkStatus();
  bool keep_offsets = came_external && origin_->one_file;
  for (const ExternalLayout::Extent& value : all) {
    const OnnxOrigin::Value* origin = value.var->origin < 0 || origin_ == nullptr ? nullptr : &origin_->values[value.var->origin];
    const bool was = origin != nullptr && origin_->IsExternal(*origin);
    if (!was && (value.bytes < kLeastExternal || (total <= most_in_file && origin != nullptr))) continue;
    keep_offsets = keep_offsets && was && value.var->type.NumElements() == origin_->TypeOf(*origin).NumElements() &&
                   value.var->type.dtype == origin_->TypeOf(*origin).dtype;
    external_.extents.push_back(value);
  }
  external_.extent_of.assign(program_.num_var_ids(), -1);
  LayOut(keep_offsets);
  return absl::OkStatus();
}

// The form that a constant had before it was lowered, when it is not raw data.
int Exporter::FormMark(const Var& var, absl::string_view had_tensor) const {
  if (var.origin < 0 || origin_ == nullptr) return 0;
  const OnnxOrigin::Value& value = origin_->values[var.origin];
  const int before = DecodeValueMarks(origin_->undo.Find(value.location)).form;
  const TensorType& type = origin_->TypeOf(value);
  if (before != 0 || IsLowPrecision(type.dtype) || Unchanged(var)) return before;
  const int form = had_tensor.empty() ? (type.has_rank && type.rank() == 0 ? kFormFloat : kFormFloats) : TypedForm(had_tensor);
  return form == tensor::kRaw ? 0 : form;
}

void Exporter::MarkValue(const Var& var, Location location) {
  if (var.was != DType::kInvalid) undo_.Add(location, EncodeValueMarks({.was = var.was}));
}

absl::StatusOr<Rope> Exporter::Tensor(const Var& var, absl::string_view had, absl::string_view name) {
  const ExternalLayout::Extent* extent = ExtentOf(var);
  AMPC_ASSIGN_OR_RETURN(const uint64_t bytes, StoredBytes(var));
  const int form = FormMark(var, had);
  const bool typed =
      (form == tensor::kFloats && var.type.dtype == DType::kF32) || (form == tensor::kDoubles && var.type.dtype == DType::kF64);
  const int number = typed ? form : tensor::kRaw;
  Rope data, out;
  if (extent != nullptr) {
    data.Text(ExternalFields(external_, *extent));
  } else {
    data.Text(BytesFieldHead(number, bytes));
    data.Weight(&var, bytes);
  }
  std::string dims, type;
  for (const int64_t dim : var.type.dims) AppendVarintField(tensor::kDims, static_cast<uint64_t>(dim), &dims);
  AppendVarintField(tensor::kDataType, static_cast<uint64_t>(NumberOfDType(var.type.dtype)), &type);
  const bool same_dims = !had.empty() && var.origin >= 0 && var.type.dims == origin_->TypeOf(origin_->values[var.origin]).dims;
  if (!same_dims) out.Text(dims);
  if (had.empty()) {
    out.Text(type);
    std::string text;
    if (!name.empty()) AppendBytesField(tensor::kName, name, &text);
    out.Text(text);
  }
  const int at = extent != nullptr ? tensor::kExternal : number;
  bool written = false;
  WireReader reader(had);
  for (WireField field; reader.Next(&field);) {
    if (field.number > at && !IsData(field.number) && !std::exchange(written, true)) out.Append(data);
    if (IsData(field.number) || (field.number == tensor::kDims && !same_dims)) continue;
    field.number == tensor::kDataType ? out.Text(type) : out.Keep(field.all);
  }
  if (!written) out.Append(data);
  return out;
}

absl::Status Exporter::WriteInitializer(const Var& var, absl::string_view had, Graph* graph, Rope* out) {
  const Location location = {.section = 'i', .graph = graph->number, .index = graph->initializers++};
  WireReader reader(had);
  WireField field;
  (void)reader.Next(&field);
  const ExternalLayout::Extent* extent = ExtentOf(var);
  const int form = IsLowPrecision(var.type.dtype) ? FormMark(var, field.bytes) : 0;
  undo_.Add(location, EncodeValueMarks({.was = var.was, .form = had.empty() ? 0 : form, .at = converted_ ? Before(var) : std::nullopt}));
  if (Unchanged(var)) {
    TensorView view;
    const bool same = extent == nullptr || (ReadTensor(field.bytes, &view) && SameLocation(view, external_, *extent));
    if (same) {
      out->Keep(had);
      return absl::OkStatus();
    }
  }
  AMPC_ASSIGN_OR_RETURN(const Rope tensor, Tensor(var, field.bytes, NameOf(var)));
  out->Field(graph::kInitializer, tensor);
  return absl::OkStatus();
}

// Stays a Constant node; value_float(s), which has no low form, becomes a tensor.
absl::Status Exporter::WriteConstantNode(const Var& var, absl::string_view had, Graph* graph, Rope* out) {
  const Location location = {.section = 'n', .graph = graph->number, .index = graph->nodes++};
  WireReader whole(had);
  WireField message;
  (void)whole.Next(&message);
  NodeView view;
  AttributeView attribute;
  (void)ReadNode(message.bytes, &view);
  (void)ReadAttribute(view.attributes[0], &attribute);
  const int form = IsLowPrecision(var.type.dtype) ? FormMark(var, attribute.t) : 0;
  undo_.Add(location, EncodeValueMarks({.was = var.was, .form = form, .at = converted_ ? Before(var) : std::nullopt}));
  const bool renamed = view.outputs[0] != NameOf(var);
  if (Unchanged(var) && !renamed && ExtentOf(var) == nullptr) {
    out->Keep(had);
    return absl::OkStatus();
  }
  const int restored = IsLowPrecision(var.type.dtype) ? 0 : FormMark(var, attribute.t);
  Rope content;
  if ((restored == kFormFloat || restored == kFormFloats) && var.literal != nullptr && var.type.dtype == DType::kF32) {
    const absl::Span<const float> values = var.literal->values<float>();
    const bool one = restored == kFormFloat && values.size() == 1;
    content.Text(one ? EncodeAttr("value_float", values[0]) : EncodeAttr("value_floats", std::vector<float>(values.begin(), values.end())));
  } else {
    AMPC_ASSIGN_OR_RETURN(const Rope tensor, Tensor(var, attribute.t, ""));
    std::string name, type;
    AppendBytesField(attribute::kName, "value", &name);
    AppendVarintField(attribute::kType, attribute::kTypeTensor, &type);
    content.Text(name);
    content.Field(attribute::kT, tensor);
    content.Text(type);
  }
  Rope node;
  WireReader reader(message.bytes);
  for (WireField field; reader.Next(&field);) {
    if (field.Is(node::kAttribute, kBytes)) {
      node.Field(node::kAttribute, content);
    } else if (field.Is(node::kOutput, kBytes)) {
      std::string text;
      AppendBytesField(node::kOutput, NameOf(var), &text);
      node.Text(text);
    } else {
      node.Keep(field.all);
    }
  }
  out->Field(graph::kNode, node);
  return absl::OkStatus();
}

}  // namespace ampc::onnx
