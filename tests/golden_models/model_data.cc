#include "tests/golden_models/model_data.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"
#include "graph/formats/tensor_io/safetensors.h"
#include "runtime/compare/difference.h"
#include "tests/testlib/model_tolerance.h"

namespace ampc::testing {
namespace {

constexpr int64_t kRow = 6;  // class, score, x1, y1, x2, y2

std::string DiffValues(const std::vector<double>& found, const std::vector<double>& needed, ModelTolerance tolerance) {
  const Difference d = Compare(needed, found, DType::kF32);
  if (d.mismatched_non_finite > 0) return absl::StrCat(d.mismatched_non_finite, " values are finite in one of the two only");
  if (d.max_rel > tolerance.max_rel)
    return absl::StrCat("differs by ", d.max_rel, " of the largest value, allowed are ", tolerance.max_rel);
  if (d.cosine < tolerance.cosine) return absl::StrCat("has the cosine ", d.cosine, ", allowed is ", tolerance.cosine);
  return "";
}

std::vector<double> Columns(const std::vector<double>& rows, int64_t first, int64_t end) {
  std::vector<double> out;
  for (size_t r = 0; r < rows.size(); r += kRow) out.insert(out.end(), rows.begin() + r + first, rows.begin() + r + end);
  return out;
}

// Puts each row of `found` where the row of `needed` of its class with the nearest box is.
std::vector<double> InOrderOf(const std::vector<double>& needed, const std::vector<double>& found) {
  std::vector<double> out;
  std::vector<bool> used(found.size() / kRow, false);
  for (size_t n = 0; n < needed.size(); n += kRow) {
    size_t best = 0;
    double nearest = INFINITY;
    for (size_t f = 0; f < found.size(); f += kRow) {
      if (used[f / kRow]) continue;
      double distance = 1e6 * std::abs(found[f] - needed[n]);
      for (int64_t i = 2; i < kRow; ++i) distance += std::abs(found[f + i] - needed[n + i]);
      if (distance < nearest) {
        nearest = distance;
        best = f;
      }
    }
    used[best / kRow] = true;
    out.insert(out.end(), found.begin() + best, found.begin() + best + kRow);
  }
  return out;
}

std::string DiffRows(const std::vector<double>& found, const std::vector<double>& needed, ModelTolerance tolerance) {
  if (Columns(found, 0, 1) != Columns(needed, 0, 1)) return "has other classes";
  for (const auto& [first, end] : {std::pair<int64_t, int64_t>{1, 2}, {2, kRow}}) {
    const std::string diff = DiffValues(Columns(found, first, end), Columns(needed, first, end), tolerance);
    if (!diff.empty()) return absl::StrCat(first == 1 ? "score " : "box ", diff);
  }
  return "";
}

}  // namespace

std::string GoldenModel(const std::string& name) { return absl::StrCat("tests/golden/models/", name, ".pdmodel"); }

absl::StatusOr<std::vector<GoldenRun>> GoldenRuns(const std::string& name) {
  const std::string path = absl::StrCat("tests/golden/models/", name, ".safetensors");
  AMPC_ASSIGN_OR_RETURN(auto tensors, ReadSafetensors(path));
  std::vector<GoldenRun> runs;
  for (auto& [key, tensor] : tensors) {  // <run>/in|out/<var>, runs from 0 on
    const size_t run = key[0] - '0', slash = key.find('/', 2);
    if (run >= 10 || slash == std::string::npos)
      return BadInputError(absl::StrCat(path, ": '", key, "' is not <run>/in/... or <run>/out/..."));
    if (run >= runs.size()) runs.resize(run + 1);
    (key.substr(2, slash - 2) == "in" ? runs[run].in : runs[run].out)[key.substr(slash + 1)] = std::move(tensor);
  }
  return runs;
}

std::string DiffModelResult(const std::string& name, DType dtype, const HostTensor& found, const HostTensor& needed) {
  if (found.dtype() != needed.dtype() || found.dims() != needed.dims()) {
    return absl::StrCat("is ", Name(found.dtype()), " ", ShapeToString(found.dims()), ", needed ", Name(needed.dtype()), " ",
                        ShapeToString(needed.dims()));
  }
  if (!IsFloat(needed.dtype())) return found == needed ? "" : "differs";
  const std::vector<double> want = ToDoubles(needed), have = ToDoubles(found);
  const ModelTolerance tolerance = ModelToleranceFor(name, dtype);
  if (name != "detector") return DiffValues(have, want, tolerance);
  return DiffRows(dtype == DType::kF32 ? have : InOrderOf(want, have), want, tolerance);
}

}  // namespace ampc::testing
