#include "graph/infer_context.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/host_values.h"
#include "graph/base/status_macros.h"

namespace ampc {
namespace {

// int and long, float and double (and their lists) may stand for each other: files of different versions mix them.
int Family(const AttrValue& v) {
  switch (v.index()) {
    case 2: return 1;    // long -> int
    case 4: return 3;    // double -> float
    case 12: return 11;  // long list -> int list
    case 14: return 13;  // double list -> float list
    default: return static_cast<int>(v.index());
  }
}

absl::Status CheckSlots(const Op& op, const std::vector<SlotDef>& slots, bool inputs) {
  const char* what = inputs ? "operand" : "result";
  for (size_t s = 0; s < slots.size(); ++s) {
    const size_t n = inputs ? op.inputs(static_cast<int>(s)).size() : op.outputs(static_cast<int>(s)).size();
    if (n == 0 && !slots[s].optional) {
      return BadInputError(absl::StrCat(Describe(op), ": no ", what, " in slot ", slots[s].name, ", which needs one"));
    }
    if (n > 1 && !slots[s].variadic) {
      return BadInputError(absl::StrCat(Describe(op), ": ", n, " ", what, "s in slot ", slots[s].name, ", which takes one"));
    }
  }
  return absl::OkStatus();
}

// The fault of the attribute of that definition, if there is one.
absl::Status CheckAttr(const Op& op, const AttrDef& def) {
  const AttrValue* value = op.explicit_attr(def.name);
  if (value == nullptr) {
    if (!def.required) return absl::OkStatus();
    return BadInputError(absl::StrCat(Describe(op), ": attribute ", def.name, " is missing, a ", AttrTypeName(def.value), " is needed"));
  }
  if (Family(*value) == Family(def.value)) return absl::OkStatus();
  return BadInputError(
      absl::StrCat(Describe(op), ": attribute ", def.name, " is a ", AttrTypeName(*value), ", needs a ", AttrTypeName(def.value)));
}

absl::Status CheckAttrs(const Op& op) {
  const bool any = !op.attrs().empty();
  for (const AttrDef& def : op.def().attrs) {
    if (any || def.required) AMPC_RETURN_IF_ERROR(CheckAttr(op, def));
  }
  return absl::OkStatus();
}

// No result is larger than `most` bytes.
absl::Status CheckSizes(const InferContext& ctx, int64_t most) {
  for (size_t i = 0; i < ctx.results().size(); ++i) {
    const std::optional<TensorType>& type = ctx.results()[i];
    if (!type.has_value() || type->kind == TypeKind::kOpaque) continue;
    const int64_t bytes = SpannedBytes(type->dtype, type->dims);
    if (bytes <= most) continue;
    const std::string needed = bytes == std::numeric_limits<int64_t>::max() ? "more than 2^63" : absl::StrCat(bytes);
    return BadInputError(absl::StrCat(Describe(ctx.op()), ": the result '", ctx.op().outputs()[i]->name(), "' is ", ToString(*type),
                                      ", which takes ", needed, " bytes of the ", most, " that there can be"));
  }
  return absl::OkStatus();
}

// The file's name of an attribute that the record calls otherwise; "" where both say the same.
absl::string_view AttrInFile(const OpDef& of_file, absl::string_view name) {
  constexpr std::pair<absl::string_view, absl::string_view> kOthers[] = {{"groups", "group"}, {"paddings", "pads"}};
  for (const auto& [own, other] : kOthers) {
    if (name == own && of_file.FindAttr(other) != nullptr) return other;
  }
  return "";
}

// A sentence about the slots of an op that `of_file` has in another dialect: with the names of the values in them, which the file has.
std::string InNamesOfTheFile(const Op& op, const OpDef& of_file, absl::string_view sentence) {
  std::string out;
  while (!sentence.empty()) {
    const size_t end =
        std::find_if_not(sentence.begin(), sentence.end(), [](char c) { return absl::ascii_isalnum(c) || c == '_'; }) - sentence.begin();
    const absl::string_view word = sentence.substr(0, std::max<size_t>(end, 1));
    sentence.remove_prefix(word.size());
    const int slot = op.def().InputSlot(word);
    const absl::string_view attr = AttrInFile(of_file, word);
    if (slot >= 0 && op.inputs(slot).size() == 1) {
      if (absl::EndsWith(out, "the ")) out.resize(out.size() - 4);
      absl::StrAppend(&out, "'", op.inputs(slot)[0]->name(), "'");
    } else {
      absl::StrAppend(&out, attr.empty() ? word : attr);
    }
  }
  return out;
}

}  // namespace

InferContext::InferContext(const Op& op, const TypeEnv& env) : op_(op), env_(env), results_(op.outputs().size()) {}

bool InferContext::Has(absl::string_view slot) const { return op_.input(slot) != nullptr; }

int InferContext::Count(absl::string_view slot) const { return static_cast<int>(op_.inputs(op_.def().InputSlot(slot)).size()); }

const TensorType& InferContext::In(absl::string_view slot, int i) const { return env_.TypeOf(*op_.inputs(op_.def().InputSlot(slot))[i]); }

std::optional<std::vector<int64_t>> InferContext::Ints(absl::string_view slot, int i) const {
  const absl::Span<Var* const> vars = op_.inputs(op_.def().InputSlot(slot));
  if (i >= static_cast<int>(vars.size())) return std::nullopt;
  const HostTensor* value = env_.ValueOf(*vars[i]);
  if (value == nullptr) return std::nullopt;
  return IntegersOf(*value);
}

std::optional<double> InferContext::Float(absl::string_view slot) const {
  const Var* var = op_.input(slot);
  const HostTensor* value = var == nullptr ? nullptr : env_.ValueOf(*var);
  if (value == nullptr || value->num_elements() != 1) return std::nullopt;
  if (value->dtype() == DType::kF32) return value->values<float>()[0];
  if (value->dtype() == DType::kF64) return value->values<double>()[0];
  if (std::optional<std::vector<int64_t>> ints = Ints(slot)) return ExactDouble((*ints)[0]);
  return std::nullopt;
}

int InferContext::NumOut(absl::string_view slot) const { return static_cast<int>(op_.outputs(op_.def().OutputSlot(slot)).size()); }

void InferContext::Out(absl::string_view slot, int i, TensorType type) {
  const absl::Span<Var* const> vars = op_.outputs(op_.def().OutputSlot(slot));
  if (i >= static_cast<int>(vars.size())) return;
  results_[&vars[i] - op_.outputs().data()] = std::move(type);
}

absl::Status InferContext::Error(absl::string_view what, absl::string_view rule) const {
  // Rules are those of the record, which another dialect does not know.
  const OpDef& of_file = op_.lowered_from != nullptr ? *op_.lowered_from : op_.def();
  if (of_file.operator_name != op_.type()) return BadInputError(absl::StrCat(Describe(op_), ": ", InNamesOfTheFile(op_, of_file, what)));
  return BadInputError(absl::StrCat(Describe(op_), ": ", what, " (", rule, ")"));
}

absl::Status InferContext::CheckRank(absl::string_view slot, int rank, absl::string_view rule) const {
  const TensorType& type = In(slot);
  if (!type.has_rank || type.rank() == rank) return absl::OkStatus();
  return Error(absl::StrCat(slot, " has rank ", type.rank(), ", needs ", rank), rule);
}

absl::StatusOr<int> InferContext::Axis(int64_t axis, int rank, absl::string_view rule) const {
  if (axis >= -rank && axis < rank) return static_cast<int>(axis < 0 ? axis + rank : axis);
  return Error(absl::StrCat("axis ", axis, " is outside [", -rank, ", ", rank, ")"), rule);
}

absl::Status InferContext::CheckSameFloat(absl::string_view rule) const {
  const Var* first = nullptr;
  for (size_t s = 0; s < op_.def().inputs.size(); ++s) {
    if (op_.def().inputs[s].precision != SlotPrecision::kFollow) continue;
    for (const Var* var : op_.inputs(static_cast<int>(s))) {
      const TensorType& type = env_.TypeOf(*var);
      if (!type.IsFloat()) continue;
      if (first == nullptr) first = var;
      const DType want = env_.TypeOf(*first).dtype;
      if (type.dtype != want) {
        return Error(absl::StrCat("operand '", var->name(), "' is ", Name(type.dtype), ", '", first->name(), "' is ", Name(want)), rule);
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::optional<TensorType>>> InferOp(const Op& op, const TypeEnv& env) {
  InferContext ctx(op, env);
  if (op.def().opaque) return ctx.results();
  AMPC_RETURN_IF_ERROR(CheckSlots(op, op.def().inputs, true));
  AMPC_RETURN_IF_ERROR(CheckSlots(op, op.def().outputs, false));
  AMPC_RETURN_IF_ERROR(CheckAttrs(op));
  AMPC_RETURN_IF_ERROR(op.def().infer(ctx));
  AMPC_RETURN_IF_ERROR(CheckSizes(ctx, env.MostBytesOfResult()));
  return std::move(const_cast<std::vector<std::optional<TensorType>>&>(ctx.results()));  // the context ends here
}

}  // namespace ampc
