#include "passes/amp/protect/weighted_bounds.h"

#include <cmath>
#include <limits>

#include "absl/types/span.h"
#include "graph/ops/onnx/dialect.h"
#include "passes/amp/decide/decision.h"
#include "passes/amp/protect/stored_losses.h"

namespace ampc {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool IsFinite(const Bounds& b) { return std::isfinite(b.low) && std::isfinite(b.high); }
Bounds WithZero(const Bounds& b) { return Union(b, {0, 0}); }
Bounds Plus(const Bounds& a, const Bounds& b) { return {a.low + b.low, a.high + b.high}; }
Bounds Times(double factor, const Bounds& b) {
  return factor >= 0 ? Bounds{factor * b.low, factor * b.high} : Bounds{factor * b.high, factor * b.low};
}

// The product of dims[first], ..., -1 where one is not known.
double ElementsFrom(const TensorType& type, int first) {
  double elements = type.has_rank && first >= 0 ? 1 : -1;
  for (int d = first; elements >= 0 && d < type.rank(); ++d) elements = IsKnown(type.dims[d]) ? elements * type.dims[d] : -1;
  return elements;
}

// How many elements of `whole` one of `mean` is the mean of, its dims kept; -1 where types do not say.
double ElementsOfMean(const TensorType& whole, const TensorType& mean) {
  if (!whole.has_rank || !mean.has_rank || whole.rank() != mean.rank()) return -1;
  double elements = 1;
  for (int d = 0; d < whole.rank(); ++d) {
    if (mean.dims[d] == 1 && !IsKnown(whole.dims[d])) return -1;
    if (mean.dims[d] == 1) elements *= whole.dims[d];
  }
  return elements;
}

// The dims of `y` but one are 1 where it is broadcast to `x`, and that one is dimension `dim` of x.
bool LiesAlong(const Op& op, const TensorType& x, const TensorType& y, int dim) {
  if (!x.has_rank || !y.has_rank || y.rank() > x.rank()) return false;
  const int64_t axis = op.GetInt("axis", -1);
  const int first = axis < 0 || y.rank() == x.rank() ? x.rank() - y.rank() : static_cast<int>(axis);
  for (int d = 0; d < y.rank(); ++d) {
    if (y.dims[d] != 1 && first + d != dim) return false;
  }
  return true;
}

int ChannelDim(const Op& op, const Var& result) {
  const bool last = op.GetString("data_format") == "NHWC" || op.GetString("data_format") == "NDHWC";
  return last ? result.type.rank() - 1 : 1;
}

}  // namespace

bool TransposesX(const Op& op) { return op.GetBool("trans_x") || op.GetBool("transpose_X") || op.GetInt("transA") != 0; }

std::optional<WeightRows> WeightRowsOf(const Op& op, const ValueFlow& flow) {
  if (op.inputs().size() < 2 || op.outputs().empty()) return std::nullopt;
  const WeightUse use = op.def().weight_use;
  const Var& x = flow.Root(*op.inputs()[0]);
  const Var& y = flow.Root(*op.inputs()[1]);
  const Var& result = *op.outputs()[0];
  if (use == WeightUse::kConv || use == WeightUse::kConvTransposed) {
    const bool fused = !op.GetString("activation").empty() || !op.GetString("fuse_activation").empty() || op.GetBool("fuse_relu");
    if (op.inputs().size() > 3 || fused || !IsStoredWeight(y, flow) || y.type.rank() < 3) return std::nullopt;
    const int dim = use == WeightUse::kConvTransposed ? 1 : 0;
    RowLayout layout{y.type.dims[dim], 1};
    for (int d = dim + 1; d < y.type.rank(); ++d) layout.inner *= y.type.dims[d];
    return WeightRows{&x, &y, layout, 1, ChannelDim(op, result)};
  }
  if (use != WeightUse::kProduct) return std::nullopt;
  const bool trans_x = TransposesX(op);
  const bool trans_y = op.GetBool("trans_y") || op.GetBool("transpose_Y") || op.GetInt("transB") != 0;
  const double factor = op.attr("alpha") != nullptr ? op.GetFloat("alpha") : 1;
  const bool flat = op.type() == "mul" && (op.GetInt("y_num_col_dims", 1) != 1 || y.type.rank() != 2);
  if (IsStoredWeight(y, flow) && y.type.rank() == 2 && !flat) {
    const RowLayout layout = trans_y ? RowLayout{y.type.dims[0], y.type.dims[1]} : RowLayout{y.type.dims[1], 1};
    return WeightRows{&x, &y, layout, factor, result.type.rank() - 1};
  }
  if (!IsStoredWeight(x, flow) || x.type.rank() != 2 || op.type() == "mul") return std::nullopt;
  const RowLayout layout = trans_x ? RowLayout{x.type.dims[1], 1} : RowLayout{x.type.dims[0], x.type.dims[1]};
  return WeightRows{&y, &x, layout, factor, result.type.rank() - 2};
}

