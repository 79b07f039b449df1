#include "graph/attr_hash.h"

#include <complex>
#include <string>
#include <type_traits>
#include <vector>

namespace ampc {
namespace {

struct Mixer {
  Hash& hash;
  template <typename T>
  void operator()(const T& v) {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
      uint64_t bits = 0;
      std::memcpy(&bits, &v, sizeof(v));
      hash.Word(bits);
    } else if constexpr (std::is_same_v<T, std::string>) {
      hash.Bytes(v);
    } else if constexpr (std::is_same_v<T, BlockRef>) {
      hash.Word(static_cast<uint64_t>(v.index));
    } else if constexpr (std::is_same_v<T, VarName>) {
      hash.Bytes(v.name);
    } else if constexpr (std::is_same_v<T, std::complex<double>>) {
      (*this)(v.real());
      (*this)(v.imag());
    } else if constexpr (std::is_same_v<T, Scalar>) {
      hash.Word(v.value.index());
      std::visit(*this, v.value);
    } else {
      hash.Word(static_cast<uint64_t>(v));
    }
  }
  template <typename T>
  void operator()(const std::vector<T>& list) {
    hash.Word(list.size());
    for (const auto& v : list) (*this)(static_cast<const T&>(v));
  }
};

}  // namespace

void HashAttr(const AttrValue& value, Hash& hash) { std::visit(Mixer{hash}, value); }

}  // namespace ampc
