// The program of `ampc convert --compat` computes the results of its input: with float32 in the place of every low type, bit for bit. This
// is what the programs marked broken in cases.txt do not.
#include <fstream>
#include <map>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tests/compat/compare.h"
#include "tests/e2e/cli.h"

namespace ampc::testing {
namespace {

constexpr char kData[] = "tests/golden/paddle_rewrite/";

struct ExecutionCase {
  std::string name, input, options;
  std::vector<std::string> fetches;
  bool broken = false;  // in the release whose decision it is
};

std::vector<ExecutionCase> ReadCases() {
  std::vector<ExecutionCase> out;
  std::ifstream file(absl::StrCat(kData, "cases.txt"));
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> f = absl::StrSplit(line, '\t');
    out.push_back({f.at(0), f.at(1), f.at(2), absl::StrSplit(f.at(3), ','), f.at(4) == "broken"});
  }
  return out;
}

void PrintTo(const ExecutionCase& c, std::ostream* out) { *out << c.name << " " << c.options; }

bool IsLow(int type) { return type == 4 || type == 22; }
constexpr int kF32 = 5;

// float32 in the place of every low type; no marks, which would speak of the types before.
void Widen(paddle::ProgramDesc& program) {
  for (paddle::BlockDesc& block : *program.mutable_blocks()) {
    for (paddle::VarDesc& var : *block.mutable_vars()) {
      var.clear_attrs();
      auto* type = var.mutable_type();
      if (type->has_lod_tensor() && IsLow(type->lod_tensor().tensor().data_type()))
        type->mutable_lod_tensor()->mutable_tensor()->set_data_type(kF32);
    }
    for (paddle::OpDesc& op : *block.mutable_ops()) {
      for (auto& slot : *op.mutable_outputs()) {
        if (slot.parameter() == "ReserveSpace") slot.clear_arguments();  // scratch, of a size that only its library knows
      }
      for (auto& attr : *op.mutable_attrs()) {
        if (absl::EndsWith(attr.name(), "dtype") && attr.type() == 0 && IsLow(attr.i())) attr.set_i(kF32);
        if (attr.name() == "ampc_undo") attr.set_s("");
      }
    }
  }
}

bool HasF64(const paddle::ProgramDesc& program) {
  for (const paddle::VarDesc& var : program.blocks(0).vars()) {
    if (var.type().lod_tensor().tensor().data_type() == 6) return true;
  }
  return false;
}

// Fetch ops for what the case asks for, where the program has none.
void AddFetches(const std::vector<std::string>& names, paddle::ProgramDesc& program) {
  paddle::BlockDesc& main = *program.mutable_blocks(0);
  for (const paddle::OpDesc& op : main.ops()) {
    if (op.type() == "fetch") return;
  }
  paddle::VarDesc* holder = main.add_vars();
  holder->set_name("fetch");
  holder->mutable_type()->set_type(10);
  holder->set_persistable(true);
  for (size_t i = 0; i < names.size(); ++i) {
    paddle::OpDesc* op = main.add_ops();
    op->set_type("fetch");
    auto* x = op->add_inputs();
    x->set_parameter("X");
    x->add_arguments(names[i]);
    auto* out = op->add_outputs();
    out->set_parameter("Out");
    out->add_arguments("fetch");
    auto* col = op->add_attrs();
    col->set_name("col");
    col->set_type(0);
    col->set_i(static_cast<int>(i));
  }
}

std::vector<int64_t> Dims(const paddle::VarDesc& var) {
  std::vector<int64_t> dims;
  for (const int64_t d : var.type().lod_tensor().tensor().dims()) dims.push_back(d < 0 ? 2 : d);
  return dims;
}

void Append(const void* bytes, size_t n, std::string* out) { out->append(static_cast<const char*>(bytes), n); }

class CompatExecution : public CliTest, public ::testing::WithParamInterface<ExecutionCase> {
 protected:
  static std::vector<float> Values(const std::vector<int64_t>& dims) {
    size_t n = 1;
    for (const int64_t d : dims) n *= static_cast<size_t>(d);
    std::mt19937 random(static_cast<uint32_t>(n));
    std::vector<float> out(n);
    for (float& v : out) v = 0.25f + static_cast<float>(random() % 512) / 1024;  // variances and denominators must be positive
    return out;
  }

  // A parameter file with a value for every kept variable, in the order of the names.
  void WriteParams(const std::string& name, const paddle::ProgramDesc& program) const {
    std::map<std::string, const paddle::VarDesc*> kept;
    for (const paddle::VarDesc& var : program.blocks(0).vars()) {
      if (var.persistable() && var.type().type() == 7) kept[var.name()] = &var;
    }
    std::string out;
    for (const auto& [unused, var] : kept) {
      paddle::TensorDesc desc = var->type().lod_tensor().tensor();
      const std::string header = desc.SerializeAsString();
      const uint64_t lod_levels = 0;
      const uint32_t version = 0;
      const auto size = static_cast<int32_t>(header.size());
      Append(&version, 4, &out);
      Append(&lod_levels, 8, &out);
      Append(&version, 4, &out);
      Append(&size, 4, &out);
      out += header;
      const std::vector<float> values = Values(Dims(*var));
      if (desc.data_type() == kF32) {
        Append(values.data(), values.size() * sizeof(float), &out);
      } else {
        const std::vector<double> doubles(values.begin(), values.end());
        Append(doubles.data(), doubles.size() * sizeof(double), &out);
      }
    }
    Write(name, out);
  }

