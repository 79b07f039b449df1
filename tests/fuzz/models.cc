// Model files and program text.
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "graph/base/atomic_file_set.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/ampc/encode.h"
#include "graph/formats/onnx/export.h"
#include "graph/formats/onnx/import.h"
#include "graph/formats/paddle/export.h"
#include "graph/formats/paddle/files.h"
#include "graph/formats/paddle/import.h"
#include "graph/formats/pir/export.h"
#include "graph/formats/pir/import.h"
#include "graph/text/parser.h"
#include "graph/verify.h"
#include "graph/weight.h"
#include "tests/fuzz/target.h"
#include "tests/testlib/round_trip.h"

namespace ampc::fuzz {
namespace {

ParseOptions TextOptions() {
  ParseOptions options;
  options.bare = true;
  options.open_files = false;
  options.max_fill_bytes = 1 << 16;
  return options;
}

// The bytes that a program in memory is written as.
absl::StatusOr<std::string> PaddleBytes(const Program& program) { return paddle::ExportProgram(program, paddle::ExportNames(program)); }

paddle::PaddleFiles NoParams(const char* model) {
  paddle::PaddleFiles files;
  files.model = model;
  return files;
}

// A model that was read and is well formed can be written, and read again; `status` of that.
absl::Status Again(const absl::Status& status) {
  return status.ok() ? status : ampc::InternalError(absl::StrCat("what was written cannot be read: ", status.message()));
}

absl::Status CheckPaddle(const Program& program) {
  if (absl::Status status = Verify(program); !status.ok()) return CheckPolite(status);
  absl::StatusOr<std::string> bytes = PaddleBytes(program);
  if (!bytes.ok()) return CheckPolite(bytes.status());
  const absl::StatusOr<Program> again = paddle::ImportProgram(WeightBuffer(*std::move(bytes)), NoParams("again"));
  return Again(again.status());
}

}  // namespace

absl::Status PaddleProgram(absl::string_view bytes) {
  const absl::StatusOr<Program> program = paddle::ImportProgram(WeightBuffer(std::string(bytes)), NoParams("x.pdmodel"));
  return program.ok() ? CheckPaddle(*program) : CheckPolite(program.status());
}

// The parameters of a fixed program, of several types and shapes; the program is as short as may be, for it is read every time.
absl::Status PaddleParams(absl::string_view bytes) {
  static const std::string* const kProgram = [] {
    const absl::StatusOr<Program> program =
        ParseProgram("param a : f32 [4, 3] = 0.5\nparam b : f16 [3] = 0.5\nparam c : i64 [2, 2] = 1\nfetch a\n", TextOptions());
    return new std::string(PaddleBytes(*program).value());
  }();
  static auto* const kFile = new MemoryFile;
  kFile->Set(bytes);
  const absl::StatusOr<Program> program = paddle::ImportProgram(
      WeightBuffer(*kProgram), {.model = "x.pdmodel", .layout = paddle::ParamsLayout::kCombined, .params = kFile->path()});
  if (!program.ok()) return CheckPolite(program.status());
  absl::Status status;
  ForEachVar(*program, [&status](const Var& var) {
    if (status.ok() && var.weight != nullptr) status = LoadWeight(*var.weight, var.type.dims).status();
  });
  return status;
}

static absl::Status OnnxProgram(absl::string_view bytes) {
  const absl::StatusOr<Program> program = onnx::ImportModel(WeightBuffer(std::string(bytes)), "x.onnx", /*program_only=*/true);
  if (!program.ok()) return CheckPolite(program.status());
  if (absl::Status status = Verify(*program); !status.ok()) return CheckPolite(status);
  AtomicFileSet files({.no_sync = true});
  return CheckPolite(onnx::ExportModel(*program, "/dev/null", {.no_sync = true, .program_only = true}, &files));
}

// The weights that lie in the message. Its folder does not exist, so that those in other files are absent.
static absl::Status OnnxWeights(absl::string_view bytes) {
  const absl::StatusOr<Program> program = onnx::ImportModel(WeightBuffer(std::string(bytes)), "absent/x.onnx", /*program_only=*/false);
  if (!program.ok()) return CheckPolite(program.status());
  absl::Status status;
  ForEachVar(*program, [&status](const Var& var) {
    if (status.ok() && var.weight != nullptr) status = CheckPolite(LoadWeight(*var.weight, var.type.dims).status());
  });
  return status;
}

absl::Status OnnxModel(absl::string_view bytes) {
  AMPC_RETURN_IF_ERROR(OnnxProgram(bytes));
  return OnnxWeights(bytes);
}

absl::Status PirProgram(absl::string_view bytes) {
  const absl::StatusOr<Program> program = pir::ImportProgram(WeightBuffer(std::string(bytes)), {.model = "x.json", .params = ""});
  if (!program.ok()) return CheckPolite(program.status());
  if (absl::Status status = Verify(*program); !status.ok()) return CheckPolite(status);
  absl::StatusOr<std::string> text = pir::ExportProgram(*program);
  if (!text.ok()) return CheckPolite(text.status());
  // Types that contradict each other are written as the IR has them; all else as it was.
  return Again(pir::ImportProgram(WeightBuffer(*std::move(text)), {.model = "again", .params = ""}).status());
}

absl::Status AmpcProgram(absl::string_view bytes) {
  proto::Program message;
  if (!message.ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size())) || !message.IsInitialized()) return absl::OkStatus();
  const absl::StatusOr<DecodedProgram> decoded = DecodeProgram(message, "x.ampc");
  if (!decoded.ok()) return CheckPolite(decoded.status());
  if (absl::Status status = Verify(decoded->program); !status.ok()) return CheckPolite(status);
  const absl::StatusOr<DecodedProgram> again = DecodeProgram(EncodeProgram(decoded->program, decoded->keys), "again");
  return Again(again.status());
}

absl::Status ProgramText(absl::string_view bytes) {
  const absl::StatusOr<Program> program = ParseProgram(bytes, TextOptions());
  if (!program.ok()) return CheckPolite(program.status());
  AMPC_RETURN_IF_ERROR(testing::CheckRoundTrip(*program));
  return CheckPolite(Verify(*program));
}

}  // namespace ampc::fuzz
