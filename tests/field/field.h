// A model as text, converted by the command line and held to what every conversion has to keep.
#pragma once

#include <string>
#include <vector>

#include "proto/onnx.pb.h"
#include "tests/e2e/cli.h"

namespace ampc::testing {

struct Conversion {
  std::string dtype = "fp16";
  std::vector<std::string> options = {};
  bool runs = true;  // ampc executes it
  bool near = true;  // and what it gives is near to the original's
};

// A converted model.
class Converted {
 public:
  Converted() = default;
  explicit Converted(onnx::ModelProto model) : model_(std::move(model)) {}
  const onnx::ModelProto& model() const { return model_; }
  // "y = Resize(a, , , sizes)": the node that gives `result`, in whatever graph; "" for none.
  std::string Line(const std::string& result) const;
  // Element type of an initializer by ONNX's number, 0 for none.
  int TypeOf(const std::string& initializer) const;
  // The inserted casts of all graphs in their order: "x -> x.f16 a -> a.f32".
  std::string Casts() const;

 private:
  onnx::ModelProto model_;
};

class FieldTest : public CliTest {
 protected:
  // Converts the model of that text (tests/formats/onnx/model_text.h) and expects
  // - that the result is well formed: it loads and verifies; nodes come behind what they read, where the original's do; operands have
  //   the types that the operator's version allows, and those of one type variable the same; values are what the file declares;
  // - casts as few as can be: none to the type that a value has, none of a cast that was inserted, none twice, none that nothing
  //   reads; their nodes have names of their own;
  // - the graph's outputs as they were, and its inputs where none is an initializer as well;
  // - that both run and give the same but for rounding (tests/testlib/model_tolerance.h);
  // - that a second conversion gives the same bytes, and strip the original's.
  // Values of the feeds are small; integers are 0, 1, 2 in turn, what is bool is true at odd places.
  Converted Converts(const std::string& text, const Conversion& conversion = {}) const;

 private:
  void WriteFeeds(const onnx::GraphProto& graph) const;
  void ExpectNear(const onnx::GraphProto& graph, const Conversion& conversion) const;
};

// A row of a family's table: a model, which is converted to fp16 and to bf16, and what stands in its conversion to fp16.
struct FieldModel {
  std::string name;
  std::string text;
  std::vector<std::string> lines = {};           // "y = Relu(a)", as Converted::Line gives them
  std::vector<std::string> full = {}, low = {};  // initializers that are f32, and f16
};
class FieldModelTest : public FieldTest, public ::testing::WithParamInterface<FieldModel> {};
inline std::string NameOfFieldModel(const ::testing::TestParamInfo<FieldModel>& info) { return info.param.name; }

// The graph and those in it, depth first in the order of the file.
std::vector<const onnx::GraphProto*> GraphsOf(const onnx::ModelProto& model);
// The faults in the form of `path`, which holds `model`: one line each, "" for none.
std::string FaultsOf(const onnx::ModelProto& model, const std::string& path, bool sorted);

}  // namespace ampc::testing
