// Streams, events and graphs of an emulated device.
#pragma once

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "kernels/device/device.h"
#include "kernels/device/emulated/emulated_work.h"

namespace ampc {

// Which memory is whose; from the device.
class EmulatedMemory {
 public:
  virtual ~EmulatedMemory() = default;
  virtual bool OnDevice(const void* data, int64_t bytes) = 0;
  virtual bool IsPinned(const void* data, int64_t bytes) = 0;
};

class EmulatedEvent : public Event {
 public:
  EmulatedEvent(std::shared_ptr<Engine> engine, bool timing) : engine_(std::move(engine)), timing_(timing) {}
  absl::StatusOr<bool> Done() override;
  absl::Status Synchronize() override;
  absl::StatusOr<double> MillisecondsSince(const Event& earlier) override;

 private:
  friend class EmulatedStream;
  const std::shared_ptr<Engine> engine_;
  const bool timing_;
  int asked_ = 0;
  std::shared_ptr<Point> point_;  // of the last Record, unless a capture recorded it:
  std::shared_ptr<Capture> capture_;
  int captured_ = -1;
};

class EmulatedStream : public Stream {
 public:
  EmulatedStream(Device& device, EmulatedMemory& memory, std::shared_ptr<Engine> engine);
  ~EmulatedStream() override;
  Device& device() override { return device_; }
  void* native() override { return this; }

  absl::Status CopyToDevice(void* to, const void* from, int64_t bytes) override;
  absl::Status CopyToHost(void* to, const void* from, int64_t bytes) override;
  absl::Status CopyOnDevice(void* to, const void* from, int64_t bytes) override;
  absl::Status FillBytes(void* to, int value, int64_t bytes) override;
  absl::Status Record(Event& event) override;
  absl::Status Wait(Event& event) override;
  absl::Status Synchronize() override;
  absl::Status BeginCapture() override;
  absl::StatusOr<std::unique_ptr<Graph>> EndCapture() override;
  void PushRange(const char*) override {}
  void PopRange() override {}

  void Enqueue(Work work);
  void Launch(Work work) {
    ++engine_->launches;
    Enqueue(std::move(work));
  }
  void EnqueueUncaptured(Work work) { engine_->Push(*line_, {std::move(work), nullptr, nullptr}); }
  bool Idle() const;

 private:
  absl::Status NotOfDevice(const void* data, int64_t bytes) const;
  absl::Status CopyHost(void* to, const void* from, int64_t bytes, const void* host);
  bool Capturing() const { return capture_ != nullptr && !capture_->ended; }
  std::vector<CapturedItem>& Captured() { return capture_->work.lines[captured_line_]; }

  Device& device_;
  EmulatedMemory& memory_;
  const std::shared_ptr<Engine> engine_;
  const std::shared_ptr<Line> line_;
  std::shared_ptr<Capture> capture_;  // that this stream is part of, or was
  size_t captured_line_ = 0;
};

}  // namespace ampc