WeightedBounds::WeightedBounds(const ValueFlow& flow, DType low) : flow_(flow), unit_(low == DType::kF16 ? 0x1p-11 : 0x1p-8) {}

bool IsStoredWeight(const Var& var, const ValueFlow& flow) {
  const bool stored = var.kind == VarKind::kConst || (var.kind == VarKind::kParam && flow.Makers(var).empty());
  return stored && StoredElements(var) > 0;
}

Bounds WeightedBounds::HullOf(const Var& var) {
  const Var& root = flow_.Root(var);
  return IsWeight(root) ? sums_.Hull(root) : Bounds();
}

Bounds WeightedBounds::Widened(const Bounds& bounds) const {
  const double room = 4 * unit_ * bounds.Magnitude();
  return IsFinite(bounds) ? Bounds{bounds.low - room, bounds.high + room} : bounds;
}

std::optional<Bounds> WeightedBounds::Of(const Op& op, BoundsOf of) {
  if (op.inputs().empty() || op.outputs().empty() || !op.SubBlocks().empty()) return std::nullopt;
  const std::optional<Bounds> bounds = Exact(op, of);
  if (!bounds.has_value()) return std::nullopt;
  if (rows_of_ != op.outputs()[0]) return Widened(*bounds);
  for (Bounds& row : rows_) row = Widened(row);
  return HullOfRows();
}

// Of an op that is visited again, others were asked in between.
bool WeightedBounds::FindRows(const Var& x, BoundsOf of) {
  if (rows_of_ == &x) return !flow_.IsJoined(x);
  const Op* maker = flow_.IsJoined(x) ? nullptr : flow_.Maker(x);
  const WeightUse use = maker == nullptr ? WeightUse::kNone : maker->def().weight_use;
  if (use != WeightUse::kConv && use != WeightUse::kConvTransposed && use != WeightUse::kProduct) return false;
  return Of(*maker, of).has_value() && rows_of_ == &x;
}

std::optional<Bounds> WeightedBounds::Exact(const Op& op, BoundsOf of) {
  switch (op.def().weight_use) {
    case WeightUse::kConv:
    case WeightUse::kConvTransposed: return OfConv(op, of);
    case WeightUse::kProduct: return OfProduct(op, of);
    case WeightUse::kBatchNorm: return OfBatchNorm(op, of);
    case WeightUse::kLayerNorm: {
      const TensorType& x = op.inputs()[0]->type;
      const int axis = static_cast<int>(op.attr("axis") != nullptr ? op.GetInt("axis") : op.GetInt("begin_norm_axis", -1));
      return OfNormalized(op, ElementsFrom(x, axis < 0 ? axis + x.rank() : axis));
    }
    case WeightUse::kInstanceNorm: return OfNormalized(op, ElementsFrom(op.inputs()[0]->type, 2));
    case WeightUse::kGroupNorm: {
      const double groups = static_cast<double>(op.GetInt(op.attr("num_groups") != nullptr ? "num_groups" : "groups", 1));
      return groups > 0 ? OfNormalized(op, ElementsFrom(op.inputs()[0]->type, 1) / groups) : std::nullopt;
    }
    case WeightUse::kNone: break;
  }
  if (!op.HasTrait(OpTrait::kArithmetic) || op.def().bounds == nullptr) return std::nullopt;
  const std::optional<Bounds> channels = OfChannels(op, of);
  return channels.has_value() ? channels : OfOwnNorm(op);
}

