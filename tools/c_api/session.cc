// Sessions and their runs.
#include "runtime/session.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graph/base/error.h"
#include "graph/base/memory_files.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"
#include "tools/c_api/ampc.h"
#include "tools/c_api/errors.h"
#include "tools/c_api/model.h"
#include "tools/c_api/tensors.h"
#include "tools/c_api/types.h"
#include "tools/cli/version.h"

namespace ampc::c_api {
namespace {

// A value as C sees it; symbols of unknown dims are -1.
struct Value {
  std::string name;
  int32_t dtype;
  int32_t rank;
  std::vector<int64_t> dims;
};

std::vector<Value> Describe(const std::vector<ValueInfo>& infos) {
  std::vector<Value> values;
  for (const ValueInfo& info : infos) {
    Value value{info.name, ToC(info.type.dtype), info.type.has_rank ? info.type.rank() : -1, {}};
    for (const int64_t dim : info.type.dims) value.dims.push_back(IsKnown(dim) ? dim : kUnknownDim);
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace
}  // namespace ampc::c_api

struct ampc_session {
  ampc::Session session;
  std::vector<ampc::c_api::Value> inputs, outputs;
};

struct ampc_results {
  std::vector<ampc::HostTensor> tensors;  // in the order of the model's outputs
  std::vector<std::string> names;
};

namespace ampc::c_api {
namespace {

absl::Status SetOption(const std::string& key, const std::string& value, SessionOptions& out) {
  const std::vector<std::string> keys = {"device", "threads", "strict-rounding", "tf32", "params", "tune-plans"};
  if (key == "device" || key == "params" || key == "tune-plans") {
    (key == "device" ? out.device : key == "params" ? out.params : out.tune_plans) = value;
  } else if (key == "threads") {
    if (!absl::SimpleAtoi(value, &out.threads)) return UsageError(absl::StrCat("threads is '", value, "', a number is needed"));
  } else if (key == "strict-rounding" || key == "tf32") {
    if (value != "true" && value != "false") return UsageError(absl::StrCat(key, " is '", value, "', true or false is needed"));
    (key == "tf32" ? out.tf32 : out.strict_rounding) = value == "true";
  } else {
    return UsageError(absl::StrCat("there is no option '", key, "'", Suggest(key, keys)));
  }
  return absl::OkStatus();
}

absl::Status Load(const ampc_model& model, const ampc_option* options, size_t num_options, ampc_session** session) {
  AMPC_RETURN_IF_ERROR(Need(session, "session"));
  AMPC_RETURN_IF_ERROR(CheckOptions(options, num_options));
  SessionOptions how;
  for (size_t i = 0; i < num_options; ++i) AMPC_RETURN_IF_ERROR(SetOption(options[i].key, options[i].value, how));
  const MemoryFiles files = FilesOf(model);
  const MemoryFiles::Scope memory(model.num_files == 0 ? nullptr : &files);
  AMPC_ASSIGN_OR_RETURN(Session loaded, Session::Load(model.path, how));
  std::vector<Value> inputs = Describe(loaded.inputs()), outputs = Describe(loaded.outputs());
  *session = new ampc_session{std::move(loaded), std::move(inputs), std::move(outputs)};
  return absl::OkStatus();
}

absl::Status Get(const std::vector<Value>& values, size_t index, ampc_value* out) {
  AMPC_RETURN_IF_ERROR(Need(out, "value"));
  if (index >= values.size()) return UsageError(absl::StrCat("the index is ", index, ", the model has ", values.size()));
  const Value& value = values[index];
  *out = {value.name.c_str(), value.dtype, value.rank, value.dims.data()};
  return absl::OkStatus();
}

void View(const ampc_results& results, size_t index, ampc_tensor* out) {
  const HostTensor& tensor = results.tensors[index];
  *out = {results.names[index].c_str(), ToC(tensor.dtype()), tensor.rank(), tensor.dims().data(), tensor.data(), tensor.size_bytes()};
}

using Tensors = absl::InlinedVector<HostTensor, 8>;

// Over the callers' memory.
absl::StatusOr<Tensors> InOrder(absl::Span<const ampc_tensor> given, absl::string_view what,
                                absl::StatusOr<HostTensor> (*over)(const ampc_tensor&)) {
  Tensors tensors;
  for (size_t i = 0; i < given.size(); ++i) {
    absl::StatusOr<HostTensor> tensor = over(given[i]);
    if (!tensor.ok()) return Annotate(tensor.status(), absl::StrCat(what, " ", i));
    tensors.push_back(*std::move(tensor));
  }
  return tensors;
}

absl::InlinedVector<const HostTensor*, 8> PointersTo(const Tensors& tensors) {
  absl::InlinedVector<const HostTensor*, 8> pointers;
  for (const HostTensor& tensor : tensors) pointers.push_back(&tensor);
  return pointers;
}

}  // namespace
}  // namespace ampc::c_api

using namespace ampc::c_api;

const char* ampc_version(void) { return ampc::Version(); }

ampc_code ampc_load(const char* path, const ampc_option* options, size_t num_options, ampc_session** session) {
  return Call("ampc_load", [=]() -> absl::Status {
    AMPC_RETURN_IF_ERROR(Need(path, "path"));
    return Load({path, nullptr, 0}, options, num_options, session);
  });
}

ampc_code ampc_load_model(const ampc_model* model, const ampc_option* options, size_t num_options, ampc_session** session) {
  return Call("ampc_load_model", [=]() -> absl::Status {
    AMPC_RETURN_IF_ERROR(CheckModel(model, "model"));
    return Load(*model, options, num_options, session);
  });
}

void ampc_free_session(ampc_session* session) { delete session; }

size_t ampc_num_inputs(const ampc_session* session) { return session == nullptr ? 0 : session->inputs.size(); }

size_t ampc_num_outputs(const ampc_session* session) { return session == nullptr ? 0 : session->outputs.size(); }

ampc_code ampc_input(const ampc_session* session, size_t index, ampc_value* value) {
  return Call("ampc_input", [=]() -> absl::Status {
    AMPC_RETURN_IF_ERROR(Need(session, "session"));
    return Get(session->inputs, index, value);
  });
}

ampc_code ampc_output(const ampc_session* session, size_t index, ampc_value* value) {
  return Call("ampc_output", [=]() -> absl::Status {
    AMPC_RETURN_IF_ERROR(Need(session, "session"));
    return Get(session->outputs, index, value);
  });
}

ampc_code ampc_run(const ampc_session* session, const ampc_tensor* inputs, size_t num_inputs, ampc_results** results) {
  return Call("ampc_run", [=]() -> absl::Status {
    AMPC_RETURN_IF_ERROR(Need(session, "session"));
    AMPC_RETURN_IF_ERROR(Need(results, "results"));
    AMPC_RETURN_IF_ERROR(NeedArray(inputs, num_inputs, "inputs"));
    AMPC_ASSIGN_OR_RETURN(const ampc::TensorMap feeds, Feeds(absl::MakeConstSpan(inputs, num_inputs)));
    auto out = std::make_unique<ampc_results>();
    AMPC_ASSIGN_OR_RETURN(ampc::TensorMap fetched, session->session.Run(feeds));
    for (const Value& value : session->outputs) {
      // A value may be fetched twice.
      out->names.push_back(value.name);
      out->tensors.push_back(fetched.find(value.name)->second);
    }
    *results = out.release();
    return absl::OkStatus();
  });
}

ampc_code ampc_run_ordered(const ampc_session* session, const ampc_tensor* inputs, size_t num_inputs, ampc_results** results) {
  return Call("ampc_run_ordered", [=]() -> absl::Status {
    AMPC_RETURN_IF_ERROR(Need(session, "session"));
    AMPC_RETURN_IF_ERROR(Need(results, "results"));
    AMPC_RETURN_IF_ERROR(NeedArray(inputs, num_inputs, "inputs"));
    auto out = std::make_unique<ampc_results>();
    AMPC_ASSIGN_OR_RETURN(const Tensors feeds, InOrder(absl::MakeConstSpan(inputs, num_inputs), "input", Borrow));
    AMPC_ASSIGN_OR_RETURN(out->tensors, session->session.RunOrdered(PointersTo(feeds)));
    for (const Value& value : session->outputs) out->names.push_back(value.name);
    *results = out.release();
    return absl::OkStatus();
  });
}

ampc_code ampc_run_into(const ampc_session* session, const ampc_tensor* inputs, size_t num_inputs, const ampc_tensor* outputs,
                        size_t num_outputs) {
  return Call("ampc_run_into", [=]() -> absl::Status {
    AMPC_RETURN_IF_ERROR(Need(session, "session"));
    AMPC_RETURN_IF_ERROR(NeedArray(inputs, num_inputs, "inputs"));
    AMPC_RETURN_IF_ERROR(NeedArray(outputs, num_outputs, "outputs"));
    if (num_outputs != session->outputs.size()) {
      return ampc::UsageError(absl::StrCat("found ", num_outputs, " outputs, the model has ", session->outputs.size()));
    }
    AMPC_ASSIGN_OR_RETURN(const Tensors feeds, InOrder(absl::MakeConstSpan(inputs, num_inputs), "input", Borrow));
    AMPC_ASSIGN_OR_RETURN(Tensors results, InOrder(absl::MakeConstSpan(outputs, num_outputs), "output", BorrowMutable));
    AMPC_RETURN_IF_ERROR(session->session.RunInto(PointersTo(feeds), absl::MakeSpan(results)));
    for (size_t i = 0; i < num_outputs; ++i) {
      if (results[i].data() != outputs[i].data && outputs[i].bytes > 0)
        std::memcpy(const_cast<void*>(outputs[i].data), results[i].data(), outputs[i].bytes);
    }
    return absl::OkStatus();
  });
}

void ampc_free_results(ampc_results* results) { delete results; }

size_t ampc_num_results(const ampc_results* results) { return results == nullptr ? 0 : results->tensors.size(); }

ampc_code ampc_result(const ampc_results* results, size_t index, ampc_tensor* tensor) {
  return Call("ampc_result", [=]() -> absl::Status {
    AMPC_RETURN_IF_ERROR(Need(results, "results"));
    AMPC_RETURN_IF_ERROR(Need(tensor, "tensor"));
    if (index >= results->tensors.size())
      return ampc::UsageError(absl::StrCat("the index is ", index, ", there are ", results->tensors.size(), " results"));
    View(*results, index, tensor);
    return absl::OkStatus();
  });
}

ampc_code ampc_result_named(const ampc_results* results, const char* name, ampc_tensor* tensor) {
  return Call("ampc_result_named", [=]() -> absl::Status {
    AMPC_RETURN_IF_ERROR(Need(results, "results"));
    AMPC_RETURN_IF_ERROR(Need(name, "name"));
    AMPC_RETURN_IF_ERROR(Need(tensor, "tensor"));
    for (size_t i = 0; i < results->names.size(); ++i) {
      if (results->names[i] != name) continue;
      View(*results, i, tensor);
      return absl::OkStatus();
    }
    return ampc::UsageError(absl::StrCat("there is no result '", name, "'", ampc::Suggest(name, results->names)));
  });
}
