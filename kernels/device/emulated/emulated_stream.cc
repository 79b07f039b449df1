#include "kernels/device/emulated/emulated_stream.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/cuda/launch/launch_host.h"
#include "kernels/device/allocator.h"

namespace ampc {
namespace {

class EmulatedGraph : public Graph {
 public:
  EmulatedGraph(std::shared_ptr<Engine> engine, CapturedWork work)
      : engine_(std::move(engine)), work_(std::make_shared<const CapturedWork>(std::move(work))) {}
  absl::Status Launch(Stream& stream) override {
    static_cast<EmulatedStream&>(stream).Enqueue([engine = engine_, work = work_] { RunCaptured(engine, *work); });
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<Engine> engine_;
  const std::shared_ptr<const CapturedWork> work_;
};

// The error of device code in earlier work.
absl::Status DoneWork() {
  const std::string fault = cuda::TakeTeamFault();
  return fault.empty() ? absl::OkStatus() : InternalError(absl::StrCat("a kernel on the emulated device: ", fault));
}

absl::Status CapturedEvent() { return InternalError("the host or another stream waits for an event that was recorded in a capture"); }

}  // namespace

absl::StatusOr<bool> EmulatedEvent::Done() {
  if (capture_ != nullptr) return CapturedEvent();
  if (point_ == nullptr || point_->done) return true;
  if (asked_++ < engine_->delay) return false;
  RunLine(*point_->line, point_.get());  // a device would have done it by now
  return true;
}

absl::Status EmulatedEvent::Synchronize() {
  if (capture_ != nullptr) return CapturedEvent();
  AMPC_RETURN_IF_ERROR(engine_->RefuseDuringCapture("the host waits for an event"));
  ++engine_->synchronizations;
  if (point_ != nullptr) RunLine(*point_->line, point_.get());
  return absl::OkStatus();
}

absl::StatusOr<double> EmulatedEvent::MillisecondsSince(const Event& earlier) {
  const auto& from = static_cast<const EmulatedEvent&>(earlier);
  if (!timing_ || !from.timing_) return InternalError("time between events that were made without timing");
  if (point_ == nullptr || from.point_ == nullptr || !point_->done || !from.point_->done) {
    return InternalError("time between events that are not recorded and done");
  }
  return std::chrono::duration<double, std::milli>(point_->at - from.point_->at).count();
}

EmulatedStream::EmulatedStream(Device& device, EmulatedMemory& memory, std::shared_ptr<Engine> engine)
    : device_(device), memory_(memory), engine_(std::move(engine)), line_(std::make_shared<Line>(engine_)) {
  const std::lock_guard<std::mutex> lock(engine_->data);
  engine_->lines.push_back(line_);
}

EmulatedStream::~EmulatedStream() {
  if (Capturing()) EndCapture().status().IgnoreError();
  RunLine(*line_, nullptr);
  device_.allocator().Forget(*this);
}

bool EmulatedStream::Idle() const {
  const std::lock_guard<std::mutex> lock(engine_->data);
  return line_->items.empty() && line_->running == 0;
}

void EmulatedStream::Enqueue(Work work) {
  if (Capturing()) {
    Captured().push_back({std::move(work), -1, -1});
  } else {
    EnqueueUncaptured(std::move(work));
  }
}

absl::Status EmulatedStream::NotOfDevice(const void* data, int64_t bytes) const {
  if (memory_.OnDevice(data, bytes)) return absl::OkStatus();
  return InternalError(absl::StrCat(device_.name(), ": a copy or fill of ", bytes,
                                    " bytes at an address that is not all in one piece of the device's memory"));
}

absl::Status EmulatedStream::CopyOnDevice(void* to, const void* from, int64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  AMPC_RETURN_IF_ERROR(NotOfDevice(to, bytes));
  AMPC_RETURN_IF_ERROR(NotOfDevice(from, bytes));
  Enqueue([=] { std::memmove(to, from, static_cast<size_t>(bytes)); });
  return absl::OkStatus();
}

absl::Status EmulatedStream::FillBytes(void* to, int value, int64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  AMPC_RETURN_IF_ERROR(NotOfDevice(to, bytes));
  Enqueue([=] { std::memset(to, value, static_cast<size_t>(bytes)); });
  return absl::OkStatus();
}

absl::Status EmulatedStream::CopyHost(void* to, const void* from, int64_t bytes, const void* host) {
  if (bytes == 0) return absl::OkStatus();
  AMPC_RETURN_IF_ERROR(NotOfDevice(host == to ? from : to, bytes));
  if (memory_.IsPinned(host, bytes)) {
    Enqueue([=] { std::memcpy(to, from, static_cast<size_t>(bytes)); });
    return absl::OkStatus();
  }
  AMPC_RETURN_IF_ERROR(engine_->RefuseDuringCapture("a copy of memory that is not pinned"));
  ++engine_->synchronizations;
  RunLine(*line_, nullptr);
  std::memcpy(to, from, static_cast<size_t>(bytes));
  return DoneWork();
}

absl::Status EmulatedStream::CopyToDevice(void* to, const void* from, int64_t bytes) { return CopyHost(to, from, bytes, from); }

absl::Status EmulatedStream::CopyToHost(void* to, const void* from, int64_t bytes) { return CopyHost(to, from, bytes, to); }

absl::Status EmulatedStream::Record(Event& event) {
  auto& e = static_cast<EmulatedEvent&>(event);
  e.asked_ = 0;
  e.point_ = nullptr;
  e.capture_ = nullptr;
  if (Capturing()) {
    e.capture_ = capture_;
    e.captured_ = capture_->work.points++;
    Captured().push_back({nullptr, e.captured_, -1});
  } else {
    e.point_ = std::make_shared<Point>(line_);
    engine_->Push(*line_, {nullptr, e.point_, nullptr});
  }
  return absl::OkStatus();
}

absl::Status EmulatedStream::Wait(Event& event) {
  auto& e = static_cast<EmulatedEvent&>(event);
  if (e.capture_ != nullptr && !e.capture_->ended) {
    if (!Capturing()) {  // joins the capture
      capture_ = e.capture_;
      captured_line_ = capture_->work.lines.size();
      capture_->work.lines.emplace_back();
    }
    if (capture_ != e.capture_) return CapturedEvent();
    Captured().push_back({nullptr, -1, e.captured_});
    return absl::OkStatus();
  }
  if (e.capture_ != nullptr) return CapturedEvent();
  if (e.point_ == nullptr) return absl::OkStatus();
  if (Capturing()) return InternalError("a stream that is being captured waits for an event that was recorded outside of the capture");
  engine_->Push(*line_, {nullptr, nullptr, e.point_});
  return absl::OkStatus();
}

absl::Status EmulatedStream::Synchronize() {
  AMPC_RETURN_IF_ERROR(engine_->RefuseDuringCapture("the host waits for a stream"));
  if (Capturing()) return InternalError("the host waits for a stream whose work is being captured");
  ++engine_->synchronizations;
  RunLine(*line_, nullptr);
  return DoneWork();
}

absl::Status EmulatedStream::BeginCapture() {
  if (Capturing()) return InternalError("a capture is under way on this stream");
  capture_ = std::make_shared<Capture>();
  captured_line_ = 0;
  capture_->work.lines.emplace_back();
  const std::lock_guard<std::mutex> lock(engine_->data);
  engine_->captures.push_back(capture_);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Graph>> EmulatedStream::EndCapture() {
  if (!Capturing() || captured_line_ != 0) return InternalError("no capture has begun on this stream");
  const std::shared_ptr<Capture> capture = std::exchange(capture_, nullptr);
  {
    const std::lock_guard<std::mutex> lock(engine_->data);
    capture->ended = true;
    engine_->captures.erase(std::find(engine_->captures.begin(), engine_->captures.end(), capture));
  }
  AMPC_RETURN_IF_ERROR(capture->error);
  if (!AllJoined(capture->work)) return InternalError("a capture ends before the stream has waited for the other streams' captured work");
  return std::make_unique<EmulatedGraph>(engine_, std::move(capture->work));
}

namespace cuda {

int EnqueueEmulated(void* stream, std::function<void()> work) {
  static_cast<EmulatedStream*>(stream)->Launch(std::move(work));
  return 0;
}

}  // namespace cuda
}  // namespace ampc
