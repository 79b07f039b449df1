// A state's weights that are known when a plan is made are packed by columns, in the type that they are declared; those that are not are
// multiplied by the library. Both give the same.
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"
#include "tests/testlib/tolerance.h"

namespace ampc::testing {
namespace {

struct Mode {
  const char* name;
  int64_t gates;
  int states;
};

class Rnn : public ::testing::TestWithParam<DType> {};

TEST_P(Rnn, PackedColumnsGiveWhatTheLibraryGives) {
  const Mode modes[] = {{"LSTM", 4, 2}, {"GRU", 3, 1}, {"RNN_TANH", 1, 1}};
  for (uint32_t seed = 0; seed < 24; ++seed) {
    std::mt19937 rng(seed);
    const auto below = [&rng](int n) { return static_cast<int64_t>(rng() % static_cast<uint32_t>(n)); };
    const Mode& mode = modes[seed % 3];
    const int64_t hidden = 1 + below(seed % 4 == 0 ? 230 : 60), features = 1 + below(30), time = 1 + below(5), batch = 1 + below(4);
    const auto values = [&](const Shape& dims, uint32_t stream) {
      const Tensor t = Random(dims, seed * 8 + stream, -0.3f, 0.3f);
      return GetParam() == DType::kF32 ? t : Low(GetParam(), dims, t.floats());
    };
    const auto run = [&](bool constant) {
      OpRun r("rnn");
      r.In("Input", values({time, batch, features}, 0));
      for (int i = 0; i < mode.states; ++i) r.In("PreState", values({1, batch, hidden}, 1 + i));
      const Tensor weights[] = {values({mode.gates * hidden, features}, 3), values({mode.gates * hidden, hidden}, 4),
                                values({mode.gates * hidden}, 5), values({mode.gates * hidden}, 6)};
      for (const Tensor& t : weights) constant ? r.Const("WeightList", t) : r.In("WeightList", t);
      r.Attr("mode", std::string(mode.name)).Attr("hidden_size", static_cast<int32_t>(hidden)).Out("Out").Out("State", mode.states);
      return r.Run();
    };
    ASSERT_OK_AND_ASSIGN(const auto want, run(false));
    ASSERT_OK_AND_ASSIGN(const auto found, run(true));
    for (size_t i = 0; i < want.size(); ++i) {
      const std::vector<float> a = want[i].floats(), b = found[i].floats();
      for (size_t k = 0; k < a.size(); ++k) {
        ASSERT_TRUE(Near(b[k], a[k], ToleranceFor(GetParam()))) << mode.name << " seed " << seed << " result " << i << " at " << k;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Rnn, ::testing::Values(DType::kF32, DType::kF16, DType::kBF16),
                         [](const auto& info) { return std::string(Name(info.param)); });

}  // namespace
}  // namespace ampc::testing
