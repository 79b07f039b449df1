#include <cstring>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"
#include "tests/formats/test_files.h"
#include "tests/onnx/conformance_model.h"

namespace ampc::testing {
namespace {

// By TensorProto.DataType.
constexpr DType kTypes[] = {DType::kInvalid, DType::kF32, DType::kU8,      DType::kI8,   DType::kU16, DType::kI16,
                            DType::kI32,     DType::kI64, DType::kInvalid, DType::kBool, DType::kF16, DType::kF64,
                            DType::kU32,     DType::kU64, DType::kC64,     DType::kC128, DType::kBF16};

// A protobuf message, field by field.
class Reader {
 public:
  explicit Reader(absl::string_view bytes) : bytes_(bytes) {}
  bool done() const { return bytes_.empty() || bad_; }
  bool bad() const { return bad_; }

  uint64_t Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint8_t byte = static_cast<uint8_t>(Bytes(1)[0]);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 128) return value;
    }
    bad_ = true;
    return 0;
  }
  // `n` bytes, or zeros and bad() where there are fewer.
  absl::string_view Bytes(size_t n) {
    static constexpr char kNone[8] = {};
    bad_ = bad_ || n > bytes_.size();
    if (bad_) return absl::string_view(kNone, std::min<size_t>(n, 8));
    const absl::string_view taken = bytes_.substr(0, n);
    bytes_.remove_prefix(n);
    return taken;
  }

 private:
  absl::string_view bytes_;
  bool bad_ = false;
};

struct Fields {
  std::vector<int64_t> dims;
  int64_t type = 0;
  std::vector<int64_t> ints;  // int32_data, int64_data, uint64_data
  std::string raw;            // raw_data, float_data, double_data
};

absl::StatusOr<Fields> Parse(absl::string_view bytes) {
  Fields out;
  for (Reader message(bytes); !message.done();) {
    const uint64_t key = message.Varint();
    const uint64_t field = key >> 3;
    const int wire = static_cast<int>(key & 7);
    absl::string_view part;
    uint64_t number = 0;
    if (wire == 0) number = message.Varint();
    if (wire == 1) part = message.Bytes(8);
    if (wire == 2) part = message.Bytes(message.Varint());
    if (wire == 5) part = message.Bytes(4);
    if (message.bad() || wire == 3 || wire == 4 || wire > 5) return BadInputError("not a TensorProto");
    const bool data = field == 5 || field == 7 || field == 11;
    std::vector<int64_t>* numbers = field == 1 ? &out.dims : data ? &out.ints : nullptr;
    if (numbers != nullptr && wire == 0) numbers->push_back(static_cast<int64_t>(number));
    if (numbers != nullptr && wire == 2) {
      for (Reader packed(part); !packed.done();) numbers->push_back(static_cast<int64_t>(packed.Varint()));
    }
    if (field == 2) out.type = static_cast<int64_t>(number);
    if (field == 4 || field == 9 || field == 10) absl::StrAppend(&out.raw, part);
  }
  return out;
}

// The messages in the fields `number` of `bytes`.
std::vector<absl::string_view> MessagesIn(absl::string_view bytes, uint64_t number) {
  std::vector<absl::string_view> out;
  for (Reader message(bytes); !message.done();) {
    const uint64_t key = message.Varint();
    absl::string_view part;
    const int wire = static_cast<int>(key & 7);
    if (wire == 0) message.Varint();
    if (wire == 1) message.Bytes(8);
    if (wire == 2) part = message.Bytes(message.Varint());
    if (wire == 5) message.Bytes(4);
    if (!message.bad() && wire == 2 && key >> 3 == number) out.push_back(part);
  }
  return out;
}

absl::StatusOr<HostTensor> TensorOf(absl::string_view bytes, const std::string& path, DType declared) {
  absl::StatusOr<Fields> fields = Parse(bytes);
  if (!fields.ok()) return Annotate(fields.status(), path);
  const bool known = fields->type >= 0 && fields->type < static_cast<int64_t>(std::size(kTypes));
  constexpr int64_t kU16 = 4;
  DType dtype = known ? kTypes[fields->type] : DType::kInvalid;
  if (fields->type == kU16 && declared == DType::kBF16) dtype = declared;
  if (dtype == DType::kInvalid) return UnsupportedError(absl::StrCat(path, ": element type ", fields->type, " is not one of ours"));
  AMPC_ASSIGN_OR_RETURN(HostTensor out, HostTensor::Create(dtype, fields->dims));
  const size_t size = SizeOf(dtype);
  if (fields->raw.empty()) {  // integers of any width, f16 and bf16 as their bits
    for (const int64_t v : fields->ints) fields->raw.append(reinterpret_cast<const char*>(&v), size);
  }
  if (fields->raw.size() != out.size_bytes()) {
    return BadInputError(absl::StrCat(path, ": ", fields->raw.size(), " bytes for ", Name(dtype), " ", ShapeToString(out.dims())));
  }
  if (!fields->raw.empty()) std::memcpy(out.mutable_data(), fields->raw.data(), fields->raw.size());
  return out;
}

// Fields of SequenceProto and OptionalProto. A TensorProto has no message in the former, and a sequence nothing in the latter.
constexpr uint64_t kTensor = 3, kSequence = 5;

}  // namespace

absl::StatusOr<std::vector<HostTensor>> ReadValueProto(const std::string& path, const TensorType& declared) {
  const std::string bytes = testing::ReadFile(path);
  std::vector<absl::string_view> tensors = MessagesIn(bytes, kTensor);
  if (declared.kind == TypeKind::kTensor && tensors.empty()) tensors = {bytes};
  if (declared.kind == TypeKind::kTensorArray) {
    for (const absl::string_view sequence : MessagesIn(bytes, kSequence)) tensors = MessagesIn(sequence, kTensor);
  }
  std::vector<HostTensor> out;
  for (const absl::string_view tensor : tensors) {
    AMPC_ASSIGN_OR_RETURN(HostTensor value, TensorOf(tensor, path, declared.dtype));
    out.push_back(std::move(value));
  }
  return out;
}

}  // namespace ampc::testing
