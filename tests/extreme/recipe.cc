#include "tests/extreme/recipe.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/bfloat16.h"
#include "graph/base/half.h"
#include "graph/base/packed.h"

namespace ampc::extreme {
namespace {

struct Recipe {
  absl::string_view op, operands, attrs;
};
constexpr Recipe kRecipes[] = {
#include "tests/extreme/recipes.inc"
};

// "Conv" and 0, or "Pad" and 11.
std::pair<absl::string_view, int> NameAndVersion(absl::string_view op) {
  const size_t dot = op.rfind('.');
  int since = 0;
  if (dot == absl::string_view::npos || !absl::SimpleAtoi(op.substr(dot + 1), &since)) return {op, 0};
  return {op.substr(0, dot), since};
}

const Recipe* FindRecipe(const OddModel& model) {
  const std::string name = model.schema == nullptr ? model.def->name : model.schema->type;
  const int version = model.schema == nullptr ? 0 : model.schema->since;
  const Recipe* found = nullptr;
  for (const Recipe& recipe : kRecipes) {
    const auto [type, since] = NameAndVersion(recipe.op);
    if (type == name && since <= version) found = &recipe;
  }
  return found;
}

// Usual values: small numbers, and positive ones where a name asks for them.
void Fill(absl::string_view name, HostTensor* tensor) {
  const bool positive = absl::StrContains(name, "cale") || absl::StrContains(name, "ar") || absl::StrContains(name, "ensity");
  const bool zero = absl::StrContains(name, "zero_point");
  for (int64_t i = 0; i < tensor->num_elements(); ++i) {
    if (IsFloat(tensor->dtype())) {
      SetElement(tensor, i, positive ? 0.5 : 0.25 * static_cast<double>(i % 7) - 0.5);
    } else {
      SetElement(tensor, i, int64_t{zero ? 0 : i % 2});
    }
  }
}

HostTensor Filled(DType dtype, const std::vector<int64_t>& dims, absl::string_view name) {
  HostTensor tensor = *HostTensor::Create(dtype, dims);
  Fill(name, &tensor);
  return tensor;
}

// "2x3:1,2"
Operand ParseOperand(absl::string_view text, DType dtype, absl::string_view name) {
  Operand operand;
  operand.given = text != "-";
  if (!operand.given) text = "0";
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits(':', 1));
  std::vector<int64_t> dims;
  for (absl::string_view dim : absl::StrSplit(parts.first, 'x')) {
    int64_t value = 0;
    if (dim != "s" && absl::SimpleAtoi(dim, &value)) dims.push_back(value);
  }
  operand.value = Filled(dtype, dims, name);
  int64_t at = 0;
  for (absl::string_view item : absl::StrSplit(parts.second, ',', absl::SkipEmpty())) {
    double value = 0;
    if (!absl::SimpleAtod(item, &value)) std::abort();  // the table is broken
    if (IsFloat(dtype)) {
      SetElement(&operand.value, at++, value);
    } else {
      SetElement(&operand.value, at++, static_cast<int64_t>(value));
    }
  }
  return operand;
}

std::string NameOfSlot(const OddModel& model, size_t slot) {
  return model.schema == nullptr ? model.def->inputs[slot].name : model.schema->inputs[slot].name;
}

template <typename T>
void SetBits(HostTensor* tensor, int64_t index, T value) {
  std::memcpy(static_cast<std::byte*>(tensor->mutable_data()) + static_cast<size_t>(index) * SizeOf(tensor->dtype()), &value,
              std::min(sizeof(T), SizeOf(tensor->dtype())));
}

int64_t ToInt(absl::string_view text) {
  int64_t value = 0;
  if (!absl::SimpleAtoi(text, &value)) std::abort();  // the table is broken
  return value;
}

// Dims of an operand that is neither of the first ones nor an integer, by its slot's name.
std::vector<int64_t> DimsByName(absl::string_view name, const std::vector<int64_t>& data) {
  const int64_t channels = data.size() > 1 ? data[1] : 1;
  for (absl::string_view scalar : {"zero_point", "_scale", "ratio", "min", "max", "constant_value", "threshold", "LearningRate", "Loss"}) {
    if (absl::StrContains(name, scalar)) return {};
  }
  for (absl::string_view vector : {"ias", "cale", "ean", "ar"}) {
    if (absl::StrContains(name, vector)) return {channels};
  }
  return data;
}

// Values of an operand of integers, by its slot's name.
Operand IntegersByName(absl::string_view name, DType dtype, const std::vector<int64_t>& data) {
  const int64_t rank = static_cast<int64_t>(data.size());
  Operand operand;
  operand.value = Filled(dtype, {1}, name);
  if (absl::StrContains(name, "hape") || name == "sizes") {
    operand.value = Filled(dtype, {rank}, name);
    for (int64_t i = 0; i < rank; ++i) SetElement(&operand.value, i, data[static_cast<size_t>(i)]);
  } else if (absl::StrContains(absl::AsciiStrToLower(name), "ind") || absl::StrContains(name, "abel") || name == "target") {
    operand.value = Filled(dtype, {2}, name);
  } else {
    SetElement(&operand.value, 0, int64_t{absl::StrContains(name, "ax") ? 0 : 1});
  }
  return operand;
}

}  // namespace

