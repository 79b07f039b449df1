// ModelFacts: the numbers that are said about a program.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "graph/base/json_writer.h"
#include "graph/program.h"

namespace ampc {

struct ModelFacts {
  int num_ops = 0;
  int float_ops = 0;  // with a float operand or result, casts left out
  int low_ops = 0;    // of these, whose first float result is f16 or bf16
  int casts = 0;
  int inserted_casts = 0;   // by AMP
  double matmul_flops = 0;  // of convolutions and matrix products; unknown dims count as 1
  double low_matmul_flops = 0;
  int num_weights = 0;
  int64_t weight_bytes = 0;
  std::map<DType, std::pair<int, int64_t>> weights_by_dtype;  // {count, bytes}
  std::map<std::string, std::pair<int, int>> ops_by_type;     // {count, low}, by the type that the model's file names
  std::vector<std::string> opaque_types;

  double low_flops_share() const { return matmul_flops > 0 ? low_matmul_flops / matmul_flops : 0; }
  std::string ShareText() const;       // "97.3 %" or "none"
  std::string FlopsText() const;       // "97.3 % low" or "none"
  void Write(JsonWriter& json) const;  // as fields of the open object; low_flops_share is null for "none"
};

ModelFacts FactsOf(const Program& program);
// Signature and facts, as `ampc inspect --json` prints them of the model with this name.
std::string InspectJson(const std::string& model, const Program& program);
// `ampc verify --json`.
std::string VerdictJson(const std::string& model, const absl::Status& verdict);

}  // namespace ampc
