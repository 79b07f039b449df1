// The oddities of a model.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "graph/base/shape.h"
#include "tests/extreme/odd_model.h"
#include "tests/extreme/recipe.h"

namespace ampc::extreme {
namespace {

constexpr int64_t kInts[] = {0,
                             -1,
                             1,
                             2,
                             3,
                             7,
                             -3,
                             64,
                             int64_t{1} << 20,
                             std::numeric_limits<int32_t>::max(),
                             std::numeric_limits<int32_t>::min(),
                             int64_t{1} << 31,
                             int64_t{1} << 32,
                             int64_t{1} << 40,
                             (int64_t{1} << 53) + 1,
                             int64_t{1} << 61,
                             int64_t{1} << 62,
                             (int64_t{1} << 62) + 16,
                             std::numeric_limits<int64_t>::min(),
                             std::numeric_limits<int64_t>::min() + 1,
                             std::numeric_limits<int64_t>::max() - 1,
                             std::numeric_limits<int64_t>::max()};
const double kFloats[] = {0, -0.0, 1, -1, 0.5, 1e-30, 1e30, -1e30, 3e38, 1e300, 65504, 1e12, std::nan(""), HUGE_VAL, -HUGE_VAL};
// clang-format off
const std::string kStrings[] = {"",       "SAME_UPPER", "SAME_LOWER", "VALID", "nearest", "linear",  "cubic",         "bilinear", "reflect", "edge",    "wrap",  "constant",
                                "NOTSET", "reverse",    "bidirectional", "mean",  "none",    "sum",     "asymmetric", "pytorch_half_pixel", "tf_crop_and_resize", "max", "mul", "Relu", "Affine",
                                "\x1b[31m\n", "ij,jk->", "...i,i...->", "a,,b->c", "NHWC", "EXPLICIT"};
// clang-format on

int64_t OddInt(Choices& choices) { return choices.Pick(kInts); }
double OddFloat(Choices& choices) { return choices.Pick(kFloats); }

template <typename T>
T OddOf(Choices& choices) {
  if constexpr (std::is_same_v<T, std::string>)
    return choices.Pick(kStrings);
  else if constexpr (std::is_same_v<T, bool>)
    return choices.Below(2) == 1;
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(OddFloat(choices));
  else
    return static_cast<T>(OddInt(choices));
}

template <typename T>
T ValueOne() {
  if constexpr (std::is_same_v<T, std::string>)
    return "1";
  else
    return static_cast<T>(1);
}

struct OddValue {
  Choices& choices;
  int rank;  // of the first operand: what a list may have one or two of each
  AttrValue operator()(BlockRef v) { return v; }
  AttrValue operator()(const VarName& v) { return v; }
  AttrValue operator()(DType) { return static_cast<DType>(choices.Below(kNumDTypes)); }
  AttrValue operator()(const Scalar&) {
    Scalar scalar;
    if (choices.Chance(50))
      scalar.value = OddInt(choices);
    else
      scalar.value = OddFloat(choices);
    return scalar;
  }
  template <typename T>
  AttrValue operator()(const T&) {
    return OddOf<T>(choices);
  }
  template <typename T>
  AttrValue operator()(const std::vector<T>& list) {
    if constexpr (std::is_same_v<T, BlockRef> || std::is_same_v<T, VarName> || std::is_same_v<T, Scalar>) {
      return list;
    } else {
      std::vector<T> values = list;
      const size_t lengths[] = {0, 1, 2, 4, static_cast<size_t>(rank), 2 * static_cast<size_t>(rank), values.size() + 1, 100};
      if (values.empty() || choices.Chance(30)) values.resize(choices.Pick(lengths), ValueOne<T>());
      if (choices.Chance(85) && !values.empty()) values[choices.Below(values.size())] = OddOf<T>(choices);
      if (choices.Chance(10)) std::fill(values.begin(), values.end(), OddOf<T>(choices));
      return values;
    }
  }
};

std::string Print(const AttrValue& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>)
          return absl::StrCat(v);
        else if constexpr (std::is_same_v<T, DType>)
          return std::string(Name(v));
        else if constexpr (std::is_same_v<T, std::vector<int64_t>> || std::is_same_v<T, std::vector<int32_t>> ||
                           std::is_same_v<T, std::vector<float>> || std::is_same_v<T, std::vector<std::string>>)
          return absl::StrCat("[", absl::StrJoin(v.size() > 12 ? absl::MakeConstSpan(v).subspan(0, 12) : absl::MakeConstSpan(v), ","),
                              v.size() > 12 ? ",..." : "", "]");
        else
          return "odd";
      },
      value);
}

int RankOf(const OddModel& model) { return model.slots.empty() || model.slots[0].empty() ? 2 : model.slots[0][0].value.rank(); }

