#include "graph/attr.h"

#include <cstring>

namespace ampc {
namespace {

template <typename T>
bool SameBits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

struct Same {
  bool operator()(float a, float b) const { return SameBits(a, b); }
  bool operator()(double a, double b) const { return SameBits(a, b); }
  bool operator()(const Scalar& a, const Scalar& b) const {
    if (const double* x = std::get_if<double>(&a.value)) {
      const double* y = std::get_if<double>(&b.value);
      return y != nullptr && SameBits(*x, *y);
    }
    return a == b;
  }
  template <typename T>
  bool operator()(const std::vector<T>& a, const std::vector<T>& b) const {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!(*this)(static_cast<const T&>(a[i]), static_cast<const T&>(b[i]))) return false;
    }
    return true;
  }
  template <typename T>
  bool operator()(const T& a, const T& b) const {
    return a == b;
  }
};

}  // namespace

bool SameAttr(const AttrValue& a, const AttrValue& b) {
  if (a.index() != b.index()) return false;
  return std::visit([&b](const auto& x) { return Same()(x, std::get<std::decay_t<decltype(x)>>(b)); }, a);
}

absl::string_view AttrTypeName(const AttrValue& value) {
  static constexpr absl::string_view kNames[] = {
      "bool",       "int",       "long",     "float",     "double",     "string",      "dtype",       "block",      "variable name",
      "scalar",     "bool list", "int list", "long list", "float list", "double list", "string list", "block list", "variable name list",
      "scalar list"};
  static_assert(std::variant_size_v<AttrValue> == sizeof(kNames) / sizeof(kNames[0]));
  return kNames[value.index()];
}

}  // namespace ampc
