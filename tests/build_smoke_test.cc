#include <gtest/gtest.h>

#include "absl/container/flat_hash_map.h"
#include "absl/container/btree_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/random/random.h"
#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"

ABSL_FLAG(int, n, 3, "number");
namespace {
TEST(Build, AbseilLinks) {
  absl::StatusOr<int> value = absl::NotFoundError("x");
  EXPECT_FALSE(value.ok());
  absl::flat_hash_map<std::string, int> map;
  map["a"] = 3;
  absl::BitGen gen;
  absl::btree_map<int,int> b; b[absl::Uniform(gen, 0, 5)] = 1;
  absl::Mutex mutex;
  absl::MutexLock lock(&mutex);
  EXPECT_EQ(absl::StrFormat("%d", map["a"]), absl::StrCat(absl::GetFlag(FLAGS_n)));
  EXPECT_LT(absl::InfinitePast(), absl::Now());
}
}  // namespace
