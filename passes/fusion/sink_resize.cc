#include "passes/fusion/sink_resize.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/op_registry.h"
#include "passes/fusion/constant_value.h"
#include "passes/fusion/conv.h"
#include "passes/fusion/rewrite.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

using Floats = std::vector<float>;

// An operand of the concat: its channels [first, last), and the resize that makes it where that moves.
struct Part {
  Var* image;
  int64_t first, last;
  const Op* resize;  // null: it stays
};

class ResizeSinker {
 public:
  explicit ResizeSinker(Program& program)
      : program_(program), rewrite_(program), concat_(Ops().Find("concat")), add_(Ops().Find("elementwise_add")) {}

  bool Run() {
    if (concat_ == nullptr || add_ == nullptr) return false;
    const bool changed = rewrite_.Run([this](const Op& op) { return &op.def() == concat_ && Sink(op); });
    if (changed) RemoveUnusedVars(program_);
    return changed;
  }

 private:
  bool Sink(const Op& concat) {
    const std::vector<const Op*> convs = Readers(concat);
    int64_t channels = 0;
    for (const Op* conv : convs) channels += conv->output("Output")->type.dims[1];
    const std::vector<Part> parts = convs.empty() ? std::vector<Part>() : Parts(concat, channels);
    const auto moves = [](const Part& p) { return p.resize != nullptr; };
    if (std::none_of(parts.begin(), parts.end(), moves) || std::all_of(parts.begin(), parts.end(), moves)) return false;
    std::vector<Floats> filters;
    for (const Op* conv : convs) {
      std::optional<Floats> filter = ConstantFloats(*conv->input("Filter"));
      if (!filter.has_value()) return false;
      filters.push_back(*std::move(filter));
    }
    Var* const rest = Join(concat, parts);
    for (size_t i = 0; i < convs.size(); ++i) Split(*convs[i], filters[i], parts, rest);
    rewrite_.Drop(concat);
    for (const Part& part : parts) {
      if (part.resize != nullptr) rewrite_.Drop(*part.resize);
    }
    return true;
  }

  // All that reads the joined value, where that is pointwise convolutions; nothing where it is something else.
  std::vector<const Op*> Readers(const Op& concat) const {
    const Var& joined = *concat.outputs()[0];
    if (joined.kind != VarKind::kTemp || uses_.fetched(joined) || joined.type.rank() != 4 || !IsFusedType(joined.type.dtype)) return {};
    const int64_t axis = concat.GetInt("axis");
    if (axis != 1 && axis != -3) return {};
    if (concat.input("AxisTensor") != nullptr) return {};
    std::vector<const Op*> convs;
    for (const Use& use : uses_.uses(joined)) {
      if (&use.op->block() != &concat.block() || rewrite_.IsGone(*use.op) || !IsPointwise(*use.op, joined)) return {};
      convs.push_back(use.op);
    }
    return convs;
  }

  bool IsPointwise(const Op& op, const Var& in) const {
    if (op.type() != "conv2d" || op.input("Input") != &in || op.input("ResidualData") != nullptr || HasActivation(op)) return false;
    const Var& filter = *op.input("Filter");
    const TensorType& w = filter.type;
    if (!w.IsStatic() || w.rank() != 4 || w.dims[2] != 1 || w.dims[3] != 1 || w.dims[1] != in.type.dims[1]) return false;
    if (w.dtype != in.type.dtype || op.output("Output")->type.dtype != w.dtype || op.output("Output")->type.rank() != 4) return false;
    const auto all = [&op](const char* attr, int64_t value) {
      const std::vector<int64_t> values = op.GetInts(attr);
      return std::all_of(values.begin(), values.end(), [value](int64_t v) { return v == value; });
    };
    const Var* bias = op.input("Bias");
    const bool stable =
        uses_.num_writers(filter) == 0 && (bias == nullptr || bias->kind == VarKind::kTemp || uses_.num_writers(*bias) == 0);
    return stable && op.GetInt("groups", 1) == 1 && op.GetString("data_format") != "NHWC" && all("strides", 1) && all("paddings", 0);
  }

  // Of a concat that convolutions with so many channels read; nothing where a size is not known.
  std::vector<Part> Parts(const Op& concat, int64_t channels) const {
    std::vector<Part> parts;
    int64_t first = 0;
    for (Var* var : concat.inputs()) {
      if (var->type.rank() != 4 || !IsKnown(var->type.dims[1])) return {};
      const int64_t last = first + var->type.dims[1];
      parts.push_back({var, first, last, channels <= last - first ? Enlarging(*var, concat) : nullptr});
      first = last;
    }
    return parts;
  }

  // The op that makes `var` of less than half as many positions, for `reader` alone.
  const Op* Enlarging(const Var& var, const Op& reader) const {
    const Op* op = var.kind == VarKind::kTemp ? uses_.producer(var) : nullptr;
    if (op == nullptr || !uses_.single_use(var) || &op->block() != &reader.block() || rewrite_.IsGone(*op)) return nullptr;
    if (!absl::EndsWith(op->type(), "_interp_v2") || op->inputs().size() != 1 || op->GetString("data_layout") == "NHWC") return nullptr;
    const Var& x = *op->inputs()[0];
    const bool stable = x.kind == VarKind::kTemp || uses_.num_writers(x) == 0;
    return stable && x.type.rank() == 4 && x.type.dtype == var.type.dtype && Growth(*op, x.type.dims, var.type.dims) >= 2 ? op : nullptr;
  }

