#include "tests/compat/compare_training.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/op_def.h"
#include "graph/op_registry.h"

namespace ampc::testing {
namespace {

constexpr int kBackward = 1;
constexpr char kAbsent[] = "@EMPTY@";

template <typename List>
std::string Joined(const List& list) {
  return absl::StrCat("[", absl::StrJoin(list, ","), "]");
}

int PaddleType(DType type) {
  switch (type) {
    case DType::kBool: return 0;
    case DType::kI16: return 1;
    case DType::kI32: return 2;
    case DType::kI64: return 3;
    case DType::kF16: return 4;
    case DType::kF32: return 5;
    case DType::kF64: return 6;
    case DType::kU8: return 20;
    case DType::kI8: return 21;
    case DType::kBF16: return 22;
    default: return -1;
  }
}

std::string Text(const paddle::OpDesc_Attr& a) {
  switch (a.type()) {
    case 0: return absl::StrCat(a.i());
    case 1: return absl::StrCat(a.f());
    case 2: return a.s();
    case 3: return Joined(a.ints());
    case 4: return Joined(a.floats());
    case 5: return Joined(a.strings());
    case 6: return absl::StrCat(a.b() ? 1 : 0);
    case 9: return absl::StrCat(a.l());
    case 11: return Joined(a.longs());
    case 15: return absl::StrCat(static_cast<float>(a.float64()));
    default: return absl::StrCat("?", a.type());
  }
}

struct DefaultText {
  std::string operator()(bool v) const { return absl::StrCat(v ? 1 : 0); }
  std::string operator()(int32_t v) const { return absl::StrCat(v); }
  std::string operator()(int64_t v) const { return absl::StrCat(v); }
  std::string operator()(float v) const { return absl::StrCat(v); }
  std::string operator()(double v) const { return absl::StrCat(static_cast<float>(v)); }
  std::string operator()(const std::string& v) const { return v; }
  std::string operator()(DType v) const { return absl::StrCat(PaddleType(v)); }
  std::string operator()(const std::vector<int32_t>& v) const { return Joined(v); }
  std::string operator()(const std::vector<int64_t>& v) const { return Joined(v); }
  std::string operator()(const std::vector<float>& v) const { return Joined(v); }
  template <typename T>
  std::string operator()(const T&) const {
    return "?";
  }
};

// The attributes that mean something to the record, and the role.
std::string Attributes(const paddle::OpDesc& op) {
  std::map<std::string, std::string> out;
  std::map<std::string, std::string> given;
  for (const auto& attr : op.attrs()) given[attr.name()] = Text(attr);
  if (const OpDef* def = Ops().Find(op.type())) {
    for (const AttrDef& attr : def->attrs) {
      if (attr.extra) continue;
      const auto it = given.find(attr.name);
      out[attr.name] = it != given.end() ? it->second : std::visit(DefaultText(), attr.value);
    }
  }
  float exact = 0;  // what fill_constant writes twice
  if (out.contains("str_value") && absl::SimpleAtof(out["str_value"], &exact)) {
    out["value"] = absl::StrCat(exact);
    out["str_value"].clear();
  }
  if (out.contains("reduce_all") && out["reduce_all"] == "1") out["dim"] = "[]";
  if (op.type() == "cast") out.erase("in_dtype");  // what X has decides
  out["op_role"] = given.contains("op_role") ? given["op_role"] : "0";
  std::string text;
  for (const auto& [name, value] : out) absl::StrAppend(&text, " ", name, "=", value);
  return text;
}

int RoleOf(const paddle::OpDesc& op) {
  for (const auto& attr : op.attrs()) {
    if (attr.name() == "op_role") return attr.i();
  }
  return 0;
}

struct CanonicalOp {
  std::string key;   // equal for ops that compute the same
  std::string text;  // for people
  std::string type;
};

class Canonical {
 public:
  explicit Canonical(const paddle::ProgramDesc& program) {
    for (const paddle::VarDesc& var : program.blocks(0).vars()) {
      const paddle::TensorDesc& tensor = var.type().lod_tensor().tensor();
      types_[var.name()] = tensor.data_type();
      if (var.persistable() && var.type().type() == 7) kept_[var.name()] = absl::StrCat(tensor.data_type(), " ", Joined(tensor.dims()));
    }
    for (const paddle::OpDesc& op : program.blocks(0).ops()) Add(op);
  }

