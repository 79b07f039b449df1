// Programs whose marks of a conversion nobody made: what takes a conversion back, or converts again, ends with a program or says what is
// wrong.
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "gtest/gtest.h"
#include "runtime/convert/made_with.h"
#include "tests/testlib/parse_bare.h"

namespace ampc {
namespace {

class RandomMarks {
 public:
  explicit RandomMarks(unsigned seed) : random_(seed) {}

  std::string Text() {
    std::string text;
    for (int i = 0; i < 3; ++i)
      Declare(absl::StrCat("state ", values_.emplace_back(Value{absl::StrCat("s", i), OneIn(2), true}).name), &text);
    Declare(absl::StrCat("feed ", values_.emplace_back(Value{"x", false, false}).name), &text);
    for (int ops = 2 + Below(9); ops > 0; --ops) AddOp(&text);
    return absl::StrCat(text, "fetch ", values_.back().name, "\n");
  }

 private:
  struct Value {
    std::string name;
    bool low, state;
  };

  int Below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool OneIn(int n) { return Below(n) == 0; }
  const char* Was(const Value& value) { return (value.low ? !OneIn(3) : OneIn(9)) ? " !was=f32" : ""; }
  static const char* DTypeOf(const Value& value) { return value.low ? "f16" : "f32"; }
  void Declare(const std::string& what, std::string* text) {
    absl::StrAppend(text, what, " : ", DTypeOf(values_.back()), " [4]", Was(values_.back()), "\n");
  }

  void AddOp(std::string* text) {
    const Value from = values_[Below(static_cast<int>(values_.size()))];
    const bool cast = !OneIn(4), overwrites = OneIn(3);
    Value to = {absl::StrCat(OneIn(2) ? absl::StrCat(from.name, ".f16") : "t", "_", ++made_), cast ? OneIn(2) : from.low, false};
    if (overwrites) to = values_[Below(3)];
    if (!cast && to.low != from.low) return;
    absl::StrAppend(text, to.name, overwrites ? " <- " : " = ");
    if (cast) {
      absl::StrAppend(text, "cast(", from.name, ") in_dtype=", DTypeOf(from), " out_dtype=", DTypeOf(to), OneIn(3) ? "" : " !amp=inserted");
    } else {
      absl::StrAppend(text, "relu(", from.name, ")");
    }
    if (!overwrites) {
      absl::StrAppend(text, Was(to), " : ", DTypeOf(to), " [4]");
      values_.push_back(to);
    }
    absl::StrAppend(text, "\n");
  }

  std::mt19937 random_;
  std::vector<Value> values_;
  int made_ = 0;
};

TEST(RandomMarks, AreTakenBackOrRefused) {
  int taken_back = 0, refused = 0;
  for (unsigned seed = 0; seed < 20000; ++seed) {
    const std::string text = RandomMarks(seed).Text();
    const absl::StatusOr<Program> program = testing::ParseBare(text);
    ASSERT_TRUE(program.ok()) << program.status().message() << "\n" << text;
    const absl::Status status = CheckMarks(*program, "model");
    ASSERT_TRUE(status.ok() || ExitCodeOf(status) == ExitCode::kBadInput) << status.message() << "\n" << text;
    ++(status.ok() ? taken_back : refused);
  }
  EXPECT_GT(taken_back, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace ampc
