#include "tests/compat/compare.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "tests/formats/test_files.h"

namespace ampc::testing {
namespace {

constexpr int kBlockAttr = 8;          // OpDesc.Attr.type
constexpr char kAbsent[] = "@EMPTY@";  // an argument that is not there

// VarType.type of a tensor's elements; other kinds of variables count as 1000 + their kind.
int ElementType(const paddle::VarType& type) {
  switch (type.type()) {
    case 7: return type.lod_tensor().tensor().data_type();
    case 8: return type.selected_rows().data_type();
    case 13: return type.tensor_array().tensor().data_type();
    default: return 1000 + type.type();
  }
}

std::string TypeName(int type) {
  switch (type) {
    case 4: return "fp16";
    case 5: return "fp32";
    case 6: return "fp64";
    case 22: return "bf16";
    case -1: return "undeclared";
    default: return absl::StrCat("type ", type);
  }
}

struct Value {
  std::string source;  // what it is, casts looked through
  int type = -1;       // as declared
};

// An op as the comparison sees it: where it stands, and its non-empty slots.
struct Op {
  std::string where, type;
  std::map<std::string, std::vector<Value>> inputs, outputs;
};

// A program as the comparison sees it.
class View {
 public:
  explicit View(const paddle::ProgramDesc& program) : program_(program), blocks_(program.blocks_size()) {
    for (int b = 0; b < program.blocks_size(); ++b) {
      for (const paddle::VarDesc& var : program.blocks(b).vars()) {
        declared_[{b, var.name()}] = ElementType(var.type());
        if (var.persistable()) kept_.insert(var.name());
      }
    }
    if (program.blocks_size() > 0) Walk(0);
  }

  const std::vector<std::vector<Op>>& blocks() const { return blocks_; }
  const std::set<std::pair<std::string, int>>& casts() const { return casts_; }
  // Names of what is fed or kept: no op wrote it before it was read first.
  const std::set<std::string>& given() const { return given_; }
  const std::set<std::string>& kept() const { return kept_; }
  int TypeOf(const std::string& name) const {
    const auto it = declared_.find({0, name});
    return it == declared_.end() ? -1 : it->second;
  }

 private:
  using Storage = std::pair<int, std::string>;  // block and name

  Storage Resolve(int block, const std::string& name) const {
    for (int b = block; b >= 0; b = program_.blocks(b).parent_idx()) {
      if (declared_.contains({b, name})) return {b, name};
    }
    return {block, name};
  }

  Value Read(int block, const std::string& name) {
    const Storage storage = Resolve(block, name);
    const auto [it, first] = source_.try_emplace(storage, name);
    if (first) given_.insert(name);
    const auto type = declared_.find(storage);
    return {it->second, type == declared_.end() ? -1 : type->second};
  }

  template <typename Slots>
  std::map<std::string, std::vector<Value>> Operands(int block, const Slots& slots) {
    std::map<std::string, std::vector<Value>> out;
    for (const auto& slot : slots) {
      for (const std::string& name : slot.arguments()) {
        if (name != kAbsent) out[slot.parameter()].push_back(Read(block, name));
      }
    }
    return out;
  }

  void Walk(int block) {
    for (const paddle::OpDesc& desc : program_.blocks(block).ops()) {
      Op op;
      op.type = desc.type();
      op.inputs = Operands(block, desc.inputs());
      if (op.type == "cast") {
        WalkCast(block, desc, op.inputs["X"].at(0));
        continue;
      }
      const size_t index = blocks_[block].size();
      op.where = absl::StrCat("block ", block, " op ", index, " ", op.type);
      blocks_[block].push_back(op);
      for (const auto& attr : desc.attrs()) {
        if (attr.type() == kBlockAttr) Walk(attr.block_idx());
      }
      for (const auto& slot : desc.outputs()) {
        for (int i = 0; i < slot.arguments_size(); ++i) {
          const std::string& name = slot.arguments(i);
          if (name == kAbsent) continue;
          source_[Resolve(block, name)] = absl::StrCat(op.where, " ", slot.parameter(), " ", i);
          blocks_[block][index].outputs[slot.parameter()].push_back(Read(block, name));
        }
      }
    }
  }

  void WalkCast(int block, const paddle::OpDesc& desc, const Value& from) {
    for (const auto& slot : desc.outputs()) {
      for (const std::string& name : slot.arguments()) {
        source_[Resolve(block, name)] = from.source;
        casts_.insert({from.source, Read(block, name).type});
      }
    }
  }