  Outcome RunWidened(const std::string& path, const std::string& results) const {
    absl::StatusOr<paddle::ProgramDesc> low = ReadPaddleProgram(path);
    EXPECT_TRUE(low.ok()) << low.status().message();
    if (!low.ok()) return {};
    Widen(*low);
    AddFetches(GetParam().fetches, *low);
    Write("widened.pdmodel", low->SerializeAsString());
    return Ampc({"run", "widened.pdmodel", "--params", "in.pdiparams", "--input", "feeds.npz", "-o", results});
  }

  void WriteFeeds(const std::string& name, const paddle::ProgramDesc& program) const {
    std::set<std::string> written;
    std::map<std::string, HostTensor> feeds;
    std::map<std::string, const paddle::VarDesc*> vars;
    for (const paddle::VarDesc& var : program.blocks(0).vars()) vars[var.name()] = &var;
    for (const paddle::OpDesc& op : program.blocks(0).ops()) {
      for (const auto& slot : op.inputs()) {
        for (const std::string& in : slot.arguments()) {
          if (op.type() == "feed" || written.contains(in) || !vars.contains(in) || vars[in]->persistable()) continue;
          const std::vector<int64_t> dims = Dims(*vars[in]);
          switch (vars[in]->type().lod_tensor().tensor().data_type()) {
            case 2: feeds[in] = HostTensor::Create(DType::kI32, dims).value(); break;
            case 3: feeds[in] = HostTensor::Create(DType::kI64, dims).value(); break;
            case 5: feeds[in] = HostTensor::FromValues<float>(dims, Values(dims)); break;
            case 6: feeds[in] = HostTensor::Create(DType::kF64, dims).value(); break;
            default: break;
          }
        }
      }
      for (const auto& slot : op.outputs()) {
        if (op.type() != "feed") written.insert(slot.arguments().begin(), slot.arguments().end());
      }
    }
    WriteArchive(name, feeds);
  }
};

TEST_P(CompatExecution, ComputesTheSame) {
  absl::StatusOr<paddle::ProgramDesc> program = ReadPaddleProgram(absl::StrCat(kData, GetParam().input, ".pdmodel"));
  ASSERT_TRUE(program.ok()) << program.status().message();
  Write("in.pdmodel", program->SerializeAsString());
  WriteParams("in.pdiparams", *program);
  WriteFeeds("feeds.npz", *program);
  std::vector<std::string> convert = {"convert", "in.pdmodel", "-o", "out.pdmodel", "--program-only", "--no-sync"};
  for (const std::string& arg : std::vector<std::string>(absl::StrSplit(GetParam().options, ' '))) convert.push_back(arg);
  const Outcome converted = Ampc(convert);
  ASSERT_EQ(converted.code, 0) << converted.err;

  const bool beyond = program->blocks_size() > 1 || HasF64(*program);  // what the runtime may not execute
  Widen(*program);
  AddFetches(GetParam().fetches, *program);
  Write("before.pdmodel", program->SerializeAsString());
  const Outcome before = Ampc({"run", "before.pdmodel", "--params", "in.pdiparams", "--input", "feeds.npz", "-o", "before.npz"});
  if (before.code == 4 && (beyond || !GetParam().broken)) GTEST_SKIP() << before.err;
  ASSERT_EQ(before.code, 0) << before.err;

  const Outcome after = RunWidened(folder_ / "out.pdmodel", "after.npz");
  ASSERT_EQ(after.code, 0) << after.err;
  EXPECT_TRUE(ReadArchive("before.npz") == ReadArchive("after.npz"));
  // Of programs with control flow or f64 it is Paddle's executor that fails (a value freed before a body reads it); this one need not.
  if (!GetParam().broken || beyond) return;
  const Outcome theirs = RunWidened(absl::StrCat(kData, GetParam().name, ".pdmodel"), "theirs.npz");
  EXPECT_FALSE(theirs.code == 0 && ReadArchive("before.npz") == ReadArchive("theirs.npz")) << "the release's program is not broken";
}

INSTANTIATE_TEST_SUITE_P(Golden, CompatExecution, ::testing::ValuesIn(ReadCases()),
                         [](const ::testing::TestParamInfo<ExecutionCase>& info) {
                           std::string name = info.param.name;
                           for (char& c : name) c = c == '.' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace ampc::testing
