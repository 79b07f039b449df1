// Operands and attributes that do not fit: the standard's node models with another rank, dim or type of one operand, or another number in
// one attribute. Each is read or refused; what is said of it names what the file has.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"
#include "graph/base/memory_files.h"
#include "graph/formats/format.h"
#include "graph/op_registry.h"
#include "graph/ops/onnx/schema.h"
#include "graph/verify.h"
#include "proto/onnx.pb.h"
#include "tests/formats/test_files.h"
#include "tests/onnx/conformance_model.h"

namespace ampc::testing {
namespace {

using onnx::ModelProto;

constexpr char kData[] = "/usr/share/libonnx-testdata/data/node";

absl::Status Read(const ModelProto& model) {
  const std::string bytes = model.SerializeAsString();
  MemoryFiles files;
  files.Add("m.onnx", {std::as_bytes(std::span(bytes)), nullptr});
  const MemoryFiles::Scope scope(&files);
  absl::StatusOr<Program> program = LoadModel("m.onnx");
  return program.ok() ? Verify(*program) : program.status();
}

void ForEachMisfit(const ModelProto& model, const std::function<void(const ModelProto&)>& use) {
  ModelProto other = model;
  for (onnx::ValueInfoProto& output : *other.mutable_graph()->mutable_output()) {
    if (output.type().has_tensor_type()) output.mutable_type()->mutable_tensor_type()->clear_shape();
  }
  for (int i = 0; i < model.graph().input_size(); ++i) {
    if (!model.graph().input(i).type().has_tensor_type()) continue;
    auto* const type = other.mutable_graph()->mutable_input(i)->mutable_type()->mutable_tensor_type();
    const auto had = *type;
    std::vector<int64_t> dims, larger;
    for (const auto& dim : had.shape().dim()) {
      dims.push_back(dim.dim_value());
      larger.push_back(dim.dim_value() + 1);
    }
    std::vector<std::vector<int64_t>> shapes = {{}, dims, larger};
    shapes[1].push_back(3);
    if (!dims.empty()) shapes.emplace_back(dims.begin(), dims.end() - 1);
    if (!dims.empty()) shapes.emplace_back(dims.begin() + 1, dims.end());
    for (const std::vector<int64_t>& shape : shapes) {
      type->mutable_shape()->clear_dim();
      for (const int64_t dim : shape) type->mutable_shape()->add_dim()->set_dim_value(dim);
      use(other);
    }
    *type = had;
    for (const int number : {1, 7, 9}) {
      type->set_elem_type(number);
      use(other);
    }
    *type = had;
  }
  for (onnx::AttributeProto& attr : *other.mutable_graph()->mutable_node(0)->mutable_attribute()) {
    const onnx::AttributeProto had = attr;
    if (had.has_i()) {
      for (const int64_t number : {-99, 0, 99}) {
        attr.set_i(number);
        use(other);
      }
    }
    if (had.ints_size() > 0) {
      attr.add_ints(1);
      use(other);
      attr.mutable_ints()->Truncate(had.ints_size() - 1);
      use(other);
      for (int64_t& number : *attr.mutable_ints()) number = -99;
      use(other);
    }
    attr = had;
  }
}

// Slots of native ops begin with a capital letter.
const std::set<std::string>& NativeSlots() {
  static const auto& slots = *new std::set<std::string>([] {
    std::set<std::string> names;
    for (const OpDef* def : Ops().All()) {
      for (const SlotDef& slot : def->inputs) {
        if (absl::ascii_isupper(slot.name[0]) && def->operator_name == def->name) names.insert(slot.name);
      }
    }
    return names;
  }());
  return slots;
}

// Names of another language in a sentence, but for what stands in quotes.
std::string ForeignName(const std::string& sentence, const onnx::NodeProto& node) {
  std::set<std::string> own;
  for (const onnx::Schema& schema : onnx::Schemas()) {
    if (schema.type != node.op_type()) continue;
    for (const onnx::Formal& formal : schema.inputs) own.insert(formal.name);
    for (const onnx::Formal& formal : schema.outputs) own.insert(formal.name);
  }
  const std::vector<std::string> parts = absl::StrSplit(sentence, '\'');
  for (size_t i = 0; i < parts.size(); i += 2) {
    for (const std::string& word : std::vector<std::string>(absl::StrSplit(parts[i], absl::ByAnyChar(" ,:.;()[]")))) {
      if (word == "paddings" || word == "groups" || (NativeSlots().contains(word) && !own.contains(word))) return word;
    }
  }
  return "";
}

TEST(Misfit, IsReadOrRefusedInTheWordsOfTheFile) {
  const std::vector<std::string> folders = ConformanceModels(kData);
  if (folders.empty()) GTEST_SKIP() << kData << " is not installed";
  int refused = 0;
  for (const std::string& folder : folders) {
    ModelProto model;
    ASSERT_TRUE(model.ParseFromString(ReadFile(absl::StrCat(folder, "/model.onnx"))));
    if (model.graph().node_size() != 1 || !model.graph().node(0).domain().empty()) continue;
    ForEachMisfit(model, [&](const ModelProto& misfit) {
      const absl::Status status = Read(misfit);
      if (status.ok()) return;
      ++refused;
      const std::string sentence(status.message());
      EXPECT_TRUE(ExitCodeOf(status) == ExitCode::kBadInput || ExitCodeOf(status) == ExitCode::kUnsupported) << folder << ": " << sentence;
      EXPECT_EQ(ForeignName(sentence, misfit.graph().node(0)), "") << folder << ": " << sentence;
      EXPECT_EQ(sentence.find('\n'), std::string::npos) << folder << ": " << sentence;
    });
  }
  EXPECT_GT(refused, 5000);
}

}  // namespace
}  // namespace ampc::testing
