#include "kernels/lib/conv_cut.h"

#include <algorithm>
#include <utility>

#include "kernels/lib/conv_descs.h"

namespace ampc::onednn {

size_t CutAxis(const ConvSpec& s) {
  size_t i = 0;
  while (i + 1 < s.axes.size() && s.axes[i].in == 1 && s.axes[i].out == 1) ++i;
  return i;
}

std::vector<Rows> CutRows(const ConvSpec& s) {
  constexpr double kLeastWork = 2e6;  // multiply-adds of a part
  const size_t cut = CutAxis(s);
  const ConvSpec::Axis& h = s.axes[cut];
  const int64_t reach = h.dilation * (h.kernel - 1) + 1;
  const int64_t in_row = s.in_positions() / h.in * s.in_c, out_row = s.out_positions() / h.out * s.out_c;
  // A part reads the whole filter: below so many positions that costs more than the products.
  const int64_t row_positions = s.out_positions() / h.out, least = std::min<int64_t>(64, s.out_positions() / 2);
  int64_t rows = h.out;
  for (double work = Work(s) / static_cast<double>(s.batch); rows > 1 && work >= 2 * kLeastWork; work /= 2) {
    if ((rows + 1) / 2 * row_positions < least) break;
    rows = (rows + 1) / 2;
  }
  if (s.transposed || h.before >= reach || h.after >= reach) rows = h.out;  // else a part could lie in padding alone
  std::vector<Rows> parts;
  for (int64_t n = 0; n < s.batch; ++n) {
    for (int64_t first = 0; first < h.out; first += rows) {
      Rows part{s, 0, (n * h.out + first) * out_row};
      ConvSpec::Axis& axis = part.spec.axes[cut];
      part.spec.batch = 1;
      axis.out = std::min(rows, h.out - first);
      const int64_t begin = first * h.stride - h.before;
      const int64_t end = begin + (axis.out - 1) * h.stride + reach;
      const int64_t in_begin = std::max<int64_t>(0, begin), in_end = std::min(h.in, end);
      if (rows < h.out) {
        axis.in = in_end - in_begin;
        axis.before = in_begin - begin;
        axis.after = end - in_end;
      }
      part.in = (n * h.in + (rows < h.out ? in_begin : 0)) * in_row;
      parts.push_back(std::move(part));
    }
  }
  return parts;
}

int64_t ChannelsOfPart(const ConvSpec& s) {
  constexpr int64_t kLarge = 256 << 10, kMostPositions = 1024, kLeast = 64;
  const int64_t per_channel = s.in_c * s.window();  // elements
  if (s.groups > 1 || s.transposed || s.has_residual || s.out_positions() > kMostPositions || s.out_c * per_channel < kLarge) return 0;
  int64_t channels = s.out_c;
  while (channels % 2 == 0 && channels / 2 >= kLeast && channels * per_channel > kLarge) channels /= 2;
  return channels < s.out_c ? channels : 0;
}

}  // namespace ampc::onednn
