#include "passes/fusion/conv.h"

#include "absl/strings/str_cat.h"
#include "graph/ops/window.h"
#include "passes/fusion/constant_value.h"

namespace ampc {

bool IsImageConv(const Op& op) { return op.type() == "conv2d" || op.type() == "depthwise_conv2d"; }

bool IsConv(const Op& op) { return IsImageConv(op) || op.type() == "conv3d"; }

int ConvChannelDim(const Op& conv, int rank) { return ops::ChannelsLast(conv.GetString("data_format")) ? rank - 1 : 1; }

bool HasActivation(const Op& op) {
  return !op.GetString("fuse_activation").empty() || !op.GetString("activation_type").empty() || op.GetBool("fuse_relu") ||
         op.GetBool("fuse_brelu") || op.GetBool("fuse_with_relu");
}

void SetConvConstants(Op& conv, absl::string_view suffix, DType dtype, absl::Span<const float> filter, absl::Span<const float> bias) {
  Block& block = conv.block();
  const Var& old = *conv.input("Filter");
  Var* w = AddConstant(block, absl::StrCat(old.name(), suffix), MakeConstant(dtype, old.type.dims, filter));
  Var* b = AddConstant(block, absl::StrCat(conv.output("Output")->name(), ".bias"),
                       MakeConstant(dtype, {static_cast<int64_t>(bias.size())}, bias));
  conv.SetInputs(conv.def().InputSlot("Filter"), {&w, 1});
  conv.SetInputs(conv.def().InputSlot("Bias"), {&b, 1});
}

}  // namespace ampc
