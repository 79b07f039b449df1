#include "passes/amp/rescale/rescale_weights.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graph/base/status_macros.h"
#include "graph/converted.h"
#include "passes/amp/cast/cast_parameters.h"
#include "passes/amp/decide/decision.h"
#include "passes/amp/protect/stored_losses.h"
#include "passes/amp/rescale/rescaled.h"
#include "passes/amp/rescale/scaled_region.h"
#include "passes/analysis/use_def.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

// A power of two that changes no bits of the mantissa, and what the low type has of the products.
struct Product {
  bool exact = true;  // all values are finite and come back
  double largest = 0;
  LostValue lost;
};

class Rescaler {
 public:
  Rescaler(OnTiny on_tiny, Program& program) : on_tiny_(on_tiny), program_(program), uses_(program) {
    const auto& ops = program.main().ops();
    int ids = 0;
    for (const std::unique_ptr<Op>& op : ops) ids = std::max(ids, op->id() + 1);
    position_.assign(ids, 0);
    for (size_t i = 0; i < ops.size(); ++i) position_[ops[i]->id()] = static_cast<int>(i);
  }

  absl::StatusOr<Rescaled> Run(std::vector<std::string>* notes) {
    for (const std::unique_ptr<Var>& var : program_.main().vars()) {
      if (!IsStored(*var) || var->type.dtype != DType::kF32 || uses_.uses(*var).empty()) continue;
      const Use& use = uses_.uses(*var)[0];
      if (use.op->block().index() != 0 || !ReadsAsWeight(*use.op, *var)) continue;
      const Product now = Times(*var, 0);
      if (!now.exact || (now.lost.loss != Loss::kOverflows && now.lost.loss != Loss::kVanishes && now.lost.loss != Loss::kCoarse)) continue;
      AMPC_RETURN_IF_ERROR(Rescale(*var, now, notes));
    }
    return std::move(rescaled_);
  }

 private:
  Product Times(const Var& var, int exponent) const {
    Product out;
    ShareLost share(DType::kF16, on_tiny_, static_cast<uint64_t>(StoredElements(var)));
    bool enough = false;
    std::vector<float> scaled;
    const auto each = [&](auto&& see) {
      ForEachStored(var, [&](absl::Span<const float> values) {
        scaled.assign(values.begin(), values.end());
        for (float& value : scaled) value = std::ldexp(value, exponent);
        see(values);
      });
    };
    each([&](absl::Span<const float> values) {
      for (size_t i = 0; i < values.size(); ++i) {
        out.exact = out.exact && std::isfinite(scaled[i]) && std::ldexp(scaled[i], -exponent) == values[i];
        out.largest = std::max(out.largest, std::fabs(static_cast<double>(scaled[i])));
      }
      enough = enough || share.Enough(scaled);
    });
    out.lost = LossOf(out.largest, DType::kF16);
    if (out.lost.loss == Loss::kOverflows || !out.exact) return out;
    out.lost = {};
    if (enough || out.largest == 0) return out;
    each([&](absl::Span<const float>) { share.Add(scaled); });
    out.lost = share.Result();
    return out;
  }

  // Whether nothing that may be stored low is lost that was not lost before, and the weight is not lost any more.
  bool Fits(const ScaledRegion& region, int exponent) const {
    for (const ScaledValue& value : region.values()) {
      const Product scaled = Times(*value.var, value.sign * exponent);
      if (!scaled.exact) return false;
      if (!value.low || scaled.lost.loss == Loss::kNone || (value.term && scaled.lost.loss != Loss::kOverflows)) continue;
      return false;
    }
    return true;
  }

  // The exponent that brings the largest magnitudes of all factors that may be stored low as close to 1 as can be; of those around it the
  // first that fits.
  std::optional<int> Choose(const ScaledRegion& region) const {
    std::vector<std::pair<int, int>> sizes;  // by sign of the exponent: the power of two above the largest magnitude
    for (const ScaledValue& value : region.values()) {
      const double largest = Times(*value.var, 0).largest;
      if (value.low && !value.term && largest > 0) sizes.emplace_back(value.sign, std::ilogb(largest) + 1);
    }
    const int ideal = -sizes[0].second;
    int best = 0, least = std::numeric_limits<int>::max();
    for (int i = 1; i <= std::abs(ideal); ++i) {
      const int exponent = ideal < 0 ? -i : i;
      int cost = 0;
      for (const auto& [sign, size] : sizes) cost = std::max(cost, std::abs(size + sign * exponent));
      if (cost < least) {
        best = exponent;
        least = cost;
      }
    }
    for (const int step : {0, 1, -1, 2, -2}) {
      if (best + step != 0 && Fits(region, best + step)) return best + step;
    }
    return std::nullopt;
  }

  absl::Status Rescale(Var& weight, const Product& now, std::vector<std::string>* notes) {
    const std::string what = absl::StrCat("weight '", weight.name(), "', of which ", WhatIsLost(now.lost, DType::kF16), ", is ");
    ScaledRegion region(uses_, position_);
    if (!region.Grow(weight)) {
      notes->push_back(absl::StrCat(what, "not rescaled: ", region.why()));
      return absl::OkStatus();
    }
    const std::optional<int> found = Choose(region);
    if (!found.has_value()) {
      notes->push_back(absl::StrCat(what, "not rescaled: no power of two suits all that would be scaled with it"));
      return absl::OkStatus();
    }
    const int exponent = *found;
    std::string with;
    for (const ScaledValue& value : region.values()) {
      const int power = value.sign * exponent;
      if (value.var != &weight) absl::StrAppend(&with, with.empty() ? ", with it " : ", ", "'", value.var->name(), "' by 2^", power);
      AMPC_RETURN_IF_ERROR(ScaleStored(power, *value.var));
      int& sum = rescaled_.exponents[value.var->exported()];
      sum += power;
      if (sum == 0) rescaled_.exponents.erase(value.var->exported());
    }
    notes->push_back(absl::StrCat(what, "multiplied by 2^", exponent, with));
    return absl::OkStatus();
  }

  const OnTiny on_tiny_;
  Program& program_;
  const UseDef uses_;
  std::vector<int> position_;  // by Op::id, of the main block
  Rescaled rescaled_;
};

}  // namespace

PassInfo RescaleWeightsPass() {
  PassInfo info;
  info.name = "rescale-weights";
  info.summary = "multiplies weights that f16 lacks by powers of two, and takes these back behind them";
  info.options = {{"on_tiny", "what becomes of values below the smallest normal one: subnormal (default), flush, keep"}};
  info.make = [](const PassOptions& options) -> absl::StatusOr<std::unique_ptr<Pass>> {
    AMPC_ASSIGN_OR_RETURN(const OnTiny on_tiny, OnTinyOption(options));
    return MakePass([on_tiny](PassContext& ctx, Program& program) -> absl::StatusOr<bool> {
      if (IsConverted(program)) return false;
      AMPC_ASSIGN_OR_RETURN(Rescaled rescaled, Rescaler(on_tiny, program).Run(&ctx.notes));
      const bool any = !rescaled.exponents.empty();
      ctx.Put(std::make_unique<Rescaled>(std::move(rescaled)));
      return any;
    });
  };
  return info;
}

}  // namespace ampc
