// The limits of a device, measured by itself: copy bandwidth, and the products of a SimpleNet step through MatmulLibrary. One JSON object.
//   roofline [DEVICE] [BATCH FEATURES LAYERS]     default: cuda:0 512 4096 3
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "graph/base/dtype.h"
#include "graph/base/error.h"
#include "graph/base/json_writer.h"
#include "graph/base/status_macros.h"
#include "kernels/device/allocator.h"
#include "kernels/device/device.h"
#include "kernels/device/matmul_library.h"
#include "kernels/device/open_device.h"

namespace ampc::testing {
namespace {

constexpr int kRounds = 20;
constexpr int64_t kWorkspace = int64_t{32} << 20;

struct Shape {
  int64_t batch = 512, features = 4096, layers = 3;
};

class Roofline {
 public:
  explicit Roofline(Device& device) : device_(device) {}

  absl::Status Prepare() {
    AMPC_ASSIGN_OR_RETURN(stream_, device_.NewStream());
    AMPC_ASSIGN_OR_RETURN(start_, device_.NewEvent(true));
    AMPC_ASSIGN_OR_RETURN(end_, device_.NewEvent(true));
    return absl::OkStatus();
  }

  // Bytes read and written per second by a copy from the device's memory to itself.
  absl::StatusOr<double> CopyBandwidth(int64_t bytes) {
    AMPC_ASSIGN_OR_RETURN(const DeviceBuffer from, device_.allocator().Allocate(bytes, *stream_, "from"));
    AMPC_ASSIGN_OR_RETURN(const DeviceBuffer to, device_.allocator().Allocate(bytes, *stream_, "to"));
    AMPC_RETURN_IF_ERROR(stream_->FillBytes(from.data(), 0, bytes));
    AMPC_ASSIGN_OR_RETURN(const double seconds, Best([&] { return stream_->CopyOnDevice(to.data(), from.data(), bytes); }));
    return 2.0 * static_cast<double>(bytes) / seconds;
  }

  // Seconds of the products of a step: per layer the result, the gradient of the weights and, behind the first layer, that of the operand.
  absl::StatusOr<double> Products(const Shape& s, DType type, bool tf32) {
    double seconds = 0;
    for (int64_t layer = 0; layer < s.layers; ++layer) {
      AMPC_ASSIGN_OR_RETURN(const double forward, Product({false, false, s.features, s.batch, s.features}, type, tf32));
      AMPC_ASSIGN_OR_RETURN(const double weights, Product({false, true, s.features, s.features, s.batch}, type, tf32));
      AMPC_ASSIGN_OR_RETURN(const double operand, Product({true, false, s.features, s.batch, s.features}, type, tf32));
      seconds += forward + weights + (layer > 0 ? operand : 0);
    }
    return seconds;
  }

 private:
  struct Dims {
    bool transpose_a, transpose_b;
    int64_t m, n, k;
  };

  absl::StatusOr<double> Product(const Dims& d, DType type, bool tf32) {
    MatmulDesc desc;
    desc.transpose_a = d.transpose_a;
    desc.transpose_b = d.transpose_b;
    desc.m = d.m;
    desc.n = d.n;
    desc.k = d.k;
    desc.lda = d.transpose_a ? d.k : d.m;
    desc.ldb = d.transpose_b ? d.n : d.k;
    desc.ldd = d.m;
    desc.type_ab = type;
    desc.type_d = type;
    desc.tf32 = tf32;
    AMPC_ASSIGN_OR_RETURN(MatmulLibrary * library, device_.matmul());
    AMPC_ASSIGN_OR_RETURN(const std::shared_ptr<const MatmulPlan> plan, library->Plan(desc, kWorkspace));
    const int64_t size = static_cast<int64_t>(SizeOf(type));
    AMPC_ASSIGN_OR_RETURN(const DeviceBuffer a, Zeros(d.m * d.k * size));
    AMPC_ASSIGN_OR_RETURN(const DeviceBuffer b, Zeros(d.k * d.n * size));
    AMPC_ASSIGN_OR_RETURN(const DeviceBuffer out, Zeros(d.m * d.n * size));
    AMPC_ASSIGN_OR_RETURN(const DeviceBuffer workspace, Zeros(plan->workspace_bytes()));
    MatmulArgs args;
    args.a = a.data();
    args.b = b.data();
    args.d = out.data();
    args.workspace = workspace.data();
    return Best([&] { return plan->Run(*stream_, args); });
  }

  absl::StatusOr<DeviceBuffer> Zeros(int64_t bytes) {
    AMPC_ASSIGN_OR_RETURN(DeviceBuffer buffer, device_.allocator().Allocate(bytes, *stream_, "operand"));
    if (bytes > 0) AMPC_RETURN_IF_ERROR(stream_->FillBytes(buffer.data(), 0, bytes));
    return buffer;
  }

  // Seconds of the fastest of kRounds.
  template <typename Run>
  absl::StatusOr<double> Best(Run run) {
    double best = 1e30;
    AMPC_RETURN_IF_ERROR(run());
    for (int i = 0; i < kRounds; ++i) {
      AMPC_RETURN_IF_ERROR(stream_->Record(*start_));
      AMPC_RETURN_IF_ERROR(run());
      AMPC_RETURN_IF_ERROR(stream_->Record(*end_));
      AMPC_RETURN_IF_ERROR(end_->Synchronize());
      AMPC_ASSIGN_OR_RETURN(const double ms, end_->MillisecondsSince(*start_));
      best = std::min(best, ms / 1000);
    }
    return best;
  }

  Device& device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Event> start_, end_;
};

absl::Status Run(const std::string& name, const Shape& shape) {
  AMPC_ASSIGN_OR_RETURN(const DeviceTarget target, OpenDevice(name));
  const DeviceInfo& info = target.device->info();
  Roofline roofline(*target.device);
  AMPC_RETURN_IF_ERROR(roofline.Prepare());
  JsonWriter json;
  json.BeginObject().Field("device", info.name).Field("compute_capability", std::to_string(info.major) + "." + std::to_string(info.minor));
  json.Field("memory_bytes", info.memory_bytes).Field("batch", shape.batch).Field("features", shape.features).Field("layers", shape.layers);
  AMPC_ASSIGN_OR_RETURN(const double bandwidth, roofline.CopyBandwidth(std::min<int64_t>(int64_t{1} << 30, info.memory_bytes / 16)));
  json.Field("copy_bytes_per_second", bandwidth);
  struct Case {
    const char* name;
    DType type;
    bool tf32;
  };
  for (const Case& c : {Case{"fp32", DType::kF32, false}, Case{"tf32", DType::kF32, true}, Case{"fp16", DType::kF16, false},
                        Case{"bf16", DType::kBF16, false}}) {
    AMPC_ASSIGN_OR_RETURN(const double seconds, roofline.Products(shape, c.type, c.tf32));
    json.Field(std::string("products_seconds_") + c.name, seconds);
  }
  json.EndObject();
  std::cout << json.Take() << "\n";
  return absl::OkStatus();
}

}  // namespace
}  // namespace ampc::testing

int main(int argc, char** argv) {
  ampc::testing::Shape shape;
  if (argc == 5) shape = {std::atoll(argv[2]), std::atoll(argv[3]), std::atoll(argv[4])};
  const absl::Status status = ampc::testing::Run(argc > 1 ? argv[1] : "cuda:0", shape);
  if (status.ok()) return 0;
  std::cerr << "roofline: " << status.message() << "\n";
  return static_cast<int>(ampc::ExitCodeOf(status));
}
