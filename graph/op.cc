#include "graph/op.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/size.h"

namespace ampc {
namespace {

// A file may write a number in a type that the record does not have.
template <typename T, typename V>
T NumberAs(V v) {
  if constexpr (std::is_same_v<T, int64_t> && std::is_floating_point_v<V>)
    return SatInt(v);
  else
    return static_cast<T>(v);
}

// Reads a numeric attribute, or every element of a numeric list, as T.
template <typename T>
struct ToNumber {
  std::vector<T> out;
  template <typename V>
  void operator()(const V& v) {
    if constexpr (std::is_arithmetic_v<V>) {
      out.push_back(NumberAs<T>(v));
    } else if constexpr (std::is_same_v<V, Scalar>) {
      std::visit(
          [this](const auto& s) {
            if constexpr (std::is_arithmetic_v<std::decay_t<decltype(s)>>) out.push_back(NumberAs<T>(s));
          },
          v.value);
    }
  }
  template <typename V>
  void operator()(const std::vector<V>& v) {
    for (const auto& x : v) (*this)(static_cast<const V&>(x));
  }
};

template <typename T>
std::vector<T> Numbers(const AttrValue* value) {
  ToNumber<T> read;
  if (value != nullptr) std::visit(read, *value);
  return std::move(read.out);
}

template <typename T>
T Number(const AttrValue* value, T fallback) {
  if (value == nullptr) return fallback;
  const auto read = [fallback](const auto& v) {
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(v)>>) return NumberAs<T>(v);
    return fallback;
  };
  const Scalar* scalar = std::get_if<Scalar>(value);
  return scalar == nullptr ? std::visit(read, *value) : std::visit(read, scalar->value);
}

}  // namespace

Op::Op(Block* block, int id, const OpDef* def) : block_(block), def_(def), ends_(def->inputs.size() + def->outputs.size(), 0), id_(id) {}

void Op::SetSlot(int s, absl::Span<Var* const> vars) {
  const int begin = s == 0 ? 0 : ends_[s - 1];
  const int old = ends_[s] - begin;
  const int delta = static_cast<int>(vars.size()) - old;
  absl::InlinedVector<Var*, 4> copy;
  if (delta != 0 && vars.data() >= vars_.data() &&
      vars.data() < vars_.data() + vars_.size()) {  // they are the op's own, and about to be moved
    copy.assign(vars.begin(), vars.end());
    vars = copy;
  }
  if (delta > 0) {
    vars_.resize(vars_.size() + delta);
    std::move_backward(vars_.begin() + begin, vars_.end() - delta, vars_.end());
  }
  if (delta < 0) vars_.erase(vars_.begin() + begin, vars_.begin() + begin - delta);
  std::copy(vars.begin(), vars.end(), vars_.begin() + begin);
  for (size_t i = s; delta != 0 && i < ends_.size(); ++i) ends_[i] += delta;
  begin_ = vars_.data();
  (s < num_input_slots() ? num_inputs_ : num_outputs_) += delta;
}

Var* Op::input(absl::string_view slot) const {
  const int s = def_->InputSlot(slot);
  return s < 0 ? nullptr : input(s);
}

Var* Op::output(absl::string_view slot) const {
  const int s = def_->OutputSlot(slot);
  return s < 0 ? nullptr : output(s);
}

const AttrValue* Op::explicit_attr(absl::string_view name) const {
  for (const Attr& a : attrs_) {
    if (a.name == name) return &a.value;
  }
  return nullptr;
}

const AttrValue* Op::attr(absl::string_view name) const {
  if (const AttrValue* value = explicit_attr(name)) return value;
  const AttrDef* def = def_->FindAttr(name);
  return def == nullptr || def->required ? nullptr : &def->value;
}

void Op::SetAttr(absl::string_view name, AttrValue value) {
  may_have_blocks_ = may_have_blocks_ || std::holds_alternative<BlockRef>(value) || std::holds_alternative<std::vector<BlockRef>>(value);
  for (Attr& a : attrs_) {
    if (a.name == name) {
      a.value = std::move(value);
      return;
    }
  }
  attrs_.push_back({std::string(name), std::move(value)});
}

void Op::RemoveAttr(absl::string_view name) {
  std::erase_if(attrs_, [name](const Attr& a) { return a.name == name; });
}

bool Op::GetBool(absl::string_view name, bool fallback) const { return Number<int64_t>(attr(name), fallback ? 1 : 0) != 0; }

int64_t Op::GetInt(absl::string_view name, int64_t fallback) const { return Number<int64_t>(attr(name), fallback); }

double Op::GetFloat(absl::string_view name, double fallback) const { return Number<double>(attr(name), fallback); }

std::string Op::GetString(absl::string_view name, absl::string_view fallback) const {
  const AttrValue* value = attr(name);
  const std::string* s = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return s == nullptr ? std::string(fallback) : *s;
}

std::vector<int64_t> Op::GetInts(absl::string_view name) const { return Numbers<int64_t>(attr(name)); }

std::vector<double> Op::GetFloats(absl::string_view name) const { return Numbers<double>(attr(name)); }

DType Op::GetDType(absl::string_view name, DType fallback) const {
  const AttrValue* value = attr(name);
  const DType* t = value == nullptr ? nullptr : std::get_if<DType>(value);
  return t == nullptr ? fallback : *t;
}

std::vector<int> Op::FindSubBlocks() const {
  std::vector<int> blocks;
  for (const Attr& a : attrs_) {
    if (const BlockRef* b = std::get_if<BlockRef>(&a.value)) blocks.push_back(b->index);
    if (const auto* list = std::get_if<std::vector<BlockRef>>(&a.value)) {
      for (const BlockRef& b : *list) blocks.push_back(b.index);
    }
  }
  return blocks;
}

std::string Describe(const Op& op) {
  std::string out = op.line > 0 ? absl::StrCat(op.line, ": ") : "";
  absl::StrAppend(&out, "op '", (op.lowered_from != nullptr ? *op.lowered_from : op.def()).operator_name, "'");
  if (!op.outputs().empty()) absl::StrAppend(&out, " -> '", op.outputs()[0]->name(), "'");
  return out;
}

}  // namespace ampc