std::optional<Bounds> WeightedBounds::HullOfRows() const {
  Bounds hull{kInfinity, -kInfinity};
  for (const Bounds& row : rows_) hull = Union(hull, row);
  return IsFinite(hull) ? std::optional<Bounds>(hull) : std::nullopt;
}

std::optional<Bounds> WeightedBounds::TimesRows(const Bounds& x, const Var& weight, const RowLayout& layout, const Var& result,
                                                int channel_dim) {
  rows_of_ = nullptr;
  const RowSums* sums = IsFinite(x) ? sums_.Rows(weight, layout) : nullptr;
  if (sums == nullptr) return std::nullopt;
  rows_.resize(sums->positive.size());
  for (size_t r = 0; r < rows_.size(); ++r) {
    // Rounding the weights adds as much, however small the sum is because its terms cancel out.
    const double room = 4 * unit_ * (sums->positive[r] - sums->negative[r]) * x.Magnitude();
    rows_[r] = Plus(Plus(Times(sums->positive[r], x), Times(sums->negative[r], x)), {-room, room});
  }
  rows_of_ = &result;
  rows_dim_ = channel_dim;
  return HullOfRows();
}

// The results of a softmax over the last dimension add up to one along it: each element is a mean of a column of Y then.
std::optional<Bounds> WeightedBounds::OfMean(const Op& op, BoundsOf of) {
  const Op* maker = flow_.Maker(flow_.Root(*op.inputs()[0]));
  if (maker == nullptr || maker->inputs().empty()) return std::nullopt;
  const int rank = maker->inputs()[0]->type.rank();
  const int64_t axis = maker->GetInt("axis", -1);
  const bool softmax = onnx::TypeName(maker->def()) == "Softmax" || maker->type() == "softmax";
  if (!softmax || TransposesX(op) || rank == 0 || (axis != -1 && axis != rank - 1)) return std::nullopt;
  const Bounds y = of(*op.inputs()[1]);
  return IsFinite(y) ? std::optional<Bounds>(WithZero(y)) : std::nullopt;
}

std::optional<Bounds> WeightedBounds::OfProduct(const Op& op, BoundsOf of) {
  if (op.inputs().size() < 2) return std::nullopt;
  const Var& x = flow_.Root(*op.inputs()[0]);
  const Var& y = flow_.Root(*op.inputs()[1]);
  const bool trans_x = TransposesX(op);
  const double factor = op.attr("alpha") != nullptr ? op.GetFloat("alpha") : 1;
  std::optional<Bounds> product;
  if (const std::optional<WeightRows> rows = WeightRowsOf(op, flow_)) {
    product = TimesRows(Times(rows->factor, of(*rows->x)), *rows->weight, rows->layout, *op.outputs()[0], rows->channel_dim);
  } else if (op.type() != "mul") {
    product = OfMean(op, of);
    const int k = trans_x ? x.type.rank() - 2 : x.type.rank() - 1;
    const double terms = k >= 0 && IsKnown(x.type.dims[k]) ? static_cast<double>(x.type.dims[k]) : kInfinity;
    const double reach = terms * of(x).Magnitude() * of(y).Magnitude();
    if (!product.has_value() && std::isfinite(reach)) product = Bounds{-reach, reach};
    if (product.has_value()) product = Times(factor, *product);
  }
  if (op.inputs().size() < 3 || !product.has_value()) return product;
  rows_of_ = nullptr;
  const Var& c = flow_.Root(*op.inputs()[2]);
  const Bounds term = Times(op.attr("beta") != nullptr ? op.GetFloat("beta") : 1, IsWeight(c) ? Widened(HullOf(c)) : of(c));
  return IsFinite(term) ? std::optional<Bounds>(Plus(*product, term)) : std::nullopt;
}

