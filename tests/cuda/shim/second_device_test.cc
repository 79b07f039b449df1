// A device that is not the calling thread's current one: everything that is enqueued on it makes it so first.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/base/host_tensor.h"
#include "graph/base/status_macros.h"
#include "kernels/device/cuda_backend.h"
#include "kernels/device/device.h"
#include "runtime/train/trainer.h"
#include "tests/cuda/shim/shim.h"
#include "tests/testlib/status.h"
#include "tests/trainer/text_trainer.h"

namespace ampc::testing {
namespace {

// The caller's thread: one whose current device is another one.
using From = std::function<void(const std::function<void()>&)>;

void SameThread(const std::function<void()>& f) {
  MakeShimDeviceCurrent(0);
  f();
}
void FreshThread(const std::function<void()>& f) { std::thread(f).join(); }

// Alone, captured and replayed, and steps that nobody waits for; the weight behind them.
absl::StatusOr<std::vector<float>> Train(const std::string& device, const From& from) {
  absl::Status status;
  std::unique_ptr<Trainer> trainer;
  std::vector<float> weight;
  const auto step = [&](const std::function<absl::Status()>& f) {
    from([&] {
      if (status.ok()) status = f();
    });
  };
  step([&]() -> absl::Status {
    AMPC_ASSIGN_OR_RETURN(Trainer made, Trainer::Create(Regression(), {.device = device, .threads = 1}));
    trainer = std::make_unique<Trainer>(std::move(made));
    return absl::OkStatus();
  });
  for (int i = 0; i < 8; ++i) {
    step([&] { return i < 5 ? trainer->Step(Batch(i, 4)).status() : trainer->Enqueue(Batch(i, 4)); });
  }
  step([&] { return trainer->Wait(); });
  step([&]() -> absl::Status {
    AMPC_ASSIGN_OR_RETURN(const HostTensor value, trainer->scope().Get("w"));
    weight.assign(value.values<float>().begin(), value.values<float>().end());
    return absl::OkStatus();
  });
  from([&] { trainer.reset(); });
  AMPC_RETURN_IF_ERROR(status);
  return weight;
}

TEST(SecondDevice, ATrainingFromThreadsWhoseDeviceIsTheFirst) {
  ASSERT_OK_AND_ASSIGN(const std::vector<float> want, Train("cuda:0", &SameThread));
  for (const auto& from : {&SameThread, &FreshThread}) {
    ASSERT_OK_AND_ASSIGN(const std::vector<float> found, Train("cuda:1", from));
    EXPECT_EQ(found, want);
  }
  EXPECT_EQ(LiveShimObjects(), "");
}

// Every call of a stream, an event and the device.
TEST(SecondDevice, EveryCallOfTheInterface) {
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<Device> device, OpenCudaDevice(1));
  std::unique_ptr<Stream> stream, other;
  std::unique_ptr<Event> event;
  std::unique_ptr<Graph> graph;
  void *memory = nullptr, *pinned = nullptr;
  float host[4] = {1, 2, 3, 4};
  const std::vector<std::function<absl::Status()>> calls = {
      [&]() -> absl::Status {
        AMPC_ASSIGN_OR_RETURN(stream, device->NewStream());
        return absl::OkStatus();
      },
      [&]() -> absl::Status {
        AMPC_ASSIGN_OR_RETURN(other, device->NewStream());
        return absl::OkStatus();
      },
      [&]() -> absl::Status {
        AMPC_ASSIGN_OR_RETURN(event, device->NewEvent(false));
        return absl::OkStatus();
      },
      [&]() -> absl::Status {
        AMPC_ASSIGN_OR_RETURN(memory, device->AllocateRaw(64));
        return absl::OkStatus();
      },
      [&]() -> absl::Status {
        AMPC_ASSIGN_OR_RETURN(pinned, device->AllocatePinned(64));
        return absl::OkStatus();
      },
      [&] { return stream->FillBytes(memory, 0, 64); },
      [&] { return stream->CopyToDevice(memory, host, 16); },
      [&] { return stream->CopyToDevice(memory, pinned, 16); },
      [&] { return stream->CopyOnDevice(static_cast<char*>(memory) + 16, memory, 16); },
      [&] { return stream->CopyToHost(host, memory, 16); },
      [&] { return stream->Record(*event); },
      [&] { return other->Wait(*event); },
      [&] { return event->Done().status(); },
      [&] { return event->Synchronize(); },
      [&] { return stream->BeginCapture(); },
      [&] { return stream->FillBytes(memory, 0, 64); },
      [&]() -> absl::Status {
        AMPC_ASSIGN_OR_RETURN(graph, stream->EndCapture());
        return absl::OkStatus();
      },
      [&] { return graph->Launch(*stream); },
      [&] { return stream->Synchronize(); },
  };
  for (size_t i = 0; i < calls.size(); ++i) {
    SCOPED_TRACE(i);
    MakeShimDeviceCurrent(0);
    ASSERT_OK(calls[i]());
  }
  MakeShimDeviceCurrent(0);
  graph.reset();
  event.reset();
  stream.reset();
  other.reset();
  device->FreeRaw(memory);
  device->FreePinned(pinned);
  EXPECT_EQ(LiveShimObjects(), "");
}

}  // namespace
}  // namespace ampc::testing