void SetElement(HostTensor* tensor, int64_t index, double value) {
  switch (tensor->dtype()) {
    case DType::kF16: SetBits(tensor, index, Half(static_cast<float>(value))); break;
    case DType::kBF16: SetBits(tensor, index, BFloat16(static_cast<float>(value))); break;
    case DType::kC64:
    case DType::kF32: SetBits(tensor, index, static_cast<float>(value)); break;
    case DType::kC128:
    case DType::kF64: SetBits(tensor, index, value); break;
    default: SetElement(tensor, index, int64_t{value > 0});
  }
}

void SetElement(HostTensor* tensor, int64_t index, int64_t value) {
  if (IsFloat(tensor->dtype()) || IsComplex(tensor->dtype())) return SetElement(tensor, index, static_cast<double>(value));
  const DType dtype = tensor->dtype();
  if (dtype == DType::kBool) value = value != 0 ? 1 : 0;
  if (IsPacked(dtype)) value = PackedElement(dtype, static_cast<uint8_t>(value & ((1 << BitsOf(dtype)) - 1)));
  SetBits(tensor, index, value);
}

AttrValue ParseAttr(const AttrValue& like, const std::string& text) {
  const std::vector<std::string> items = absl::StrSplit(text, ',', absl::SkipEmpty());
  const auto list = [&](auto of) {
    std::vector<decltype(of)> values;
    for (const std::string& item : items) values.push_back(static_cast<decltype(of)>(ToInt(item)));
    return values;
  };
  if (std::holds_alternative<std::string>(like)) return text;
  if (std::holds_alternative<DType>(like)) return ParseDType(text).value();
  if (std::holds_alternative<std::vector<int64_t>>(like)) return list(int64_t{});
  if (std::holds_alternative<std::vector<int32_t>>(like)) return list(int32_t{});
  if (std::holds_alternative<std::vector<float>>(like)) return list(float{});
  if (std::holds_alternative<float>(like)) return static_cast<float>(ToInt(text));
  if (std::holds_alternative<int32_t>(like)) return static_cast<int32_t>(ToInt(text));
  if (std::holds_alternative<bool>(like)) return ToInt(text) != 0;
  return ToInt(text);
}

bool FromRecipe(const std::vector<DType>& types, OddModel* model) {
  const Recipe* recipe = FindRecipe(*model);
  if (recipe == nullptr) return false;
  const std::vector<std::string> operands = absl::StrSplit(recipe->operands, ' ', absl::SkipEmpty());
  model->slots.assign(types.size(), {});
  for (size_t slot = 0; slot < types.size() && slot < operands.size(); ++slot) {
    for (absl::string_view one : absl::StrSplit(operands[slot], '+')) {
      Operand operand = ParseOperand(one, types[slot], NameOfSlot(*model, slot));
      if (operand.given) model->slots[slot].push_back(std::move(operand));
    }
  }
  for (absl::string_view item : absl::StrSplit(recipe->attrs, ' ', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(item, absl::MaxSplits('=', 1));
    const AttrDef* attr = model->def->FindAttr(parts.first);
    if (attr != nullptr) model->attrs.push_back({parts.first, ParseAttr(attr->value, parts.second)});
  }
  return true;
}

void FromNames(const std::vector<DType>& types, Choices& choices, OddModel* model) {
  static const std::vector<std::vector<int64_t>> kFrames = {{2, 4, 6, 6}, {3, 4}, {2, 3, 4}, {5}, {1, 4, 4, 4, 4}, {}};
  const std::vector<int64_t> data = choices.Pick(kFrames);
  model->slots.assign(types.size(), {});
  for (size_t slot = 0; slot < types.size(); ++slot) {
    const SlotDef& def = model->def->inputs[slot];
    if ((def.optional || def.host_value) && choices.Chance(50)) continue;
    const std::string name = NameOfSlot(*model, slot);
    const bool index = def.host_value || types[slot] == DType::kI64 || types[slot] == DType::kI32;
    for (size_t count = def.variadic ? 1 + choices.Below(3) : 1; count > 0; --count) {
      Operand operand;
      if (index && slot > 0) {
        operand = IntegersByName(name, types[slot], data);
      } else {
        operand.value = Filled(types[slot], slot == 0 ? data : DimsByName(name, data), name);
      }
      model->slots[slot].push_back(std::move(operand));
    }
  }
}

}  // namespace ampc::extreme