// Padding adds zeros; of a transposed convolution a place gets some of the products of its row.
std::optional<Bounds> WeightedBounds::OfConv(const Op& op, BoundsOf of) {
  const std::optional<WeightRows> rows = WeightRowsOf(op, flow_);
  if (!rows.has_value()) return std::nullopt;
  std::optional<Bounds> out = TimesRows(WithZero(of(*rows->x)), *rows->weight, rows->layout, *op.outputs()[0], rows->channel_dim);
  if (!out.has_value() || op.inputs().size() < 3) return out;
  const Var& bias = flow_.Root(*op.inputs()[2]);
  const std::vector<float> terms = IsWeight(bias) ? OriginalFloats(bias) : std::vector<float>();
  rows_of_ = terms.size() == rows_.size() ? rows_of_ : nullptr;
  if (rows_of_ == nullptr) {
    const Bounds term = IsWeight(bias) ? Widened(HullOf(bias)) : of(bias);
    return IsFinite(term) ? std::optional<Bounds>(Plus(*out, term)) : std::nullopt;
  }
  for (size_t r = 0; r < rows_.size(); ++r) rows_[r] = Plus(rows_[r], Widened({terms[r], terms[r]}));
  return HullOfRows();
}

std::optional<Bounds> WeightedBounds::OfBatchNorm(const Op& op, BoundsOf of) {
  const bool frozen = op.GetBool("is_test") || op.GetBool("use_global_stats") || onnx::TypeName(op.def()) == "BatchNormalization";
  if (!frozen || op.GetInt("training_mode") != 0 || op.inputs().size() < 5) return std::nullopt;
  std::vector<float> stats[4];
  for (int i = 0; i < 4; ++i) {
    const Var& var = flow_.Root(*op.inputs()[1 + i]);
    if (StoredElements(var) == 0) return std::nullopt;
    stats[i] = OriginalFloats(var);
    if (stats[i].empty() || stats[i].size() != stats[0].size()) return std::nullopt;
  }
  const Var& x = flow_.Root(*op.inputs()[0]);
  const bool apart = FindRows(x, of) && rows_.size() == stats[0].size();
  const Bounds all = of(x);
  if (!apart && !IsFinite(all)) return std::nullopt;
  if (!apart) rows_.assign(stats[0].size(), all);
  for (size_t c = 0; c < rows_.size(); ++c) {
    const double factor = stats[0][c] / std::sqrt(stats[3][c] + op.GetFloat("epsilon"));
    const double term = stats[1][c] - factor * stats[2][c];
    if (!std::isfinite(factor) || !std::isfinite(term)) {
      rows_of_ = nullptr;
      return std::nullopt;
    }
    rows_[c] = Plus(Widened(Times(factor, rows_[c])), Widened({term, term}));
  }
  rows_of_ = op.outputs()[0];
  rows_dim_ = ChannelDim(op, *rows_of_);
  return HullOfRows();
}

// A normalised element is at most the root of their number: all others are zero then.
std::optional<Bounds> WeightedBounds::OfNormalized(const Op& op, double elements) {
  if (!(elements > 0)) return std::nullopt;
  Bounds out{-std::sqrt(elements), std::sqrt(elements)};
  if (op.input(1) != nullptr) {
    const double factor = Widened(HullOf(*op.input(1))).Magnitude();
    out = {out.low * factor, out.high * factor};
  }
  if (op.input(2) != nullptr) out = Plus(out, Widened(HullOf(*op.input(2))));
  return IsFinite(out) ? std::optional<Bounds>(out) : std::nullopt;
}

