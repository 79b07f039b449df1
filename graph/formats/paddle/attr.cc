#include "graph/formats/paddle/attr.h"

#include <string>
#include <type_traits>
#include <utility>

#include "graph/formats/paddle/types.h"

namespace ampc::paddle {
namespace {

enum AttrType : int32_t {
  kInt = 0,
  kFloat = 1,
  kString = 2,
  kInts = 3,
  kFloats = 4,
  kStrings = 5,
  kBoolean = 6,
  kBooleans = 7,
  kBlock = 8,
  kLong = 9,
  kBlocks = 10,
  kLongs = 11,
  kFloat64s = 12,
  kVar = 13,
  kVars = 14,
  kFloat64 = 15,
  kScalar = 16,
  kScalars = 17,
};

// Scalar.type
enum ScalarType : int32_t { kScalarBool = 1, kScalarLong = 2, kScalarDouble = 3, kScalarComplex = 4 };

template <typename T, typename Repeated>
std::vector<T> List(const Repeated& values) {
  std::vector<T> out;
  out.reserve(values.size());
  for (const auto& v : values) out.push_back(T{v});
  return out;
}

ampc::Scalar ImportScalar(const Scalar& scalar) {
  switch (scalar.type()) {
    case kScalarBool: return {scalar.b()};
    case kScalarLong: return {scalar.i()};
    case kScalarComplex: return {std::complex<double>(scalar.c().r(), scalar.c().i())};
    default: return {scalar.r()};
  }
}

void ExportScalar(const ampc::Scalar& from, Scalar* to) {
  if (const bool* b = std::get_if<bool>(&from.value)) {
    to->set_type(kScalarBool);
    to->set_b(*b);
  } else if (const int64_t* i = std::get_if<int64_t>(&from.value)) {
    to->set_type(kScalarLong);
    to->set_i(*i);
  } else if (const double* r = std::get_if<double>(&from.value)) {
    to->set_type(kScalarDouble);
    to->set_r(*r);
  } else {
    const auto& c = std::get<std::complex<double>>(from.value);
    to->set_type(kScalarComplex);
    to->mutable_c()->set_r(c.real());
    to->mutable_c()->set_i(c.imag());
  }
}

bool ValidScalar(const Scalar& s) { return s.type() >= kScalarBool && s.type() <= kScalarComplex; }

// The value with the type that the file gives it; nullopt for an unknown type number.
std::optional<AttrValue> RawValue(const OpDesc_Attr& a) {
  switch (a.type()) {
    case kInt: return a.i();
    case kFloat: return a.f();
    case kString: return a.s();
    case kInts: return List<int32_t>(a.ints());
    case kFloats: return List<float>(a.floats());
    case kStrings: return List<std::string>(a.strings());
    case kBoolean: return a.b();
    case kBooleans: return std::vector<bool>(a.bools().begin(), a.bools().end());
    case kBlock: return BlockRef{a.block_idx()};
    case kLong: return a.l();
    case kBlocks: return List<BlockRef>(a.blocks_idx());
    case kLongs: return List<int64_t>(a.longs());
    case kFloat64s: return List<double>(a.float64s());
    case kVar: return VarName{a.var_name()};
    case kVars: return List<VarName>(a.vars_name());
    case kFloat64: return a.float64();
    case kScalar:
      if (!ValidScalar(a.scalar())) return std::nullopt;
      return ImportScalar(a.scalar());
    case kScalars: {
      std::vector<ampc::Scalar> list;
      for (const Scalar& s : a.scalars()) {
        if (!ValidScalar(s)) return std::nullopt;
        list.push_back(ImportScalar(s));
      }
      return list;
    }
    default: return std::nullopt;
  }
}

// A scalar as the plain number that a record declares; unchanged when it has no such form.
AttrValue PlainNumber(const ampc::Scalar& scalar, const AttrValue& want) {
  const auto convert = [&scalar](auto target) -> AttrValue {
    using T = decltype(target);
    if (const bool* b = std::get_if<bool>(&scalar.value)) return static_cast<T>(*b);
    if (const int64_t* i = std::get_if<int64_t>(&scalar.value)) return static_cast<T>(*i);
    if (const double* d = std::get_if<double>(&scalar.value)) return static_cast<T>(*d);
    return scalar;
  };
  if (std::holds_alternative<bool>(want)) return convert(bool());
  if (std::holds_alternative<float>(want)) return convert(float());
  if (std::holds_alternative<double>(want)) return convert(double());
  if (std::holds_alternative<int64_t>(want) && std::holds_alternative<int64_t>(scalar.value)) return convert(int64_t());
  return scalar;
}

struct Exporter {
  OpDesc_Attr* a;

