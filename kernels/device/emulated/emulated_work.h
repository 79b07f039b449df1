// The work of an emulated device: lines of items that run when somebody waits, and then only what that one needs. Work of another
// stream that nobody waited for has not happened yet, so a forgotten Stream::Wait shows.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"

namespace ampc {

using Work = std::function<void()>;

struct Line;

// A recorded event: a place in a line.
struct Point {
  explicit Point(std::shared_ptr<Line> l) : line(std::move(l)) {}
  const std::shared_ptr<Line> line;
  std::atomic<bool> done = false;
  std::chrono::steady_clock::time_point at;
};

// One of the three.
struct Item {
  Work work;
  std::shared_ptr<Point> record;
  std::shared_ptr<Point> wait;
};

struct Engine;

// The work of a stream, in order.
struct Line {
  explicit Line(std::shared_ptr<Engine> e) : engine(std::move(e)) {}
  const std::shared_ptr<Engine> engine;
  std::deque<Item> items;  // under engine->data, as is `running`
  int running = 0;
};

// The items of a captured graph, by stream; the first is where the capture began. Points are numbers.
struct CapturedItem {
  Work work;
  int record = -1;
  int wait = -1;
};
struct CapturedWork {
  std::vector<std::vector<CapturedItem>> lines;
  int points = 0;
};

struct Capture {
  CapturedWork work;
  std::thread::id thread = std::this_thread::get_id();
  bool ended = false;
  absl::Status error;  // the first call that a capture does not allow
};

// One per device.
struct Engine {
  std::mutex data;
  std::recursive_mutex running;                    // held while work runs
  std::vector<std::weak_ptr<Line>> lines;          // under data
  std::vector<std::shared_ptr<Capture>> captures;  // under way; under data
  std::atomic<int64_t> synchronizations = 0;
  std::atomic<int64_t> launches = 0;  // EmulatedLaunches
  std::atomic<int> delay = 0;         // SetEmulatedDelay

  void Push(Line& line, Item item);
  // An error, which also spoils the capture, while the calling thread captures.
  absl::Status RefuseDuringCapture(const char* what);
  void RunAll();
};

// Runs a line up to a point of it, or all of it (null), and first what its items wait for.
void RunLine(Line& line, const Point* until);

// Runs a captured graph.
void RunCaptured(const std::shared_ptr<Engine>& engine, const CapturedWork& work);

// Whether the end of the first line comes behind all work of the others.
bool AllJoined(const CapturedWork& work);

}  // namespace ampc
