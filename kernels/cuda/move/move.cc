// Every op of MoveOps() that a program has inside: feeds and fetches are copied by whoever runs it.
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/types.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/move/copy.h"
#include "kernels/spec/move/move_spec.h"
#include "kernels/spec/move/strided_axes.h"

namespace ampc::cuda {
namespace {

struct Transfer {
  int input, output;
  int64_t from, to;  // bytes
};

struct Rows {
  Transfer transfer;
  int64_t rows, width, from_row, to_row;
};

struct Copy {
  Transfer transfer;
  CopyParams params;
};

// Rows go together in one launch, what is more involved one by one.
struct Move {
  std::vector<Rows> rows;
  std::vector<Copy> copies;
  int zeroed = -1;
  int64_t zeroed_bytes = 0;

  int Launch(const KernelArgs& args, void* stream) const {
    const auto from = [&args](const Transfer& p) { return static_cast<const char*>(args.inputs[p.input]) + p.from; };
    const auto to = [&args](const Transfer& p) { return static_cast<char*>(args.outputs[p.output]) + p.to; };
    int code = zeroed < 0 ? 0 : LaunchFill(stream, args.outputs[zeroed], zeroed_bytes, 1, FillElement());
    for (size_t first = 0; code == 0 && first < rows.size(); first += kMaxRowsParts) {
      std::array<RowsPart, kMaxRowsParts> parts;
      int n = 0;
      for (size_t i = first; i < rows.size() && n < kMaxRowsParts; ++i) {
        const Rows& r = rows[i];
        parts[n++] = {from(r.transfer), to(r.transfer), r.rows, r.width, r.from_row, r.to_row};
      }
      code = LaunchRows(stream, parts.data(), n);
    }
    for (size_t i = 0; code == 0 && i < copies.size(); ++i)
      code = LaunchCopy(stream, copies[i].params, from(copies[i].transfer), to(copies[i].transfer));
    return code;
  }
};

// Adds the part unless it is empty.
absl::Status AddPart(const SpecView& view, const MovePart& part, Move* move) {
  const DType dtype = view.spec().inputs[part.input].dtype;
  if (view.spec().outputs[part.output].dtype != dtype) return view.Unsupported("the device's copy needs one type on both sides");
  const int64_t size = static_cast<int64_t>(SizeOf(dtype));
  const Transfer transfer{part.input, part.output, part.from * size, part.to * size};
  std::vector<StridedAxis> axes = JoinAxes(part.dims, part.from_strides, part.to_strides);
  if (!axes.empty() && axes[0].size == 0) return absl::OkStatus();
  CopyParams p;
  p.run = size;
  if (!axes.empty() && axes.back().from == 1 && axes.back().to == 1) {
    p.run = size * axes.back().size;
    axes.pop_back();
  }
  if (axes.empty() || (axes.size() == 1 && p.run > size)) {
    const StridedAxis row = axes.empty() ? StridedAxis{1, 0, 0} : axes[0];
    move->rows.push_back({transfer, row.size, p.run, row.from * size, row.to * size});
    return absl::OkStatus();
  }
  if (axes.size() > kMaxCopyRank)
    return view.Unsupported(absl::StrCat("the device copies at most ", kMaxCopyRank, " dimensions that do not join"));
  for (const StridedAxis& a : axes) p.axes[p.rank++] = {a.size, a.from * size, a.to * size};
  move->copies.push_back({transfer, p});
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  AMPC_ASSIGN_OR_RETURN(const MoveSpec read, ReadMove(spec));
  Move move;
  move.zeroed = read.zeroed;
  if (read.zeroed >= 0)
    move.zeroed_bytes = spec.outputs[read.zeroed].NumElements() * static_cast<int64_t>(SizeOf(spec.outputs[read.zeroed].dtype));
  for (const MovePart& part : read.parts) AMPC_RETURN_IF_ERROR(AddPart(SpecView(spec), part, &move));
  KernelTraits traits;
  traits.alias_input = read.alias_input;
  traits.implementation = "cuda:copy";
  return MakeDeviceKernel(std::move(traits),
                          [move = std::move(move)](const KernelArgs& args, void* stream) { return move.Launch(args, stream); });
}

}  // namespace

absl::Status RegisterMove(KernelRegistry* registry) {
  for (const MoveOp& op : MoveOps()) {
    if (absl::string_view(op.op) == "feed" || absl::string_view(op.op) == "fetch") continue;
    AMPC_RETURN_IF_ERROR(registry->Add({op.op, &Make, MovableTypes(), op.layouts}));
  }
  return absl::OkStatus();
}

}  // namespace ampc::cuda
