#include "kernels/spec/index/index_spec.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"

namespace ampc {
namespace {

absl::Status CheckIndex(const SpecView& view, DType type) { return view.CheckType(type, {DType::kI32, DType::kI64}); }

absl::StatusOr<NdIndexSpec> NdIndexOf(const SpecView& view, absl::string_view slot, const Dims& index, const Dims& dims) {
  NdIndexSpec out;
  out.flat = view.In(slot);
  out.type = view.InDesc(slot).dtype;
  out.from_end = view.op().GetBool("from_end");
  AMPC_RETURN_IF_ERROR(CheckIndex(view, out.type));
  if (index.empty() || index.back() > static_cast<int64_t>(dims.size())) return view.Internal("the index does not fit the operand");
  const int64_t depth = index.back();
  out.sizes.assign(dims.begin(), dims.begin() + depth);
  for (size_t d = 0; d + 1 < index.size(); ++d) out.rows *= index[d];
  for (size_t d = static_cast<size_t>(depth); d < dims.size(); ++d) out.row_elements *= dims[d];
  return out;
}

absl::StatusOr<int64_t> AxisIn(const SpecView& view, int64_t axis, const Dims& dims) {
  const int64_t rank = static_cast<int64_t>(dims.size()), at = FromEnd(axis, rank);
  if (at < 0 || at >= rank) return view.Internal(absl::StrCat("axis ", axis, " lies outside rank ", rank));
  return at;
}

}  // namespace

int64_t NdIndexSpec::slots() const {
  int64_t n = 1;
  for (int64_t size : sizes) n *= size;
  return n;
}

absl::StatusOr<NdIndexSpec> ReadNdIndex(const SpecView& view, absl::string_view slot, const Dims& dims) {
  return NdIndexOf(view, slot, view.InDesc(slot).dims, dims);
}

absl::StatusOr<NdIndexSpec> ReadRowIndex(const SpecView& view, absl::string_view slot, const Dims& dims) {
  Dims index = view.InDesc(slot).dims;
  if (index.size() != 2) index.push_back(1);
  return NdIndexOf(view, slot, index, dims);
}

absl::StatusOr<SliceIndexSpec> ReadSliceIndex(const SpecView& view) {
  const std::string& type = view.op().type();
  const bool lookup = absl::StartsWith(type, "lookup_table"), gradient = absl::EndsWith(type, "_grad");
  const std::string ids = lookup ? "Ids" : "Index", slot = absl::StrCat(lookup ? "W" : "X", gradient ? "@GRAD" : "");
  SliceIndexSpec s;
  s.flat = view.In(ids);
  s.type = view.InDesc(ids).dtype;
  s.from_end = view.op().GetBool("from_end");
  s.table = gradient ? view.Out(slot) : view.In(slot);
  AMPC_RETURN_IF_ERROR(CheckIndex(view, s.type));
  const TensorDesc& x = gradient ? view.OutDesc(slot) : view.InDesc(slot);
  if (lookup && x.dims.size() != 2) return view.Internal("W needs two dimensions");
  int64_t axis = lookup ? 0 : view.op().GetInt(absl::StartsWith(type, "index_select") ? "dim" : "axis", 0);
  if (!lookup && view.In("Axis") >= 0) {
    const auto value = view.Ints("Axis");
    if (!value || value->empty()) return view.Unsupported("Axis must be known before the run");
    axis = (*value)[0];
  }
  AMPC_ASSIGN_OR_RETURN(axis, AxisIn(view, axis, x.dims));
  s.slots = x.dims[axis];
  for (int64_t d = 0; d < static_cast<int64_t>(x.dims.size()); ++d) {
    if (d != axis) (d < axis ? s.outer : s.width) *= x.dims[d];
  }
  s.count = view.InDesc(ids).NumElements();
  if (lookup) s.padding = view.op().GetInt("padding_idx", -1);
  const TensorDesc& taken = gradient ? view.InDesc("Out@GRAD") : view.OutDesc("Out");
  if (s.outer * s.count * s.width != taken.NumElements()) return view.Internal("what is taken does not fit the index");
  return s;
}

absl::StatusOr<AlongAxisSpec> ReadAlongAxis(const SpecView& view) {
  const std::string& type = view.op().type();
  const bool gradient = absl::EndsWith(type, "_grad"), sample = absl::StartsWith(type, "index_sample");
  const bool along = absl::StartsWith(type, "take_along_axis"), sorted = !sample && !along;
  const std::string x = absl::StrCat(along ? "Input" : "X", gradient ? "@GRAD" : ""), ids = sorted ? "Indices" : "Index";
  AlongAxisSpec a;
  a.flat = view.In(ids);
  a.type = view.InDesc(ids).dtype;
  a.from_end = view.op().GetBool("from_end");
  a.table = gradient ? view.Out(x) : view.In(x);
  if (gradient) a.gradient = view.In(along ? "Result@GRAD" : "Out@GRAD");
  AMPC_RETURN_IF_ERROR(CheckIndex(view, a.type));
  const TensorDesc &table = gradient ? view.OutDesc(x) : view.InDesc(x), &index = view.InDesc(ids);
  int64_t axis = sample ? 1 : along ? view.op().GetInt("Axis") : type == "top_k_grad" ? -1 : view.op().GetInt("axis", -1);
  if (index.dims.size() != table.dims.size()) return view.Internal("the rank of the index does not fit");
  if (!table.dims.empty()) {
    AMPC_ASSIGN_OR_RETURN(axis, AxisIn(view, axis, table.dims));
    a.slots = table.dims[axis];
    a.count = index.dims[axis];
    for (int64_t d = 0; d < static_cast<int64_t>(table.dims.size()); ++d) {
      if (d == axis) continue;
      (d < axis ? a.outer : a.inner) *= table.dims[d];
      if (index.dims[d] != table.dims[d]) return view.Internal("the index and the operand differ beside the axis");
    }
  }
  const TensorDesc& taken = gradient ? view.spec().inputs[a.gradient] : view.spec().outputs[0];
  if (taken.NumElements() != index.NumElements()) return view.Internal("the index and what is taken differ in size");
  return a;
}

absl::StatusOr<ScatterSpec> ReadScatter(const SpecView& view) {
  const TensorDesc &x = view.InDesc("X"), &updates = view.InDesc("Updates");
  ScatterSpec s;
  s.x = view.In("X");
  s.updates = view.In("Updates");
  if (view.op().type() == "scatter") {
    AMPC_ASSIGN_OR_RETURN(s.index, ReadRowIndex(view, "Ids", x.dims));
    s.adds = s.from_zero = !view.op().GetBool("overwrite");
  } else {
    AMPC_ASSIGN_OR_RETURN(s.index, ReadNdIndex(view, "Index", x.dims));
  }
  if (s.adds) AMPC_RETURN_IF_ERROR(view.CheckType(x.dtype, {DType::kF32, DType::kF64, DType::kI32, DType::kI64}));
  if (updates.NumElements() != s.index.rows * s.index.row_elements) return view.Internal("the index and the updates differ in size");
  return s;
}

absl::StatusOr<ScatterGradientSpec> ReadScatterGradient(const SpecView& view) {
  const TensorDesc& gradient = view.InDesc("Out@GRAD");
  ScatterGradientSpec s;
  s.gradient = view.In("Out@GRAD");
  s.x = view.Out("X@GRAD");
  s.updates = view.Out("Updates@GRAD");
  if (view.op().type() == "scatter_grad") {
    AMPC_ASSIGN_OR_RETURN(s.index, ReadRowIndex(view, "Ids", gradient.dims));
    s.replaces = true;
    s.last_wins = view.op().GetBool("overwrite");
  } else {
    AMPC_ASSIGN_OR_RETURN(s.index, ReadNdIndex(view, "Index", gradient.dims));
  }
  return s;
}

}  // namespace ampc
