// The answers of a rank when another one dies, and when a call fails, with a shim in place of NCCL.
#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/device/cuda/nccl.h"
#include "kernels/device/device.h"
#include "kernels/device/emulated/emulated_device.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

constexpr char kFolder[] = "tests/cuda/device";

class LostRank : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("AMPC_CUDA_LIBS", kFolder, 1);
    shim_ = dlopen((std::string(kFolder) + "/libnccl.so.2").c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(shim_, nullptr) << dlerror();
    aborted_ = Count("AmpcShimAborted");
    destroyed_ = Count("AmpcShimDestroyed");
    CollectiveId id;
    ASSERT_OK_AND_ASSIGN(id, Nccl().NewId());
    device_ = NewEmulatedDevice(0);
    ASSERT_OK_AND_ASSIGN(stream_, device_->NewStream());
    ASSERT_OK_AND_ASSIGN(group_, Nccl().Join(*device_, id, 0, 2));
  }
  int Count(const char* of) { return reinterpret_cast<int (*)()>(dlsym(shim_, of))(); }
  int Aborted() { return Count("AmpcShimAborted") - aborted_; }
  int Destroyed() { return Count("AmpcShimDestroyed") - destroyed_; }
  void LoseRank() { reinterpret_cast<void (*)()>(dlsym(shim_, "AmpcShimLoseRank"))(); }

  void* shim_ = nullptr;
  int aborted_ = 0, destroyed_ = 0;
  std::shared_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Collectives> group_;
};

TEST_F(LostRank, IsSeenByAThreadThatGivesTheWorkUp) {
  EXPECT_OK(group_->Check());
  LoseRank();
  for (int i = 0; i < 500 && Aborted() == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(Aborted(), 1);
  EXPECT_THAT(group_->Check(), StatusIs(ExitCode::kInternal, HasSubstr("NCCL, in earlier work: remote process exited")));
}

TEST_F(LostRank, EndsEveryLaterCallAndIsGivenUpOnce) {
  LoseRank();
  float value = 1;
  EXPECT_THAT(group_->AllReduce(&value, &value, 1, DType::kF32, ReduceOp::kSum, *stream_),
              StatusIs(ExitCode::kInternal, HasSubstr("remote process")));
  EXPECT_THAT(group_->Broadcast(&value, 4, 0, *stream_), StatusIs(ExitCode::kInternal, HasSubstr("remote process")));
  group_.reset();
  EXPECT_EQ(Aborted(), 1);
  EXPECT_EQ(Destroyed(), 0);
}

TEST_F(LostRank, WithoutOneTheGroupIsLeftInOrder) {
  float value = 1;
  EXPECT_OK(group_->AllReduce(&value, &value, 1, DType::kF32, ReduceOp::kSum, *stream_));
  group_.reset();
  EXPECT_EQ(Aborted(), 0);
  EXPECT_EQ(Destroyed(), 1);
}

// All that a group does, once.
absl::Status UseGroup(Device& device) {
  AMPC_ASSIGN_OR_RETURN(const CollectiveId id, Nccl().NewId());
  AMPC_ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device.NewStream());
  AMPC_ASSIGN_OR_RETURN(const std::unique_ptr<Collectives> group, Nccl().Join(device, id, 0, 2));
  float value = 1;
  AMPC_RETURN_IF_ERROR(group->GroupStart());
  AMPC_RETURN_IF_ERROR(group->AllReduce(&value, &value, 1, DType::kF32, ReduceOp::kSum, *stream));
  AMPC_RETURN_IF_ERROR(group->Broadcast(&value, 4, 0, *stream));
  AMPC_RETURN_IF_ERROR(group->GroupEnd());
  return group->Check();
}

TEST_F(LostRank, AnyCallThatFailsIsNamedAndEveryGroupIsGivenBackOnce) {
  group_.reset();
  const auto fail = reinterpret_cast<void (*)(const char*, int)>(dlsym(shim_, "AmpcShimFail"));
  for (const char* function : {"ncclGetUniqueId", "ncclCommInitRank", "ncclCommGetAsyncError", "ncclAllReduce", "ncclBroadcast",
                               "ncclGroupStart", "ncclGroupEnd", "ncclCommDestroy", "ncclCommAbort"}) {
    for (int code = 1; code <= 6; ++code) {
      SCOPED_TRACE(absl::StrCat(function, ", code ", code));
      const int made = Count("AmpcShimMade"), back = Aborted() + Destroyed();
      fail(function, code);
      const absl::Status status = UseGroup(*device_);
      fail(nullptr, 0);
      EXPECT_EQ(Aborted() + Destroyed() - back, Count("AmpcShimMade") - made);
      if (absl::StrContains(function, "Destroy") || absl::StrContains(function, "Abort")) {
        EXPECT_OK(status);  // nobody waits for what they say
      } else {
        EXPECT_THAT(status, StatusIs(ExitCode::kInternal, HasSubstr(absl::StrCat(function, ": "))));
      }
    }
  }
  EXPECT_OK(UseGroup(*device_));
}

}  // namespace
}  // namespace ampc
