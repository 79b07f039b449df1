#include "tools/train/save.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/format.h"
#include "runtime/compare/difference.h"
#include "runtime/session.h"
#include "runtime/train/save_inference.h"

namespace ampc {
namespace {

absl::Status Add(TrainJob& job, const std::string& path, bool strip, const SaveOptions& options, AtomicFileSet* files) {
  AMPC_ASSIGN_OR_RETURN(const Program program, InferenceProgram(job.trainer().program(), job.trainer().scope(), {"x"}, {job.output_name()},
                                                                {.remove_amp_cast = strip}));
  return AddModel(program, path, options, files);
}

}  // namespace

absl::Status SaveTrained(TrainJob& job, const std::string& path, bool strip) {
  AtomicFileSet files;
  AMPC_RETURN_IF_ERROR(AddTrained(job, path, strip, &files));
  return files.Commit();
}

absl::Status AddTrained(TrainJob& job, const std::string& path, bool strip, AtomicFileSet* files) {
  return Add(job, path, strip, {}, files);
}

absl::Status CheckCanSave(TrainJob& job, const std::string& path, bool strip) {
  AtomicFileSet dropped({.no_sync = true});
  return Add(job, path, strip, {.no_sync = true, .program_only = true}, &dropped);
}

absl::StatusOr<double> AccuracyOfFile(const std::string& path, const ImageSet& images, int threads) {
  AMPC_ASSIGN_OR_RETURN(const Session session, Session::Load(path, {.threads = threads}));
  AMPC_ASSIGN_OR_RETURN(const std::unique_ptr<BatchSource> source, ImageBatches(images, {.batch = 250, .shuffle = false}));
  if (session.inputs().size() != 1 || session.outputs().size() != 1)
    return UsageError(absl::StrCat("'", path, "': needed one feed and one fetch"));
  int64_t right = 0;
  for (int64_t step = 0; step < source->steps(); ++step) {
    AMPC_ASSIGN_OR_RETURN(TensorMap batch, source->Batch(0, step));
    TensorMap feeds;
    feeds[session.inputs()[0].name] = std::move(batch.at("x"));
    AMPC_ASSIGN_OR_RETURN(const TensorMap out, session.Run(feeds));
    const std::vector<double> logits = ToDoubles(out.begin()->second);
    const absl::Span<const int64_t> labels = batch.at("y").values<int64_t>();
    const size_t classes = logits.size() / labels.size();
    for (size_t row = 0; row < labels.size(); ++row) {
      const auto begin = logits.begin() + static_cast<int64_t>(row * classes);
      right += std::max_element(begin, begin + static_cast<int64_t>(classes)) - begin == labels[row] ? 1 : 0;
    }
  }
  return static_cast<double>(right) / static_cast<double>(images.count);
}

}  // namespace ampc