bool OddAttr(Choices& choices, OddModel* model) {
  const std::vector<AttrDef>& attrs = model->def->attrs;
  if (attrs.empty()) return false;
  const AttrDef& def = choices.Pick(attrs);
  if (def.extra) return false;
  AttrValue value = def.value;
  std::vector<Attr>::iterator given = model->attrs.begin();
  while (given != model->attrs.end() && given->name != def.name) ++given;
  if (given != model->attrs.end()) value = given->value;
  value = std::visit(OddValue{choices, std::max(1, RankOf(*model) - static_cast<int>(choices.Below(3)))}, value);
  model->changes.push_back(absl::StrCat(def.name, "=", Print(value)));
  if (given != model->attrs.end())
    given->value = value;
  else
    model->attrs.push_back({def.name, value});
  return true;
}

Operand* AnyOperand(Choices& choices, OddModel* model, std::string* name) {
  if (model->slots.empty()) return nullptr;
  const size_t slot = choices.Below(model->slots.size());
  std::vector<Operand>& operands = model->slots[slot];
  if (operands.empty()) return nullptr;
  const size_t i = choices.Below(operands.size());
  *name = absl::StrCat(model->def->inputs[slot].name, operands.size() > 1 ? absl::StrCat("#", i) : "");
  return &operands[i];
}

bool OddElements(Choices& choices, Operand* operand, const std::string& name, OddModel* model) {
  const int64_t n = operand->value.num_elements();
  if (n == 0) return false;
  const bool all = choices.Chance(15);
  const auto first = static_cast<int64_t>(choices.Below(static_cast<size_t>(std::min<int64_t>(n, 1000))));
  const int64_t integer = OddInt(choices);
  const double real = OddFloat(choices);
  const bool floats = IsFloat(operand->value.dtype());
  for (int64_t i = all ? 0 : first; i < (all ? n : first + 1); ++i) {
    if (floats)
      SetElement(&operand->value, i, real);
    else
      SetElement(&operand->value, i, integer);
  }
  model->changes.push_back(
      absl::StrCat(name, all ? "[*]" : absl::StrCat("[", first, "]"), "=", floats ? absl::StrCat(real) : absl::StrCat(integer)));
  return true;
}

// The same elements again and again, where there are any.
HostTensor WithDims(const HostTensor& from, const std::vector<int64_t>& dims) {
  HostTensor to = *HostTensor::Create(from.dtype(), dims);
  const size_t size = SizeOf(from.dtype());
  for (int64_t i = 0; i < to.num_elements() && from.num_elements() > 0; ++i) {
    std::copy_n(from.bytes().begin() + static_cast<std::ptrdiff_t>(size * static_cast<size_t>(i % from.num_elements())), size,
                to.mutable_bytes().begin() + static_cast<std::ptrdiff_t>(size * static_cast<size_t>(i)));
  }
  return to;
}

bool OddDims(Choices& choices, Operand* operand, const std::string& name, OddModel* model) {
  std::vector<int64_t> dims(operand->value.dims().begin(), operand->value.dims().end());
  switch (choices.Below(4)) {
    case 0:
      if (dims.empty()) return false;
      dims[choices.Below(dims.size())] = 0;
      break;
    case 1:
      if (dims.empty()) return false;
      dims[choices.Below(dims.size())] += 1;
      break;
    case 2: dims.insert(dims.begin(), 1); break;
    default:
      if (dims.empty()) return false;
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(choices.Below(dims.size())));
  }
  operand->value = WithDims(operand->value, dims);
  model->changes.push_back(absl::StrCat(name, " dims ", ShapeToString(operand->value.dims())));
  return true;
}

bool OneChange(Choices& choices, OddModel* model) {
  const size_t what = choices.Below(10);
  if (what < 5 && OddAttr(choices, model)) return true;
  std::string name;
  Operand* operand = AnyOperand(choices, model, &name);
  if (operand == nullptr) return false;
  if (what < 7) return OddElements(choices, operand, name, model);
  if (what < 9) return OddDims(choices, operand, name, model);
  if (choices.Chance(50)) {
    operand->given = false;
    model->changes.push_back(absl::StrCat("no ", name));
    return true;
  }
  const DType dtype = static_cast<DType>(1 + choices.Below(kNumDTypes - 1));
  HostTensor other = *HostTensor::Create(dtype, operand->value.dims());
  for (int64_t i = 0; i < other.num_elements(); ++i) SetElement(&other, i, int64_t{i % 3});
  operand->value = std::move(other);
  model->changes.push_back(absl::StrCat(name, " ", Name(dtype)));
  return true;
}

}  // namespace

void Change(int changes, Choices& choices, OddModel* model) {
  for (int tries = 0; changes > 0 && tries < 20; ++tries) changes -= OneChange(choices, model) ? 1 : 0;
}

}  // namespace ampc::extreme