  const std::vector<CanonicalOp>& ops() const { return ops_; }
  const std::map<std::string, std::string>& kept() const { return kept_; }
  const std::set<std::pair<std::string, int>>& casts() const { return casts_; }
  // Update ops without SkipUpdate.
  const std::vector<std::string>& unconditional() const { return unconditional_; }

 private:
  std::string Read(const std::string& name) {
    const auto [it, first] = values_.try_emplace(name, name);
    return it->second;
  }
  std::string Typed(const std::string& name) {
    const std::string value = Read(name);
    return absl::StrCat(value, ":", types_.contains(name) ? types_.at(name) : -1);
  }

  void Add(const paddle::OpDesc& op) {
    if (op.type() == "feed" || op.type() == "fetch") return;
    std::map<std::string, std::string> slots;
    bool is_update = false, skips = false;
    for (const auto& slot : op.inputs()) {
      std::vector<std::string> values;
      for (const std::string& name : slot.arguments()) {
        if (name != kAbsent) values.push_back(Typed(name));
      }
      is_update = is_update || slot.parameter() == "Param";
      skips = skips || (slot.parameter() == "SkipUpdate" && !values.empty());
      if (!values.empty() && slot.parameter() != "SkipUpdate") slots[slot.parameter()] = absl::StrJoin(values, ",");
    }
    if (op.type() == "cast" || op.type() == "memcpy") {
      const std::string source = Read(op.inputs(0).arguments(0));
      const std::string& name = op.outputs(0).arguments(0);
      if (op.type() == "cast") casts_.insert({source, types_[name]});
      values_[name] = source;
      return;
    }
    std::string key = absl::StrCat(op.type(), Attributes(op));
    for (const auto& [slot, values] : slots) absl::StrAppend(&key, " ", slot, "(", values, ")");
    std::map<std::string, std::string> results;
    for (const auto& slot : op.outputs()) {
      std::vector<std::string> types;
      for (const std::string& name : slot.arguments()) {
        if (name != kAbsent) types.push_back(absl::StrCat(types_.contains(name) ? types_.at(name) : -1));
      }
      if (!types.empty()) results[slot.parameter()] = absl::StrJoin(types, ",");
    }
    for (const auto& [slot, values] : results) absl::StrAppend(&key, " ", slot, "->", values);
    absl::StrAppend(&key, RoleVars(op));
    const std::string id = absl::StrCat("#", absl::Hex(absl::HashOf(key)));
    for (const auto& slot : op.outputs()) {
      for (int i = 0; i < slot.arguments_size(); ++i) values_[slot.arguments(i)] = absl::StrCat(id, ".", slot.parameter(), ".", i);
    }
    std::vector<std::string> names;
    for (const auto& slot : op.outputs()) names.insert(names.end(), slot.arguments().begin(), slot.arguments().end());
    ops_.push_back({key, absl::StrCat("op ", ops_.size(), " ", op.type(), " -> ", absl::StrJoin(names, ", "), " {", key, "}"), op.type()});
    if (is_update && !skips) unconditional_.push_back(ops_.back().text);
  }

  // Which gradients a backward op finally writes, as the parameter and the result's place.
  std::string RoleVars(const paddle::OpDesc& op) const {
    if (RoleOf(op) != kBackward) return "";
    std::set<std::string> out;
    for (const auto& attr : op.attrs()) {
      if (attr.name() != "op_role_var") continue;
      for (int i = 0; i + 1 < attr.strings_size(); i += 2) {
        for (const auto& slot : op.outputs()) {
          for (int k = 0; k < slot.arguments_size(); ++k) {
            if (slot.arguments(k) == attr.strings(i + 1)) out.insert(absl::StrCat(attr.strings(i), "=", slot.parameter(), ".", k));
          }
        }
      }
    }
    return out.empty() ? "" : absl::StrCat(" gradients of ", absl::StrJoin(out, ","));
  }

