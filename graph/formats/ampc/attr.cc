#include <type_traits>

#include "graph/formats/ampc/encode.h"

namespace ampc {
namespace {

void EncodeScalar(const Scalar& from, proto::Scalar* to) {
  if (const bool* b = std::get_if<bool>(&from.value)) {
    to->set_b(*b);
  } else if (const int64_t* i = std::get_if<int64_t>(&from.value)) {
    to->set_i(*i);
  } else if (const double* d = std::get_if<double>(&from.value)) {
    to->set_d(*d);
  } else {
    const auto& c = std::get<std::complex<double>>(from.value);
    to->mutable_c()->set_re(c.real());
    to->mutable_c()->set_im(c.imag());
  }
}

Scalar DecodeScalar(const proto::Scalar& from) {
  switch (from.value_case()) {
    case proto::Scalar::kB: return {from.b()};
    case proto::Scalar::kI: return {from.i()};
    case proto::Scalar::kC: return {std::complex<double>(from.c().re(), from.c().im())};
    default: return {from.d()};
  }
}

struct Encoder {
  proto::Attr* to;

  void operator()(bool v) const { to->set_b(v); }
  void operator()(int32_t v) const { to->set_i(v); }
  void operator()(int64_t v) const { to->set_l(v); }
  void operator()(float v) const { to->set_f(v); }
  void operator()(double v) const { to->set_d(v); }
  void operator()(const std::string& v) const { to->set_s(v); }
  void operator()(DType v) const { to->set_dtype(static_cast<proto::DType>(v)); }
  void operator()(const BlockRef& v) const { to->set_block(v.index); }
  void operator()(const VarName& v) const { to->set_var_name(v.name); }
  void operator()(const Scalar& v) const { EncodeScalar(v, to->mutable_scalar()); }
  void operator()(const std::vector<bool>& v) const { Fill(v, to->mutable_bools()); }
  void operator()(const std::vector<int32_t>& v) const { Fill(v, to->mutable_ints()); }
  void operator()(const std::vector<int64_t>& v) const { Fill(v, to->mutable_longs()); }
  void operator()(const std::vector<float>& v) const { Fill(v, to->mutable_floats()); }
  void operator()(const std::vector<double>& v) const { Fill(v, to->mutable_doubles()); }
  void operator()(const std::vector<std::string>& v) const { Fill(v, to->mutable_strings()); }
  void operator()(const std::vector<BlockRef>& v) const {
    auto* list = to->mutable_blocks();
    for (const BlockRef& block : v) list->add_v(block.index);
  }
  void operator()(const std::vector<VarName>& v) const {
    auto* list = to->mutable_var_names();
    for (const VarName& var : v) list->add_v(var.name);
  }
  void operator()(const std::vector<Scalar>& v) const {
    auto* list = to->mutable_scalars();
    for (const Scalar& s : v) EncodeScalar(s, list->add_v());
  }

 private:
  template <typename V, typename List>
  static void Fill(const V& values, List* list) {
    for (const auto& v : values) list->add_v(v);
  }
};

template <typename T, typename List>
std::vector<T> Values(const List& list) {
  std::vector<T> out;
  out.reserve(list.v_size());
  for (const auto& v : list.v()) out.push_back(T{v});
  return out;
}

}  // namespace

void EncodeAttr(const AttrValue& value, proto::Attr* to) { std::visit(Encoder{to}, value); }

bool DecodeAttr(const proto::Attr& from, AttrValue* to) {
  switch (from.value_case()) {
    case proto::Attr::kB: return *to = from.b(), true;
    case proto::Attr::kI: return *to = from.i(), true;
    case proto::Attr::kL: return *to = from.l(), true;
    case proto::Attr::kF: return *to = from.f(), true;
    case proto::Attr::kD: return *to = from.d(), true;
    case proto::Attr::kS: return *to = from.s(), true;
    case proto::Attr::kDtype: return *to = static_cast<DType>(from.dtype()), true;
    case proto::Attr::kBlock: return *to = BlockRef{from.block()}, true;
    case proto::Attr::kVarName: return *to = VarName{from.var_name()}, true;
    case proto::Attr::kScalar: return *to = DecodeScalar(from.scalar()), true;
    case proto::Attr::kBools: return *to = Values<bool>(from.bools()), true;
    case proto::Attr::kInts: return *to = Values<int32_t>(from.ints()), true;
    case proto::Attr::kLongs: return *to = Values<int64_t>(from.longs()), true;
    case proto::Attr::kFloats: return *to = Values<float>(from.floats()), true;
    case proto::Attr::kDoubles: return *to = Values<double>(from.doubles()), true;
    case proto::Attr::kStrings: return *to = Values<std::string>(from.strings()), true;
    case proto::Attr::kBlocks: return *to = Values<BlockRef>(from.blocks()), true;
    case proto::Attr::kVarNames: return *to = Values<VarName>(from.var_names()), true;
    case proto::Attr::kScalars: {
      std::vector<Scalar> list;
      for (const proto::Scalar& s : from.scalars().v()) list.push_back(DecodeScalar(s));
      *to = std::move(list);
      return true;
    }
    case proto::Attr::VALUE_NOT_SET: break;
  }
  return false;
}

}  // namespace ampc
