#include "kernels/device/cuda/shared_library.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::StatusIs;

// Each test has a folder of its own, in which `libampc_any.so.7` is the C++ library under another name.
class SharedLibraryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = ::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
    for (const char* name : {"AMPC_CUDA_LIBS", "VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_HOME"}) unsetenv(name);
    setenv("PATH", (root_ + "/bin").c_str(), 1);
    setenv("HOME", (root_ + "/home").c_str(), 1);
  }
  std::string Install(const std::string& folder, const std::string& name = "libampc_any.so.7") {
    const std::string path = root_ + "/" + folder;
    std::filesystem::create_directories(path);
    std::filesystem::copy_file("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", path + "/" + name,
                               std::filesystem::copy_options::overwrite_existing);
    return path;
  }
  std::string root_;
};

TEST_F(SharedLibraryTest, TheLoadersOwnFolders) {
  ASSERT_OK_AND_ASSIGN(const SharedLibrary library, SharedLibrary::Open({"libampc_none.so.1", "libm.so.6"}));
  EXPECT_EQ(library.path(), "libm.so.6");
  double (*cosine)(double) = nullptr;
  ASSERT_OK(library.Load("cos", &cosine));
  EXPECT_EQ(cosine(0), 1);
  EXPECT_THAT(library.Symbol("ampc_none"), StatusIs(ExitCode::kUnsupported, HasSubstr("libm.so.6 has no function ampc_none")));
}

TEST_F(SharedLibraryTest, AFolderThatIsNamed) {
  const std::string first = Install("first"), second = Install("second", "libampc_any.so.6");
  setenv("AMPC_CUDA_LIBS", (root_ + "/none:" + second + ":" + first).c_str(), 1);
  ASSERT_OK_AND_ASSIGN(const SharedLibrary library, SharedLibrary::Open({"libampc_any.so.7", "libampc_any.so.6"}));
  EXPECT_EQ(library.path(), second + "/libampc_any.so.6");
}

TEST_F(SharedLibraryTest, TheToolkitsFolder) {
  const std::string folder = Install("toolkit/lib64");
  setenv("CUDA_HOME", (root_ + "/toolkit").c_str(), 1);
  ASSERT_OK_AND_ASSIGN(const SharedLibrary library, SharedLibrary::Open({"libampc_any.so.7"}));
  EXPECT_EQ(library.path(), folder + "/libampc_any.so.7");
}

TEST_F(SharedLibraryTest, PackagesOfAVirtualEnvironment) {
  const std::string folder = Install("env/lib/python3.12/site-packages/nvidia/cu13/lib");
  setenv("VIRTUAL_ENV", (root_ + "/env").c_str(), 1);
  ASSERT_OK_AND_ASSIGN(const SharedLibrary library, SharedLibrary::Open({"libampc_any.so.7"}));
  EXPECT_EQ(library.path(), folder + "/libampc_any.so.7");
}

TEST_F(SharedLibraryTest, PackagesOfThePythonThatIsFound) {
  Install("lib/python3.9/site-packages/nvidia/cublas/lib");
  Install("bin", "python3");
  std::filesystem::permissions(root_ + "/bin/python3", std::filesystem::perms::owner_all);
  ASSERT_OK_AND_ASSIGN(const SharedLibrary library, SharedLibrary::Open({"libampc_any.so.7"}));
  EXPECT_EQ(std::filesystem::canonical(library.path()),
            std::filesystem::canonical(root_ + "/lib/python3.9/site-packages/nvidia/cublas/lib/libampc_any.so.7"));
}

TEST_F(SharedLibraryTest, PackagesOfAPythonThatIsALinkIntoAnEnvironment) {
  Install("env/lib/python3.9/site-packages/nvidia/cublas/lib");
  Install("env/bin", "python3");
  std::filesystem::permissions(root_ + "/env/bin/python3", std::filesystem::perms::owner_all);
  std::filesystem::create_directories(root_ + "/bin");
  std::filesystem::remove(root_ + "/bin/python3");
  std::filesystem::create_symlink("../env/bin/python3", root_ + "/bin/python3");
  ASSERT_OK_AND_ASSIGN(const SharedLibrary library, SharedLibrary::Open({"libampc_any.so.7"}));
  EXPECT_EQ(std::filesystem::canonical(library.path()),
            std::filesystem::canonical(root_ + "/env/lib/python3.9/site-packages/nvidia/cublas/lib/libampc_any.so.7"));
}

TEST_F(SharedLibraryTest, NothingFoundNamesWhatAndWhere) {
  setenv("AMPC_CUDA_LIBS", "/ampc/none", 1);
  const std::string toolkit = Install("toolkit/lib64", "other");
  setenv("CUDA_HOME", (root_ + "/toolkit").c_str(), 1);
  EXPECT_THAT(SharedLibrary::Open({"libampc_none.so.2", "libampc_none.so.1"}),
              StatusIs(ExitCode::kUnsupported,
                       AllOf(HasSubstr("libampc_none.so.2 or libampc_none.so.1 was not found; looked in the loader's paths, /ampc/none, " +
                                       toolkit),
                             HasSubstr("AMPC_CUDA_LIBS"))));
}

TEST_F(SharedLibraryTest, AFileThatIsNoLibraryNamesTheReason) {
  const std::string folder = Install("broken");
  std::ofstream(folder + "/libampc_broken.so.1") << "no library";
  setenv("AMPC_CUDA_LIBS", folder.c_str(), 1);
  EXPECT_THAT(SharedLibrary::Open({"libampc_broken.so.1"}),
              StatusIs(ExitCode::kUnsupported, AllOf(HasSubstr("libampc_broken.so.1 cannot be opened: "), HasSubstr(folder))));
}

}  // namespace
}  // namespace ampc