// Arithmetic with one stored number per channel, behind what was made with weights.
std::optional<Bounds> WeightedBounds::OfChannels(const Op& op, BoundsOf of) {
  if (op.inputs().size() != 2) return std::nullopt;
  const bool first = !IsStored(flow_.Root(*op.inputs()[0]));
  const Var& x = flow_.Root(*op.inputs()[first ? 0 : 1]);
  const Var& y = flow_.Root(*op.inputs()[first ? 1 : 0]);
  if (!IsWeight(y) || !FindRows(x, of) || !LiesAlong(op, x.type, y.type, rows_dim_)) return std::nullopt;
  const std::vector<float> values = OriginalFloats(y);
  if (values.size() != rows_.size()) return std::nullopt;
  for (size_t r = 0; r < rows_.size(); ++r) {
    const Bounds value = Widened({values[r], values[r]});
    const Bounds in[] = {first ? rows_[r] : value, first ? value : rows_[r]};
    rows_[r] = op.def().bounds(op, absl::MakeConstSpan(in));
  }
  rows_of_ = op.outputs()[0];
  const std::optional<Bounds> hull = HullOfRows();
  if (!hull.has_value()) rows_of_ = nullptr;
  return hull;
}

// The mean of the squares of `x` of which `root` is the root, an epsilon added or not.
const Var* WeightedBounds::MeanOfSquares(const Op& root, const Var& x) const {
  const Op* at = flow_.Maker(flow_.Root(*root.inputs()[0]));
  if (at != nullptr && at->HasTrait(OpTrait::kAdditive) && at->inputs().size() == 2) {
    const bool adds = BoundsOfStored(flow_.Root(*at->inputs()[1])).low >= 0;
    at = adds ? flow_.Maker(flow_.Root(*at->inputs()[0])) : nullptr;
  }
  if (at == nullptr || onnx::NativeName(at->def()) != "reduce_mean") return nullptr;
  const Op* square = flow_.Maker(flow_.Root(*at->inputs()[0]));
  if (square == nullptr || square->inputs().empty() || &flow_.Root(*square->inputs()[0]) != &x) return nullptr;
  const bool pair = square->inputs().size() == 2;
  const bool twice = pair && square->HasTrait(OpTrait::kProduct) && square->inputs()[0] == square->inputs()[1];
  const bool power =
      pair && onnx::NativeName(square->def()) == "elementwise_pow" && BoundsOfStored(flow_.Root(*square->inputs()[1])) == Bounds{2, 2};
  const bool factor = square->type() == "pow" && square->GetFloat("factor") == 2 && !pair;
  return twice || power || factor || square->type() == "square" ? at->outputs()[0] : nullptr;
}

// x over the root of the mean of its squares, or times the reciprocal of that root: an epsilon makes it smaller.
const Var* WeightedBounds::OwnMeanSquare(const Op& op) const {
  const bool product = op.HasTrait(OpTrait::kProduct);
  if (op.inputs().size() != 2 || !(product || op.HasTrait(OpTrait::kDivision))) return nullptr;
  for (int norm = 1; norm >= (product ? 0 : 1); --norm) {
    const Op* root = flow_.Maker(flow_.Root(*op.inputs()[norm]));
    const bool inverse = root != nullptr && root->HasTrait(OpTrait::kReciprocal);
    if (root == nullptr || inverse != product) continue;
    if (inverse && !root->HasTrait(OpTrait::kRoot)) root = flow_.Maker(flow_.Root(*root->inputs()[0]));
    if (root == nullptr || !root->HasTrait(OpTrait::kRoot) || root->inputs().empty()) continue;
    const Var* mean = MeanOfSquares(*root, flow_.Root(*op.inputs()[1 - norm]));
    if (mean != nullptr) return mean;
  }
  return nullptr;
}

std::optional<Bounds> WeightedBounds::OfOwnNorm(const Op& op) {
  const Var* mean = OwnMeanSquare(op);
  if (mean == nullptr) return std::nullopt;
  const double elements = ElementsOfMean(op.outputs()[0]->type, mean->type);
  return elements > 0 ? std::optional<Bounds>(Bounds{-std::sqrt(elements), std::sqrt(elements)}) : std::nullopt;
}

}  // namespace ampc
