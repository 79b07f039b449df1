#include "tests/field/field.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/dtype.h"
#include "graph/base/half.h"
#include "graph/ops/onnx/dtype_number.h"
#include "tests/formats/onnx/model_text.h"
#include "tests/testlib/model_tolerance.h"

namespace ampc::testing {
namespace {

constexpr int64_t kOpenDim = 4;

HostTensor Feed(const onnx::ValueInfoProto& info) {
  const onnx::TypeProto::Tensor& type = info.type().tensor_type();
  std::vector<int64_t> dims;
  for (const auto& dim : type.shape().dim()) dims.push_back(dim.dim_value() > 0 ? dim.dim_value() : kOpenDim);
  absl::StatusOr<HostTensor> made = HostTensor::Create(onnx::DTypeOfNumber(type.elem_type()), dims);
  if (!made.ok()) return HostTensor();
  HostTensor tensor = *std::move(made);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    const float value = static_cast<float>((i * 7 + 3) % 11 - 5) / 4;
    switch (tensor.dtype()) {
      case DType::kF32: tensor.mutable_values<float>()[i] = value; break;
      case DType::kF16: tensor.mutable_values<Half>()[i] = Half(value); break;
      case DType::kI64: tensor.mutable_values<int64_t>()[i] = i % 3; break;
      case DType::kBool: tensor.mutable_values<bool>()[i] = dims.empty() || i % 2 == 1; break;
      default: ADD_FAILURE() << "no feed of " << Name(tensor.dtype());
    }
  }
  return tensor;
}

std::vector<double> Values(const HostTensor& tensor) {
  std::vector<double> out(tensor.num_elements());
  for (size_t i = 0; i < out.size(); ++i) {
    switch (tensor.dtype()) {
      case DType::kF32: out[i] = tensor.values<float>()[i]; break;
      case DType::kF16: out[i] = static_cast<float>(tensor.values<Half>()[i]); break;
      case DType::kF64: out[i] = tensor.values<double>()[i]; break;
      case DType::kI64: out[i] = static_cast<double>(tensor.values<int64_t>()[i]); break;
      case DType::kI32: out[i] = tensor.values<int32_t>()[i]; break;
      case DType::kBool: out[i] = tensor.values<bool>()[i]; break;
      default: ADD_FAILURE() << "no look at " << Name(tensor.dtype());
    }
  }
  return out;
}

// Inputs and initializers, one that is both counted once.
int NamesOf(const onnx::GraphProto& graph) {
  std::set<std::string> names;
  for (const auto& input : graph.input()) names.insert(input.name());
  for (const auto& tensor : graph.initializer()) names.insert(tensor.name());
  return static_cast<int>(names.size());
}

}  // namespace

std::string Converted::Line(const std::string& result) const {
  for (const onnx::GraphProto* graph : GraphsOf(model_)) {
    for (const auto& node : graph->node()) {
      if (std::find(node.output().begin(), node.output().end(), result) == node.output().end()) continue;
      return absl::StrCat(absl::StrJoin(node.output(), ", "), " = ", node.op_type(), "(", absl::StrJoin(node.input(), ", "), ")");
    }
  }
  return "";
}

int Converted::TypeOf(const std::string& initializer) const {
  for (const onnx::GraphProto* graph : GraphsOf(model_)) {
    for (const auto& tensor : graph->initializer()) {
      if (tensor.name() == initializer) return tensor.data_type();
    }
  }
  return 0;
}

std::string Converted::Casts() const {
  std::string out;
  for (const onnx::GraphProto* graph : GraphsOf(model_)) {
    for (const auto& node : graph->node()) {
      if (absl::StartsWith(node.name(), "ampc/")) absl::StrAppend(&out, out.empty() ? "" : " ", node.input(0), " -> ", node.output(0));
    }
  }
  return out;
}

void FieldTest::WriteFeeds(const onnx::GraphProto& graph) const {
  std::map<std::string, HostTensor> feeds;
  for (const auto& info : graph.input()) feeds[info.name()] = Feed(info);
  for (const auto& tensor : graph.initializer()) feeds.erase(tensor.name());
  WriteArchive("in.npz", feeds);
}

