// Loads a model and runs it on zeros: the smallest program on top of ampc.
//
//   load_and_run MODEL [DIM]     DIM stands for every unknown dimension of the feeds, default 1
#include <cstdio>
#include <cstdlib>

#include "graph/base/error.h"
#include "runtime/session.h"

namespace {

// Feeds of zeros with the model's types.
absl::StatusOr<ampc::TensorMap> Zeros(const ampc::Session& session, int64_t unknown) {
  ampc::TensorMap feeds;
  for (const ampc::ValueInfo& input : session.inputs()) {
    std::vector<int64_t> dims(input.type.dims.begin(), input.type.dims.end());
    for (int64_t& d : dims) d = d < 0 ? unknown : d;
    absl::StatusOr<ampc::HostTensor> tensor = ampc::HostTensor::Create(input.type.dtype, dims);
    if (!tensor.ok()) return tensor.status();
    feeds[input.name] = *std::move(tensor);
  }
  return feeds;
}

absl::Status Run(const char* path, int64_t unknown) {
  absl::StatusOr<ampc::Session> session = ampc::Session::Load(path, {.device = "cpu", .threads = 2});
  if (!session.ok()) return session.status();
  absl::StatusOr<ampc::TensorMap> feeds = Zeros(*session, unknown);
  if (!feeds.ok()) return feeds.status();
  absl::StatusOr<ampc::TensorMap> out = session->Run(*feeds);
  if (!out.ok()) return out.status();
  for (const auto& [name, tensor] : *out) {
    std::printf("%s: %lld elements\n", name.c_str(), static_cast<long long>(tensor.num_elements()));
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: load_and_run MODEL [DIM]\n");
    return 2;
  }
  const absl::Status status = Run(argv[1], argc > 2 ? std::atoll(argv[2]) : 1);
  if (!status.ok()) std::fprintf(stderr, "load_and_run: %s\n", std::string(status.message()).c_str());
  return static_cast<int>(ampc::ExitCodeOf(status));
}
