#include "kernels/device/emulated/emulated_collectives.h"

#include <condition_variable>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/communicator.h"
#include "kernels/cuda/launch/launch_host.h"
#include "kernels/cuda/launch/value.h"

namespace ampc {
namespace {

using Values = std::vector<double>;

Values Read(const void* from, int64_t count, DType type) {
  Values values(static_cast<size_t>(count));
  cuda::VisitReal(type, [&](auto tag) {
    const auto* data = static_cast<const typename decltype(tag)::Type*>(from);
    for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i)] = static_cast<double>(cuda::Load(data[i]));
    return 0;
  });
  return values;
}

void Write(const Values& values, void* to, DType type) {
  cuda::VisitReal(type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    auto* data = static_cast<T*>(to);
    for (size_t i = 0; i < values.size(); ++i) cuda::Store(data[i], static_cast<cuda::ComputeType<T>>(values[i]));
    return 0;
  });
}

void Combine(ReduceOp op, const Values& from, Values* into) {
  for (size_t i = 0; i < from.size(); ++i) {
    double& value = (*into)[i];
    value = op == ReduceOp::kSum ? value + from[i] : (from[i] > value ? from[i] : value);
  }
}

// Ranks that exchange values: `mine` of each becomes, for each, `all` in the order of ranks.
class Group {
 public:
  virtual ~Group() = default;
  virtual absl::Status Exchange(int rank, Values mine, std::vector<Values>* all) = 0;
};

class ThreadGroup : public Group {
 public:
  explicit ThreadGroup(int size) : values_(static_cast<size_t>(size)) {}
  absl::Status Exchange(int rank, Values mine, std::vector<Values>* all) override {
    std::unique_lock<std::mutex> lock(mutex_);
    values_[static_cast<size_t>(rank)] = std::move(mine);
    if (++arrived_ == values_.size()) {
      complete_ = std::make_shared<const std::vector<Values>>(values_);
      arrived_ = 0;
      ++round_;
      ready_.notify_all();
    } else {
      ready_.wait(lock, [this, round = round_] { return round_ != round; });
    }
    *all = *complete_;  // no rank is in the next round before all have read: it needs this one's values
    return absl::OkStatus();
  }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  std::vector<Values> values_;
  size_t arrived_ = 0;
  int64_t round_ = 0;
  std::shared_ptr<const std::vector<Values>> complete_;
};

class ProcessGroup : public Group {
 public:
  absl::Status Exchange(int rank, Values mine, std::vector<Values>* all) override {
    Communicator& job = *ProcessCommunicator();
    const size_t count = mine.size(), ranks = static_cast<size_t>(job.size());
    std::vector<float> sum(count * ranks);
    for (size_t i = 0; i < count; ++i) sum[static_cast<size_t>(rank) * count + i] = static_cast<float>(mine[i]);
    AMPC_RETURN_IF_ERROR(job.AllReduceSum(absl::MakeSpan(sum)));
    for (size_t r = 0; r < ranks; ++r)
      all->emplace_back(sum.begin() + static_cast<int64_t>(r * count), sum.begin() + static_cast<int64_t>((r + 1) * count));
    return absl::OkStatus();
  }
};

class EmulatedCollective : public Collectives {
 public:
  EmulatedCollective(std::shared_ptr<Group> group, int rank, int size) : group_(std::move(group)), rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  absl::Status AllReduce(const void* from, void* to, int64_t count, DType type, ReduceOp op, Stream& stream) override {
    if (cuda::VisitReal(type, [](auto) { return 0; }) != 0) return UnsupportedError("collectives: values of this type are not reduced");
    return Enqueue(stream, [=, group = group_, status = status_, rank = rank_] {
      std::vector<Values> all;
      if (!status->Merge(group->Exchange(rank, Read(from, count, type), &all))) return;
      Values result = all[0];
      for (size_t r = 1; r < all.size(); ++r) Combine(op, all[r], &result);
      Write(result, to, type);
    });
  }

  absl::Status Broadcast(void* data, int64_t bytes, int root, Stream& stream) override {
    return Enqueue(stream, [=, group = group_, status = status_, rank = rank_] {
      std::vector<Values> all;
      if (!status->Merge(group->Exchange(rank, Read(data, bytes, DType::kU8), &all))) return;
      Write(all[static_cast<size_t>(root)], data, DType::kU8);
    });
  }

  absl::Status GroupStart() override {
    if (std::exchange(grouping_, true)) return InternalError("collectives: a group is started inside of a group");
    return absl::OkStatus();
  }
  absl::Status GroupEnd() override {
    if (!std::exchange(grouping_, false)) return InternalError("collectives: a group is ended that was not started");
    for (auto& [stream, work] : std::exchange(grouped_, {})) cuda::EnqueueEmulated(stream->native(), std::move(work));
    return absl::OkStatus();
  }
  absl::Status Check() override { return status_->Get(); }

 private:
  class SharedStatus {
   public:
    bool Merge(const absl::Status& status) {
      const std::lock_guard<std::mutex> lock(mutex_);
      status_.Update(status);
      return status.ok();
    }
    absl::Status Get() {
      const std::lock_guard<std::mutex> lock(mutex_);
      return status_;
    }

   private:
    std::mutex mutex_;
    absl::Status status_;
  };

  // Within a group nothing runs before its end.
  absl::Status Enqueue(Stream& stream, std::function<void()> work) {
    if (grouping_) {
      grouped_.emplace_back(&stream, std::move(work));
    } else {
      cuda::EnqueueEmulated(stream.native(), std::move(work));
    }
    return absl::OkStatus();
  }

  const std::shared_ptr<Group> group_;
  const int rank_, size_;
  bool grouping_ = false;
  std::vector<std::pair<Stream*, std::function<void()>>> grouped_;
  const std::shared_ptr<SharedStatus> status_ = std::make_shared<SharedStatus>();
};

class EmulatedLibrary : public CollectiveLibrary {
 public:
  absl::StatusOr<CollectiveId> NewId() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    CollectiveId id;
    ++ids_;
    std::memcpy(id.bytes.data(), &ids_, sizeof(ids_));
    return id;
  }
  absl::StatusOr<std::unique_ptr<Collectives>> Join(Device&, const CollectiveId& id, int rank, int size) override {
    if (rank < 0 || rank >= size) return InternalError(absl::StrCat("collectives: rank ", rank, " of ", size));
    const Communicator* job = ProcessCommunicator();
    if (job != nullptr && job->size() == size) return std::make_unique<EmulatedCollective>(std::make_shared<ProcessGroup>(), rank, size);
    std::shared_ptr<Group> group;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      group = groups_[id.bytes].lock();
      if (group == nullptr) groups_[id.bytes] = group = std::make_shared<ThreadGroup>(size);
    }
    std::vector<Values> all;
    AMPC_RETURN_IF_ERROR(group->Exchange(rank, {}, &all));
    return std::make_unique<EmulatedCollective>(std::move(group), rank, size);
  }

 private:
  std::mutex mutex_;
  int64_t ids_ = 0;
  std::map<std::array<char, 128>, std::weak_ptr<Group>> groups_;
};

}  // namespace

CollectiveLibrary& EmulatedCollectives() {
  static auto* const library = new EmulatedLibrary;
  return *library;
}

}  // namespace ampc