  std::map<std::string, int> types_;
  std::map<std::string, std::string> kept_, values_;
  std::vector<CanonicalOp> ops_;
  std::set<std::pair<std::string, int>> casts_;
  std::vector<std::string> unconditional_;
};

std::string CompareLists(const std::vector<CanonicalOp>& ours, const std::vector<CanonicalOp>& theirs, const std::set<std::string>& extra) {
  std::map<std::string, std::vector<const CanonicalOp*>> left;
  for (const CanonicalOp& op : theirs) left[op.key].push_back(&op);
  const CanonicalOp* surplus = nullptr;
  for (const CanonicalOp& op : ours) {
    auto it = left.find(op.key);
    if (it != left.end()) {
      it->second.pop_back();
      if (it->second.empty()) left.erase(it);
    } else if (surplus == nullptr && !extra.contains(op.type)) {
      surplus = &op;
    }
  }
  const CanonicalOp* missing = nullptr;  // the first of the same type, else the first
  for (const CanonicalOp& op : theirs) {
    if (!left.contains(op.key)) continue;
    if (missing == nullptr || (surplus != nullptr && missing->type != surplus->type && op.type == surplus->type)) missing = &op;
  }
  if (surplus == nullptr && missing == nullptr) return "";
  return absl::StrCat("ours has\n  ", surplus == nullptr ? "nothing" : surplus->text, "\nneeded is\n  ",
                      missing == nullptr ? "nothing" : missing->text);
}

std::string CompareKept(const std::map<std::string, std::string>& ours, const std::map<std::string, std::string>& theirs) {
  for (const auto* side : {&ours, &theirs}) {
    for (const auto& [name, type] : *side) {
      if (!ours.contains(name)) return absl::StrCat("'", name, "' is not kept, needs to be");
      if (!theirs.contains(name)) return absl::StrCat("'", name, "' is kept, needs not to be");
      if (ours.at(name) != theirs.at(name)) return absl::StrCat("'", name, "' is ", ours.at(name), ", needs ", theirs.at(name));
    }
  }
  return "";
}

}  // namespace

std::string CompareTraining(const paddle::ProgramDesc& ours, const paddle::ProgramDesc& theirs) {
  const Canonical a(ours);
  const Canonical b(theirs);
  // A flag that the release made of the checks only where it read it.
  if (std::string why = CompareLists(a.ops(), b.ops(), {"concat", "reduce_any"}); !why.empty()) return why;
  if (std::string why = CompareKept(a.kept(), b.kept()); !why.empty()) return why;
  for (const auto& [source, type] : b.casts()) {
    if (!a.casts().contains({source, type})) return absl::StrCat("a cast of ", source, " to type ", type, " is missing");
  }
  const bool scaled =
      std::any_of(a.ops().begin(), a.ops().end(), [](const CanonicalOp& op) { return op.type == "check_finite_and_unscale"; });
  if (scaled && !a.unconditional().empty()) return absl::StrCat("an update is never skipped: ", a.unconditional()[0]);
  return "";
}

std::string CompareStartup(const paddle::ProgramDesc& ours, const paddle::ProgramDesc& theirs) {
  const auto list = [](const paddle::ProgramDesc& program) {
    std::vector<CanonicalOp> out;
    for (const paddle::OpDesc& op : program.blocks(0).ops()) {
      std::string key = absl::StrCat(op.type(), Attributes(op));
      for (const auto* slots : {&op.inputs(), &op.outputs()}) {
        for (const auto& slot : *slots) {
          if (slot.arguments_size() > 0) absl::StrAppend(&key, " ", slot.parameter(), "(", absl::StrJoin(slot.arguments(), ","), ")");
        }
      }
      out.push_back({key, key, op.type()});
    }
    return out;
  };
  if (std::string why = CompareLists(list(ours), list(theirs), {}); !why.empty()) return why;
  return CompareKept(Canonical(ours).kept(), Canonical(theirs).kept());
}

}  // namespace ampc::testing
