#include "kernels/lib/measure.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace ampc::onednn {
namespace {

// Seconds of one of `count` runs.
absl::StatusOr<double> Time(const std::function<absl::Status()>& run, int64_t count) {
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < count; ++i) AMPC_RETURN_IF_ERROR(run());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / static_cast<double>(count);
}

}  // namespace

absl::StatusOr<size_t> Fastest(absl::Span<const std::function<absl::Status()>> runs) {
  constexpr double kTurn = 1e-4, kAll = 0.1;  // seconds of one run's turns
  constexpr int kMostTurns = 25;
  constexpr double kNoise = 0.97;  // of the first one's time
  std::vector<double> best(runs.size());
  if (runs.size() < 2) return size_t{0};
  double longest = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    AMPC_RETURN_IF_ERROR(runs[i]());  // what is done once only does not count
    AMPC_ASSIGN_OR_RETURN(best[i], Time(runs[i], 1));
    longest = std::max(longest, best[i]);
  }
  const int turns = static_cast<int>(std::clamp(kAll / std::max(longest, kTurn), 2.0, double{kMostTurns}));
  for (int turn = 0; turn < turns; ++turn) {
    for (size_t i = 0; i < runs.size(); ++i) {
      const auto count = std::max<int64_t>(1, static_cast<int64_t>(kTurn / std::max(best[i], 1e-8)));
      AMPC_ASSIGN_OR_RETURN(const double seconds, Time(runs[i], count));
      best[i] = std::min(best[i], seconds);
    }
  }
  const auto fastest = static_cast<size_t>(std::min_element(best.begin(), best.end()) - best.begin());
  return best[fastest] < kNoise * best[0] ? fastest : size_t{0};
}

absl::StatusOr<void*> MadeOperands::Add(int64_t bytes) {
  constexpr int kSmall = 0x3c;  // each byte: 0.0115 in f32 and bf16, 1.06 in f16
  AMPC_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::CreateUninitialized(DType::kU8, {bytes}));
  if (bytes > 0) std::memset(tensor.mutable_data(), kSmall, static_cast<size_t>(bytes));
  return tensors_.emplace_back(std::move(tensor)).mutable_data();
}

}  // namespace ampc::onednn