void FieldTest::ExpectNear(const onnx::GraphProto& graph, const Conversion& conversion) const {
  const Outcome before = Ampc({"run", "m.onnx", "--input", "in.npz", "-o", "before.npz"}),
                after = Ampc({"run", "low.onnx", "--input", "in.npz", "-o", "after.npz"});
  ASSERT_EQ(before.code, 0) << before.err;
  ASSERT_EQ(after.code, 0) << after.err;
  const std::map<std::string, HostTensor> want = ReadArchive("before.npz"), got = ReadArchive("after.npz");
  const double tolerance = FieldModelTolerance(conversion.dtype == "fp16" ? DType::kF16 : DType::kBF16);
  for (const auto& output : graph.output()) {
    const HostTensor &a = want.at(output.name()), &b = got.at(output.name());
    ASSERT_EQ(a.dtype(), b.dtype()) << output.name();
    ASSERT_EQ(a.dims(), b.dims()) << output.name();
    const std::vector<double> x = Values(a), y = Values(b);
    double largest = 0;
    for (const double value : x) largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : largest;
    for (size_t i = 0; conversion.near && i < x.size(); ++i) {
      if (std::isfinite(x[i])) {
        ASSERT_LE(std::abs(x[i] - y[i]), tolerance * largest) << output.name() << " " << i << ": " << x[i] << " became " << y[i];
      } else {
        ASSERT_EQ(std::isnan(x[i]), std::isnan(y[i])) << output.name() << " " << i;
      }
    }
  }
}

Converted FieldTest::Converts(const std::string& text, const Conversion& conversion) const {
  const onnx::ModelProto model = ModelFromText(text);
  Write("m.onnx", model.SerializeAsString());
  std::vector<std::string> args = {"convert", "m.onnx", "-o", "low.onnx", "--dtype", conversion.dtype, "--no-sync"};
  args.insert(args.end(), conversion.options.begin(), conversion.options.end());
  const Outcome outcome = Ampc(args);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  onnx::ModelProto low;
  EXPECT_TRUE(low.ParseFromString(Read("low.onnx")));
  const bool sorted = FaultsOf(model, folder_ / "m.onnx", true).find("too early") == std::string::npos;
  EXPECT_EQ(FaultsOf(low, folder_ / "low.onnx", sorted), "");
  const auto same = [](const auto& a, const auto& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const auto& x, const auto& y) { return x.SerializeAsString() == y.SerializeAsString(); });
  };
  const bool defaults = NamesOf(model.graph()) < model.graph().input_size() + model.graph().initializer_size();
  EXPECT_TRUE(defaults || same(model.graph().input(), low.graph().input()));
  EXPECT_TRUE(same(model.graph().output(), low.graph().output()));
  WriteFeeds(model.graph());
  if (conversion.runs) ExpectNear(model.graph(), conversion);
  args[1] = "low.onnx";
  args[3] = "two.onnx";
  EXPECT_EQ(Ampc(args).code, 0);
  EXPECT_TRUE(Read("two.onnx") == Read("low.onnx")) << "the second conversion changes something";
  EXPECT_EQ(Ampc({"strip", "low.onnx", "-o", "back.onnx", "--weights", "m.onnx", "--no-sync"}).code, 0);
  EXPECT_TRUE(Read("back.onnx") == Read("m.onnx")) << "strip does not give the original back";
  return Converted(std::move(low));
}

TEST_P(FieldModelTest, Converts) {
  const FieldModel& model = GetParam();
  const Converted low = Converts(model.text);
  for (const std::string& line : model.lines) EXPECT_EQ(low.Line(line.substr(0, line.find(" = "))), line);
  for (const std::string& initializer : model.full) EXPECT_EQ(low.TypeOf(initializer), 1) << initializer;
  for (const std::string& initializer : model.low) EXPECT_EQ(low.TypeOf(initializer), 10) << initializer;
  SCOPED_TRACE("bf16");
  Converts(model.text, {.dtype = "bf16"});
}

}  // namespace ampc::testing