  const paddle::ProgramDesc& program_;
  std::map<Storage, int> declared_;
  std::map<Storage, std::string> source_;  // what the name holds at the point reached
  std::vector<std::vector<Op>> blocks_;
  std::set<std::pair<std::string, int>> casts_;
  std::set<std::string> given_, kept_;
};

std::string CompareValues(const Op& op, const std::map<std::string, std::vector<Value>>& a,
                          const std::map<std::string, std::vector<Value>>& b, bool sources) {
  for (const auto* side : {&a, &b}) {
    for (const auto& [slot, values] : *side) {
      if (!a.contains(slot) || !b.contains(slot)) return absl::StrCat(op.where, ": slot ", slot, " is in one program only");
    }
  }
  for (const auto& [slot, ours] : a) {
    const std::vector<Value>& theirs = b.at(slot);
    if (ours.size() != theirs.size())
      return absl::StrCat(op.where, ": slot ", slot, " has ", ours.size(), " values, needs ", theirs.size());
    for (size_t i = 0; i < ours.size(); ++i) {
      const Value& p = ours[i];
      const Value& q = theirs[i];
      if (sources && p.source != q.source) return absl::StrCat(op.where, ": slot ", slot, " reads ", p.source, ", needs ", q.source);
      if (p.type != q.type)
        return absl::StrCat(op.where, ": slot ", slot, " (", p.source, ") is ", TypeName(p.type), ", needs ", TypeName(q.type));
    }
  }
  return "";
}

std::string CompareOps(const View& a, const View& b) {
  if (a.blocks().size() != b.blocks().size()) return absl::StrCat(a.blocks().size(), " blocks, needs ", b.blocks().size());
  for (size_t block = 0; block < a.blocks().size(); ++block) {
    const std::vector<Op>& x = a.blocks()[block];
    const std::vector<Op>& y = b.blocks()[block];
    for (size_t i = 0; i < x.size() && i < y.size(); ++i) {
      if (x[i].type != y[i].type) return absl::StrCat(x[i].where, " stands where ", y[i].type, " is needed");
      if (std::string why = CompareValues(x[i], x[i].inputs, y[i].inputs, true); !why.empty()) return why;
      if (std::string why = CompareValues(x[i], x[i].outputs, y[i].outputs, false); !why.empty()) return why;
    }
    if (x.size() != y.size()) return absl::StrCat("block ", block, ": ", x.size(), " ops, needs ", y.size());
  }
  return "";
}

std::string CompareCasts(const View& a, const View& b) {
  for (const auto& [source, type] : a.casts()) {
    if (!b.casts().contains({source, type})) return absl::StrCat("cast of ", source, " to ", TypeName(type), " is not needed");
  }
  for (const auto& [source, type] : b.casts()) {
    if (!a.casts().contains({source, type})) return absl::StrCat("cast of ", source, " to ", TypeName(type), " is missing");
  }
  return "";
}

}  // namespace

absl::StatusOr<paddle::ProgramDesc> ReadPaddleProgram(const std::string& path) {
  const std::string bytes = testing::ReadFile(path);
  paddle::ProgramDesc out;
  if (bytes.empty() || !out.ParseFromString(bytes)) return BadInputError(absl::StrCat(path, ": no Paddle program"));
  return out;
}

std::string CompareRewrites(const paddle::ProgramDesc& ours, const paddle::ProgramDesc& theirs, const std::vector<std::string>& fetches) {
  const View a(ours);
  const View b(theirs);
  if (std::string why = CompareOps(a, b); !why.empty()) return why;
  if (std::string why = CompareCasts(a, b); !why.empty()) return why;
  if (a.given() != b.given() || a.kept() != b.kept()) return "other values are fed or kept than are needed";
  std::set<std::string> names(fetches.begin(), fetches.end());
  names.insert(a.given().begin(), a.given().end());
  names.insert(a.kept().begin(), a.kept().end());
  for (const std::string& name : names) {
    const int p = a.TypeOf(name);
    const int q = b.TypeOf(name);
    if (p != q) return absl::StrCat("'", name, "' is declared ", TypeName(p), ", needs ", TypeName(q));
  }
  return "";
}

}  // namespace ampc::testing