  void operator()(int32_t v) const {
    a->set_type(kInt);
    a->set_i(v);
  }
  void operator()(DType v) const {
    a->set_type(kInt);
    a->set_i(NumberOfDType(v));
  }
  void operator()(float v) const {
    a->set_type(kFloat);
    a->set_f(v);
  }
  void operator()(const std::string& v) const {
    a->set_type(kString);
    a->set_s(v);
  }
  void operator()(bool v) const {
    a->set_type(kBoolean);
    a->set_b(v);
  }
  void operator()(const BlockRef& v) const {
    a->set_type(kBlock);
    a->set_block_idx(v.index);
  }
  void operator()(int64_t v) const {
    a->set_type(kLong);
    a->set_l(v);
  }
  void operator()(double v) const {
    a->set_type(kFloat64);
    a->set_float64(v);
  }
  void operator()(const VarName& v) const {
    a->set_type(kVar);
    a->set_var_name(v.name);
  }
  void operator()(const ampc::Scalar& v) const {
    a->set_type(kScalar);
    ExportScalar(v, a->mutable_scalar());
  }
  template <typename T>
  void operator()(const std::vector<T>& list) const {
    a->set_type(ListType<T>());
    for (const auto& v : list) Add(static_cast<const T&>(v));
  }

 private:
  template <typename T>
  static constexpr int32_t ListType() {
    if (std::is_same_v<T, int32_t>) return kInts;
    if (std::is_same_v<T, float>) return kFloats;
    if (std::is_same_v<T, std::string>) return kStrings;
    if (std::is_same_v<T, bool>) return kBooleans;
    if (std::is_same_v<T, BlockRef>) return kBlocks;
    if (std::is_same_v<T, int64_t>) return kLongs;
    if (std::is_same_v<T, double>) return kFloat64s;
    if (std::is_same_v<T, VarName>) return kVars;
    return kScalars;
  }
  void Add(int32_t v) const { a->add_ints(v); }
  void Add(float v) const { a->add_floats(v); }
  void Add(const std::string& v) const { a->add_strings(v); }
  void Add(bool v) const { a->add_bools(v); }
  void Add(const BlockRef& v) const { a->add_blocks_idx(v.index); }
  void Add(int64_t v) const { a->add_longs(v); }
  void Add(double v) const { a->add_float64s(v); }
  void Add(const VarName& v) const { a->add_vars_name(v.name); }
  void Add(const ampc::Scalar& v) const { ExportScalar(v, a->add_scalars()); }
};

// Paddle gives an empty list whatever list type its writer had at hand. True when `value` was one and is now one of `want`'s type.
bool RetypeEmptyList(const AttrValue& want, AttrValue* value) {
  const auto is_list = [](const AttrValue& v, bool only_empty) {
    return std::visit(
        [only_empty](const auto& x) {
          if constexpr (requires { x.size(); } && !std::is_same_v<std::decay_t<decltype(x)>, std::string>) return !only_empty || x.empty();
          return false;
        },
        v);
  };
  if (!is_list(*value, true) || !is_list(want, false)) return false;
  *value = want;
  std::visit(
      [](auto& x) {
        if constexpr (requires { x.clear(); }) x.clear();
      },
      *value);
  return true;
}

// The first of each pair of alternatives that may stand for each other.
size_t Family(const AttrValue& value) {
  static_assert(std::is_same_v<std::variant_alternative_t<1, AttrValue>, int32_t> &&
                std::is_same_v<std::variant_alternative_t<2, AttrValue>, int64_t>);
  static_assert(std::is_same_v<std::variant_alternative_t<11, AttrValue>, std::vector<int32_t>>);
  switch (value.index()) {
    case 2: return 1;    // long -> int
    case 4: return 3;    // double -> float
    case 12: return 11;  // long list -> int list
    case 14: return 13;  // double list -> float list
    default: return value.index();
  }
}

}  // namespace

bool StaysInOrigin(absl::string_view attr) { return attr == "op_callstack"; }

bool IsBlocks(const OpDesc_Attr& attr) { return attr.type() == kBlock || attr.type() == kBlocks; }

std::vector<int> BlocksOf(const OpDesc_Attr& attr) {
  if (attr.type() == kBlock) return {attr.block_idx()};
  return {attr.blocks_idx().begin(), attr.blocks_idx().end()};
}

bool SameFamily(const AttrValue& have, const AttrValue& want) { return Family(have) == Family(want); }

std::optional<AttrValue> ImportAttr(const OpDesc_Attr& attr, const AttrDef* def) {
  std::optional<AttrValue> value = RawValue(attr);
  if (def == nullptr || !value.has_value()) return value;
  if (std::holds_alternative<DType>(def->value)) {
    const int32_t* number = std::get_if<int32_t>(&*value);
    if (number == nullptr) return std::nullopt;
    if (*number == -1) return DType::kInvalid;
    const std::optional<DType> dtype = DTypeOfNumber(*number);
    if (!dtype.has_value()) return std::nullopt;
    return *dtype;
  }
  if (const ampc::Scalar* scalar = std::get_if<ampc::Scalar>(&*value)) value = PlainNumber(*scalar, def->value);
  if (!SameFamily(*value, def->value) && !RetypeEmptyList(def->value, &*value)) return std::nullopt;
  return value;
}

void ExportAttr(const AttrValue& value, OpDesc_Attr* attr) {
  const std::string name = attr->name();
  attr->Clear();
  attr->set_name(name);
  std::visit(Exporter{attr}, value);
}

}  // namespace ampc::paddle
