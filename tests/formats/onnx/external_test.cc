// Files of external data that are written again.
#include "graph/base/atomic_file_set.h"
#include "graph/formats/format.h"
#include "graph/formats/onnx/export.h"
#include "tests/formats/onnx/model.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::ampc::testing::GraphBuilder;
using ::ampc::testing::NewModel;
using ::ampc::testing::ReadFile;
using ::ampc::testing::TempFolder;
using ::ampc::testing::WriteModel;

// Weights that nothing reads, the first value of the file among them, and weights that were not read with the program.
TEST(OnnxExport, ExternalWeightsAreKeptWhoeverReadsThem) {
  const TempFolder folder;
  onnx::ModelProto model = NewModel();
  GraphBuilder g(model.mutable_graph());
  for (const char* name : {"first", "w", "last"}) g.Initializer(name, {600}, std::vector<float>(600, name[0]));
  g.Node("Add", {"w", "w"}, {"y"});
  g.Out("y", {600});
  ASSERT_OK_AND_ASSIGN(const Program program, LoadModel(WriteModel(folder, model)));
  AtomicFileSet files;
  ASSERT_OK(onnx::ExportModel(program, folder / "e.onnx", {}, &files, 4000));
  ASSERT_OK(files.Commit());
  ASSERT_GE(ReadFile(folder / "e.onnx.data").size(), 3 * 2400u);
  std::filesystem::create_directories(folder / "copy");
  ASSERT_OK_AND_ASSIGN(const Program external, LoadModel(folder / "e.onnx"));
  ASSERT_OK(SaveModel(external, folder / "copy/e.onnx"));
  EXPECT_EQ(ReadFile(folder / "copy/e.onnx"), ReadFile(folder / "e.onnx"));
  EXPECT_EQ(ReadFile(folder / "copy/e.onnx.data"), ReadFile(folder / "e.onnx.data"));

  // Without its weights it is written as it was, beside a file that has them.
  ASSERT_OK_AND_ASSIGN(const Program alone, LoadModel(folder / "e.onnx", {.program_only = true}));
  ASSERT_OK(SaveModel(alone, folder / "alone.onnx", {.program_only = true}));
  EXPECT_EQ(ReadFile(folder / "alone.onnx"), ReadFile(folder / "e.onnx"));
}

}  // namespace
}  // namespace ampc
