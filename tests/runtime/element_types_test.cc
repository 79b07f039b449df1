// Every element type is moved, and cast to every other; unsigned numbers are computed with as such.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/host_tensor.h"
#include "tests/runtime/text_session.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

std::vector<DType> RealTypes() {
  std::vector<DType> types;
  for (int i = 1; i < kNumDTypes; ++i) {
    if (!IsComplex(static_cast<DType>(i))) types.push_back(static_cast<DType>(i));
  }
  return types;
}

std::string One(DType dtype) { return dtype == DType::kBool ? "true" : IsInteger(dtype) ? "1" : "1.0"; }

TEST(ElementTypes, OneIsOneInEachOfThem) {
  std::string text = "feed zero : f32 [1]\n", fetches;
  int n = 0;
  for (const DType from : RealTypes()) {
    absl::StrAppend(&text, "const one.", Name(from), " : ", Name(from), " [2] = [", One(from), ", ", One(from), "]\n");
    for (const DType to : RealTypes()) {
      absl::StrAppend(&text, "a", n, " = cast(one.", Name(from), ") out_dtype=", Name(to), " : ", Name(to), " [2]\n");
      absl::StrAppend(&text, "b", n, " = cast(a", n, ") out_dtype=f32 : f32 [2]\n", "y", n, " = elementwise_add(b", n,
                      ", zero) : f32 [2]\n");
      absl::StrAppend(&fetches, "fetch y", n++, "\n");
    }
  }
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(text + fetches));
  ASSERT_OK_AND_ASSIGN(const TensorMap out, session.Run({{"zero", F({1}, {0})}}));
  for (const auto& [name, value] : out) EXPECT_EQ(Floats(value), (std::vector<float>{1, 1})) << name;
  EXPECT_EQ(out.size(), RealTypes().size() * RealTypes().size());
}

TEST(ElementTypes, EachIsMoved) {
  for (int type = 1; type < kNumDTypes; ++type) {
    const DType dtype = static_cast<DType>(type);
    const std::string t(Name(dtype)), typed = absl::StrCat(" : ", t, " ");
    const std::string text =
        absl::StrCat("feed x", typed, "[2, 3]\nfeed c : bool [3, 2]\nconst i : i64 [1] = [1]\n", "a = transpose2(x) axis=[1, 0]", typed,
                     "[3, 2]\nb = reshape2(a) shape=[2, 3]", typed, "[2, 3]\nd = reshape2(b) shape=[3, 2]", typed,
                     "[3, 2]\ne = where(Condition=c, X=a, Y=d)", typed, "[3, 2]\nf = concat(X=[e, a]) axis=0", typed,
                     "[6, 2]\nh = gather(f, i) axis=0", typed, "[1, 2]\ng = pad(h) paddings=[0, 1, 0, 0]", typed, "[2, 2]\nfetch g\n");
    ASSERT_OK_AND_ASSIGN(const Session session, FromText(text));
    ASSERT_OK_AND_ASSIGN(HostTensor x, HostTensor::Create(dtype, {2, 3}));
    // The bytes that are moved are those of a 1 at [1, 1]: row 1 of the transposed.
    const size_t size = SizeOf(dtype);
    if (IsFloat(dtype)) continue;  // the tests of each kernel have them
    static_cast<uint8_t*>(x.mutable_data())[4 * size] = 1;
    ASSERT_OK_AND_ASSIGN(const TensorMap out,
                         session.Run({{"x", x}, {"c", HostTensor::Of<bool>({3, 2}, {true, true, true, true, true, true})}}));
    const HostTensor& g = out.at("g");
    EXPECT_EQ(g.dtype(), dtype);
    std::vector<uint8_t> want(4 * size);
    want[size] = 1;
    EXPECT_EQ(std::vector<uint8_t>(static_cast<const uint8_t*>(g.data()), static_cast<const uint8_t*>(g.data()) + want.size()), want) << t;
  }
}

constexpr char kUnsigned[] = R"(
feed x : u64 [4]
feed y : u64 [4]
sum = elementwise_add(x, y) : u64 [4]
product = elementwise_mul(x, y) : u64 [4]
quotient = elementwise_floordiv(x, y) : u64 [4]
rest = elementwise_mod(x, y) : u64 [4]
larger = elementwise_max(x, y) : u64 [4]
less = less_than(x, y) : bool [4]
most = reduce_max(x) dim=[0] : u64 []
least = reduce_min(x) dim=[0] : u64 []
total = reduce_sum(x) dim=[0] : u64 []
either = bitwise_or(x, y) : u64 [4]
narrow = cast(x) out_dtype=u16 : u16 [4]
fetch sum
fetch product
fetch quotient
fetch rest
fetch larger
fetch less
fetch most
fetch least
fetch total
fetch either
fetch narrow
)";

TEST(ElementTypes, UnsignedNumbersBeyondTheSignedOnes) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max(), kTop = uint64_t{1} << 63;
  using U = std::vector<uint64_t>;
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(kUnsigned));
  const HostTensor x = HostTensor::Of<uint64_t>({4}, {kMost, kTop + 5, 7, 65537}), y = HostTensor::Of<uint64_t>({4}, {2, kTop, kMost, 3});
  ASSERT_OK_AND_ASSIGN(const TensorMap out, session.Run({{"x", x}, {"y", y}}));
  const auto values = [&](const char* name) { return U(out.at(name).values<uint64_t>().begin(), out.at(name).values<uint64_t>().end()); };
  EXPECT_EQ(values("sum"), (U{1, 5, 6, 65540}));
  EXPECT_EQ(values("product"), (U{kMost - 1, kTop, uint64_t{0} - 7, 196611}));
  EXPECT_EQ(values("quotient"), (U{kMost / 2, 1, 0, 21845}));
  EXPECT_EQ(values("rest"), (U{1, 5, 7, 2}));
  EXPECT_EQ(values("larger"), (U{kMost, kTop + 5, kMost, 65537}));
  EXPECT_EQ(out.at("less"), HostTensor::Of<bool>({4}, {false, false, true, false}));
  EXPECT_EQ(values("most"), U{kMost});
  EXPECT_EQ(values("least"), U{7});
  EXPECT_EQ(values("total"), U{kMost + kTop + 5 + 7 + 65537});
  EXPECT_EQ(values("either"), (U{kMost, kTop + 5, kMost, 65539}));
  EXPECT_EQ(out.at("narrow"), HostTensor::Of<uint16_t>({4}, {65535, 5, 7, 1}));
}

}  // namespace
}  // namespace ampc