  // As many times as many positions, as far as that is known; else 0.
  static double Growth(const Op& op, const Dims& from, const Dims& to) {
    double growth = 1;
    const std::vector<double> scale = op.GetFloats("scale");
    for (size_t d = 2; d < 4; ++d) {
      if (IsKnown(from[d]) && IsKnown(to[d]) && from[d] > 0) {
        growth *= static_cast<double>(to[d]) / static_cast<double>(from[d]);
      } else {
        growth *= scale.empty() ? 0 : scale[std::min(scale.size() - 1, d - 2)];
      }
    }
    return growth;
  }

  // The parts that stay, joined.
  Var* Join(const Op& concat, const std::vector<Part>& parts) {
    std::vector<Var*> stay;
    Dims dims = concat.outputs()[0]->type.dims;
    dims[1] = 0;
    for (const Part& part : parts) {
      if (part.resize != nullptr) continue;
      stay.push_back(part.image);
      dims[1] += part.last - part.first;
    }
    if (stay.size() == 1) return stay[0];
    Var* const joined = NewVar(*concat.outputs()[0], ".rest", std::move(dims));
    std::unique_ptr<Op> op = Like(concat);
    op->SetInputs(concat_->InputSlot("X"), stay);
    op->SetOutputs(concat_->OutputSlot("Out"), {&joined, 1});
    rewrite_.InsertBefore(concat, std::move(op));
    return joined;
  }

  // `conv` as the sum of convolutions of the parts; `rest`: of those that stay.
  void Split(const Op& conv, const Floats& filter, const std::vector<Part>& parts, Var* rest) {
    Var* const y = conv.output("Output");
    Var* sum = nullptr;
    for (const Part& part : parts) {
      if (part.resize == nullptr) continue;
      Dims dims = part.resize->inputs()[0]->type.dims;
      dims[1] = y->type.dims[1];
      Var* const small = NewVar(*y, ".small", std::move(dims));
      rewrite_.InsertBefore(conv, Convolve(conv, part.resize->inputs()[0], filter, {&part, 1}, small));
      Var* const large = NewVar(*y, ".large", y->type.dims);
      std::unique_ptr<Op> resize = Like(*part.resize);
      resize->SetInputs(0, {&small, 1});
      resize->SetOutputs(0, {&large, 1});
      rewrite_.InsertBefore(conv, std::move(resize));
      sum = sum == nullptr ? large : Sum(conv, sum, large, NewVar(*y, ".sum", y->type.dims));
    }
    Var* const own = NewVar(*y, ".rest", y->type.dims);
    std::vector<Part> stay = parts;
    std::erase_if(stay, [](const Part& p) { return p.resize != nullptr; });
    std::unique_ptr<Op> last = Convolve(conv, rest, filter, stay, own);
    if (Var* bias = conv.input("Bias"); bias != nullptr) last->SetInputs(conv.def().InputSlot("Bias"), {&bias, 1});
    rewrite_.InsertBefore(conv, std::move(last));
    rewrite_.Replace(conv, Add(conv, own, sum, y));
  }

  // A convolution like `conv` of `x`, which has the channels of these parts, without a bias.
  std::unique_ptr<Op> Convolve(const Op& conv, Var* x, const Floats& filter, absl::Span<const Part> parts, Var* y) {
    const Var& all = *conv.input("Filter");
    const int64_t out = all.type.dims[0], in = all.type.dims[1];
    Floats cut;
    for (int64_t o = 0; o < out; ++o) {
      for (const Part& p : parts) cut.insert(cut.end(), filter.begin() + o * in + p.first, filter.begin() + o * in + p.last);
    }
    const int64_t channels = static_cast<int64_t>(cut.size()) / std::max<int64_t>(1, out);
    Var* const w = AddConstant(conv.block(), absl::StrCat(all.name(), ".part"), MakeConstant(all.type.dtype, {out, channels, 1, 1}, cut));
    std::unique_ptr<Op> op = Like(conv);
    op->SetInputs(conv.def().InputSlot("Input"), {&x, 1});
    op->SetInputs(conv.def().InputSlot("Filter"), {&w, 1});
    op->SetOutputs(conv.def().OutputSlot("Output"), {&y, 1});
    return op;
  }

  // An op with the attributes of `other`.
  static std::unique_ptr<Op> Like(const Op& other) {
    std::unique_ptr<Op> op = Rewrite::NewOp(&other.def(), other);
    for (const Attr& attr : other.attrs()) op->SetAttr(attr.name, attr.value);
    return op;
  }

  Var* Sum(const Op& conv, Var* a, Var* b, Var* to) {
    rewrite_.InsertBefore(conv, Add(conv, a, b, to));
    return to;
  }

  std::unique_ptr<Op> Add(const Op& conv, Var* a, Var* b, Var* to) const {
    std::unique_ptr<Op> op = Rewrite::NewOp(add_, conv);
    op->SetInputs(add_->InputSlot("X"), {&a, 1});
    op->SetInputs(add_->InputSlot("Y"), {&b, 1});
    op->SetOutputs(add_->OutputSlot("Out"), {&to, 1});
    return op;
  }

  static Var* NewVar(const Var& like, const char* what, Dims dims) {
    return Rewrite::NewTemp(like.block(), absl::StrCat(like.name(), what), like.type.dtype, std::move(dims));
  }

  Program& program_;
  Rewrite rewrite_;
  const UseDef& uses_ = rewrite_.uses();
  const OpDef* concat_;
  const OpDef* add_;
};

}  // namespace

PassInfo SinkResizePass() {
  return SimplePass("sink-resize", "computes pointwise convolutions of enlarged images before these are enlarged",
                    [](PassContext&, Program& program) -> absl::StatusOr<bool> { return ResizeSinker(program).Run(); });
}

}  // namespace ampc
