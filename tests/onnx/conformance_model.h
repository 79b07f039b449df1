// The models of the ONNX standard's backend tests, as Debian's libonnx-testdata installs them: <root>/<folder>/<name>/model.onnx with
// test_data_set_<n>/input_<i>.pb and output_<i>.pb.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/base/host_tensor.h"
#include "graph/type.h"
#include "tests/onnx/hidden.h"

namespace ampc::testing {

// Folders of models in `folder`, sorted; empty when there is no such folder.
std::vector<std::string> ConformanceModels(const std::string& folder);

// The tensor in a TensorProto or an OptionalProto, or the elements of a SequenceProto where `declared` is an array. The data stores bf16 as
// unsigned integers of 16 bits, so those are bf16 where `declared` says so. Unsupported for an element type that ampc does not have;
// BadInput for bytes that are no tensor.
absl::StatusOr<std::vector<HostTensor>> ReadValueProto(const std::string& path, const TensorType& declared);

// Loads the model of `folder`, runs it on each data set and compares what it gives with the recorded outputs: ok, or the first thing
// that went wrong or differs. A sequence is fed and fetched element by element (unpacked.h).
absl::Status RunConformanceModel(const std::string& folder);
// The same of the model behind HideFeeds.
absl::Status RunHiddenModel(const std::string& folder, Hide what);
// The same of the model as `ampc convert` writes it for `low`, f16 or bf16; not run where that is the original, byte for byte. `scratch`: a
// file to write.
absl::Status RunConvertedModel(const std::string& folder, DType low, const std::string& scratch);

}  // namespace ampc::testing
