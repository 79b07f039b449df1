#include "kernels/lib/conv.h"

namespace ampc::onednn {
namespace {

int64_t Product(const ConvSpec& spec, int64_t ConvSpec::Axis::*size) {
  int64_t n = 1;
  for (const ConvSpec::Axis& axis : spec.axes) n *= axis.*size;
  return n;
}

}  // namespace

int64_t ConvSpec::in_positions() const { return Product(*this, &Axis::in); }
int64_t ConvSpec::out_positions() const { return Product(*this, &Axis::out); }
int64_t ConvSpec::window() const { return Product(*this, &Axis::kernel); }

}  // namespace ampc::onednn
