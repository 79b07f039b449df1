#include "kernels/device/emulated/emulated_work.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace ampc {
namespace {

// Counts in `line` while the line runs.
class Running {
 public:
  explicit Running(Line& line) : line_(line) { Add(1); }
  ~Running() { Add(-1); }

 private:
  void Add(int n) {
    const std::lock_guard<std::mutex> lock(line_.engine->data);
    line_.running += n;
  }
  Line& line_;
};

}  // namespace

void Engine::Push(Line& line, Item item) {
  const std::lock_guard<std::mutex> lock(data);
  line.items.push_back(std::move(item));
}

absl::Status Engine::RefuseDuringCapture(const char* what) {
  const std::lock_guard<std::mutex> lock(data);
  for (const std::shared_ptr<Capture>& capture : captures) {
    if (capture->thread != std::this_thread::get_id()) continue;
    const absl::Status error = InternalError(absl::StrCat(what, " during the capture of a graph"));
    if (capture->error.ok()) capture->error = error;
    return error;
  }
  return absl::OkStatus();
}

void Engine::RunAll() {
  std::vector<std::shared_ptr<Line>> all;
  {
    const std::lock_guard<std::mutex> lock(data);
    for (const std::weak_ptr<Line>& line : lines) {
      if (std::shared_ptr<Line> alive = line.lock()) all.push_back(std::move(alive));
    }
    lines.assign(all.begin(), all.end());
  }
  for (const std::shared_ptr<Line>& line : all) RunLine(*line, nullptr);
}

void RunLine(Line& line, const Point* until) {
  const std::lock_guard<std::recursive_mutex> lock(line.engine->running);
  const Running running(line);
  while (until == nullptr || !until->done) {
    Item item;
    {
      const std::lock_guard<std::mutex> data(line.engine->data);
      if (line.items.empty()) return;
      item = std::move(line.items.front());
      line.items.pop_front();
    }
    if (item.wait != nullptr && !item.wait->done) RunLine(*item.wait->line, item.wait.get());
    if (item.work) item.work();
    if (item.record != nullptr) {
      item.record->at = std::chrono::steady_clock::now();
      item.record->done = true;
    }
  }
}

void RunCaptured(const std::shared_ptr<Engine>& engine, const CapturedWork& work) {
  std::vector<std::shared_ptr<Line>> lines;
  std::vector<std::shared_ptr<Point>> points(static_cast<size_t>(work.points));
  for (const std::vector<CapturedItem>& items : work.lines) {
    lines.push_back(std::make_shared<Line>(engine));
    for (const CapturedItem& item : items) {
      if (item.record >= 0) points[static_cast<size_t>(item.record)] = std::make_shared<Point>(lines.back());
    }
  }
  const auto point = [&](int i) { return i < 0 ? nullptr : points[static_cast<size_t>(i)]; };
  for (size_t i = 0; i < lines.size(); ++i) {
    for (const CapturedItem& item : work.lines[i]) lines[i]->items.push_back({item.work, point(item.record), point(item.wait)});
  }
  RunLine(*lines[0], nullptr);
}

bool AllJoined(const CapturedWork& work) {
  CapturedWork without;
  without.points = work.points;
  std::vector<char> reached;
  for (const std::vector<CapturedItem>& items : work.lines) {
    std::vector<CapturedItem>& to = without.lines.emplace_back();
    for (const CapturedItem& item : items) {
      Work mark;
      if (item.work) {
        mark = [&reached, i = reached.size()] { reached[i] = 1; };
        reached.push_back(0);
      }
      to.push_back({std::move(mark), item.record, item.wait});
    }
  }
  RunCaptured(std::make_shared<Engine>(), without);
  for (const char r : reached) {
    if (r == 0) return false;
  }
  return true;
}

}  // namespace ampc
