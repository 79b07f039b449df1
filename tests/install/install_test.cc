// tools/install.sh: what it puts where, and that CMake, pkg-config and shells can use it from a folder that was moved.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/e2e/models.h"
#include "tests/e2e/process.h"
#include "tests/formats/test_files.h"

namespace ampc::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

std::set<std::string> Words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

// All files below `folder`, as paths in it.
std::set<std::string> Files(const fs::path& folder) {
  std::set<std::string> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_directory() || entry.is_symlink()) files.insert(entry.path().lexically_relative(folder).string());
  }
  return files;
}

Outcome Install(const std::vector<std::string>& args) {
  std::vector<std::string> words = {"tools/install.sh"};
  words.insert(words.end(), args.begin(), args.end());
  return RunProcess("/bin/bash", words, fs::current_path().string());
}

// Run with --config=cuda.
bool HasGpuBackend() { return ReadFile("tools/install/version.txt").find(" cuda") != std::string::npos; }

class InstallTest : public ::testing::Test {
 protected:
  // One installation for all tests, moved after it was made.
  static void SetUpTestSuite() {
    const fs::path first = fs::path(::testing::TempDir()) / "first/prefix";
    const Outcome installed = Install({"--no-build", "--prefix", first.string()});
    ASSERT_EQ(installed.code, 0) << installed.err;
    prefix_ = fs::path(::testing::TempDir()) / "moved";
    fs::remove_all(prefix_);
    fs::rename(first, prefix_);
  }

  // The output of a command line of bash with $P, the prefix; it has to succeed.
  std::string Bash(const std::string& line) const {
    const Outcome outcome = RunProcess("/bin/bash", {"-ec", line}, folder_.path(),
                                       {"P=" + prefix_.string(), "PKG_CONFIG_PATH=" + (prefix_ / "lib/pkgconfig").string()});
    EXPECT_EQ(outcome.code, 0) << line << "\n" << outcome.out << outcome.err;
    return outcome.out;
  }

  // m.prog, in the test's folder.
  void MakeModel() const { WriteFile(folder_ / "m.prog", kMlp); }

  TempFolder folder_;
  static fs::path prefix_;
};

fs::path InstallTest::prefix_;

TEST_F(InstallTest, ListsItsFiles) {
  const std::set<std::string> files = Files(prefix_);
  EXPECT_EQ(files, Words(ReadFile((prefix_ / "share/ampc/manifest.txt").string())));
  for (const char* file : {"bin/ampc", "include/ampc/ampc.h", "include/ampc/runtime/session.h", "include/ampc/runtime/train/trainer.h",
                           "include/ampc/graph/program.h", "lib/libampc.so", "lib/cmake/ampc/ampcConfig.cmake", "lib/pkgconfig/ampc.pc",
                           "share/bash-completion/completions/ampc", "share/man/man1/ampc.1", "share/man/man1/ampc-convert.1",
                           "share/doc/ampc/README.md", "share/doc/ampc/tools/docs/c.md", "share/doc/ampc/tools/examples/run_model.c"}) {
    EXPECT_TRUE(files.contains(file)) << file;
  }
}

// Of every library that is linked, and the texts that notices refer to.
TEST_F(InstallTest, HasTheNoticesOfItsLibraries) {
  const fs::path licenses = prefix_ / "share/doc/ampc/licenses";
  const std::set<std::string> files = Files(licenses);
  std::string names;
  for (const std::string& file : files) {
    if (!fs::path(file).has_parent_path()) names += file + " ";
  }
  for (const char* library : {"absl", "cli11", "dnnl", "hwy", "protobuf", "stb", "zlib"}) EXPECT_THAT(names, HasSubstr(library));
  const std::set<std::string> of_the_machine = {"libc", "libm", "libampc", "libOpenCL"};
  for (const std::string& library :
       Words(Bash("ldd $P/bin/ampc $P/lib/libampc.so | sed -n 's/^\t\\(lib[a-zA-Z]*\\)[-.0-9]*so.* => .*/\\1/p'"))) {
    if (of_the_machine.contains(library)) continue;
    EXPECT_THAT(names + " zlib1g-dev as libz.txt", HasSubstr(library));
  }
  const std::set<std::string> references =
      Words(Bash("grep -hoE '/usr/share/common-licenses/[A-Za-z0-9.+-]*[A-Za-z0-9]' $P/share/doc/ampc/licenses/*.txt | sed 's,.*/,,'"));
  EXPECT_TRUE(references.contains("Apache-2.0"));
  for (const std::string& reference : references) EXPECT_TRUE(files.contains("common-licenses/" + reference)) << reference;
  const Outcome unknown =
      RunProcess("/usr/bin/python3", {"tools/install/notices.py", folder_ / "n", "@system//:nothing"}, fs::current_path().string());
  EXPECT_NE(unknown.code, 0);
  EXPECT_THAT(unknown.err, HasSubstr("of @system//:nothing no package is known"));
}

TEST_F(InstallTest, HasOneVersionEverywhere) {
  const std::string version = Bash("pkg-config --modversion ampc-c");
  EXPECT_THAT(version, MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+\n"));
  EXPECT_EQ(Bash("$P/bin/ampc --version"), "ampc " + version);
  EXPECT_EQ(Bash("pkg-config --modversion ampc"), version);
  EXPECT_THAT(Bash("readlink -f $P/lib/libampc.so"), EndsWith("/libampc.so." + version));
  const std::string soname = version.substr(0, version.rfind('.'));
  EXPECT_THAT(Bash("readelf -d $P/lib/libampc.so"), HasSubstr("soname: [libampc.so." + soname + "]"));
  EXPECT_THAT(ReadFile((prefix_ / "lib/cmake/ampc/ampcConfigVersion.cmake").string()),
              HasSubstr("PACKAGE_VERSION \"" + version.substr(0, version.size() - 1) + "\""));
}

TEST_F(InstallTest, HoldsNoPathOfTheMachineThatBuiltIt) {
  EXPECT_EQ(Bash("grep -rIl '/execroot/\\|/first/prefix' $P || true"), "");
  // The GPU backend's code is looked for in the installation.
  const std::set<std::string> allowed = {"$ORIGIN", "$ORIGIN/../lib"};
  for (const std::string& path :
       Words(Bash("readelf -d $P/lib/libampc.so $P/bin/ampc | sed -n 's/.*PATH).*\\[\\(.*\\)\\]/\\1/p' | tr ':' ' '"))) {
    EXPECT_TRUE(HasGpuBackend() &&
                (allowed.contains(path) || path.rfind("$ORIGIN/../_solib", 0) == 0 || path.rfind("$ORIGIN/../../_solib", 0) == 0))
        << path;
  }
}

TEST_F(InstallTest, ExportsTheInterfacesOnly) {
  const std::set<std::string> symbols = Words(Bash("nm -DP --defined-only $P/lib/libampc.so | cut -d' ' -f1"));
  EXPECT_TRUE(symbols.contains("ampc_run"));
  for (const std::string& symbol : symbols)
    EXPECT_THAT(symbol, MatchesRegex("ampc_.*|_Z(TV|TI|TS)?N[rVK]*4ampc.*")) << "not of an interface";
}

TEST_F(InstallTest, CMakeProjectsBuildAndRun) {
  MakeModel();
  Bash("cmake -S " + (fs::current_path() / "tools/examples/cmake_project").string() +
       " -B build -DCMAKE_PREFIX_PATH=$P && cmake --build build");
  EXPECT_EQ(Bash("build/load_and_run m.prog 3"), "p: 6 elements\n");
  EXPECT_THAT(Bash("build/run_model m.prog 2 h.prog"), StartsWith("p f32 [2, 2] "));
  EXPECT_THAT(Bash("build/train_mixed_precision 3"), Not(IsEmpty()));
}

TEST_F(InstallTest, CProjectsNeedNoAbseil) {
  WriteFile(folder_ / "CMakeLists.txt",
            "cmake_minimum_required(VERSION 3.16)\nproject(c C)\nset(CMAKE_DISABLE_FIND_PACKAGE_absl TRUE)\nfind_package(ampc "
            "REQUIRED)\nadd_executable(v v.c)\ntarget_link_libraries(v ampc::c)\n");
  WriteFile(folder_ / "v.c", "#include <ampc.h>\n#include <stdio.h>\nint main(void) { return puts(ampc_version()) < 0; }\n");
  Bash("cmake -S . -B build -DCMAKE_PREFIX_PATH=$P && cmake --build build");
  EXPECT_EQ("ampc " + Bash("build/v"), Bash("$P/bin/ampc --version"));
}

TEST_F(InstallTest, CMakeRefusesAnotherVersion) {
  WriteFile(folder_ / "CMakeLists.txt", "cmake_minimum_required(VERSION 3.16)\nproject(c C)\nfind_package(ampc 99.0 REQUIRED)\n");
  const Outcome outcome =
      RunProcess("/usr/bin/cmake", {"-S", ".", "-B", "build", "-DCMAKE_PREFIX_PATH=" + prefix_.string()}, folder_.path());
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("99.0"));
}

TEST_F(InstallTest, PkgConfigCompilesC) {
  MakeModel();
  const std::string source = (fs::current_path() / "tools/examples/run_model.c").string();
  Bash("cc -std=c11 -Wall -Wextra -pedantic -Werror " + source + " -o run_model $(pkg-config --cflags --libs ampc-c)");
  EXPECT_THAT(Bash("./run_model m.prog 2"), StartsWith("p f32 [2, 2] "));
}

TEST_F(InstallTest, PkgConfigCompilesEveryHeader) {
  Bash("cd $P/include/ampc && find . -name '*.h' | sort | sed 's,^\\./,#include \",; s,$,\",' > \"$OLDPWD/all.cc\"");
  EXPECT_THAT(ReadFile(folder_ / "all.cc"), HasSubstr("#include \"runtime/session.h\"\n"));
  Bash("c++ -std=c++20 -Wall -Wextra -Werror -fsyntax-only all.cc $(pkg-config --cflags ampc)");
  EXPECT_THAT(Bash("pkg-config --libs ampc"), HasSubstr("-labsl_status"));
}

TEST_F(InstallTest, ShellsCompleteVerbsOptionsAndValues) {
  const std::string bash =
      ". $P/share/bash-completion/completions/ampc; try() { COMP_WORDS=(\"$@\") COMP_CWORD=$(($# - 1)); COMPREPLY=(); _ampc || true; echo "
      "\"${COMPREPLY[*]}\"; }; ";
  EXPECT_EQ(Bash(bash + "try ampc conv"), "convert\n");
  EXPECT_EQ(Bash(bash + "try ampc convert m.pdmodel --dty"), "--dtype\n");
  EXPECT_EQ(Bash(bash + "try ampc convert m.pdmodel --dtype ''"), "fp16 bf16\n");
  EXPECT_EQ(Bash(bash + "try ampc convert m.pdmodel --level = O"), "O0 OD O1 O2\n");
  EXPECT_EQ(Bash(bash + "try ampc completion z"), "zsh\n");
  EXPECT_EQ(Bash(bash + "try ampc run m"), "\n") << "files are completed by bash itself";
  EXPECT_EQ(Bash("bash -n $P/share/bash-completion/completions/ampc; zsh -n $P/share/zsh/site-functions/_ampc; fish -n "
                 "$P/share/fish/vendor_completions.d/ampc.fish"),
            "");
  const std::string fish =
      "export HOME=$PWD; fish --no-config -c \"source $P/share/fish/vendor_completions.d/ampc.fish; complete -C 'ampc ";
  EXPECT_THAT(Bash(fish + "conv'\""), StartsWith("convert\t"));
  EXPECT_THAT(Bash(fish + "convert --dty'\""), StartsWith("--dtype"));
  EXPECT_EQ(Words(Bash(fish + "convert --target '\" | cut -f1")),
            (std::set<std::string>{"cpu", "cuda", "cuda:7.0", "cuda:7.5", "cuda:8.0", "cuda:8.6", "cuda:8.9", "cuda:9.0", "cuda:10.0",
                                   "cuda:12.0"}));
}

TEST_F(InstallTest, AnInstallationForTheCpuSaysSo) {
  if (HasGpuBackend()) GTEST_SKIP() << "this one is for the GPU";
  EXPECT_EQ(Bash("pkg-config --variable=cuda ampc-c ampc"), "OFF OFF\n");
  EXPECT_FALSE(Files(prefix_).contains("lib/libampc_device_code.so"));
  WriteFile(folder_ / "CMakeLists.txt",
            "cmake_minimum_required(VERSION 3.16)\nproject(c C)\nfind_package(ampc REQUIRED)\nif(ampc_CUDA)\nmessage(FATAL_ERROR "
            "on)\nendif()\nfind_package(ampc REQUIRED COMPONENTS cuda)\n");
  const Outcome outcome =
      RunProcess("/usr/bin/cmake", {"-S", ".", "-B", "build", "-DCMAKE_PREFIX_PATH=" + prefix_.string()}, folder_.path());
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("has no cuda"));
}

// The files that Bazel built for the CPU, with something in the place of what a build with CUDA adds to it.
TEST_F(InstallTest, AnInstallationWithTheGpuBackend) {
  if (HasGpuBackend()) GTEST_SKIP() << "all the other tests are of one";
  const std::string tree = fs::canonical(fs::current_path()).string(), built = folder_ / "built";
  Bash("cp -rs " + tree + "/. built");
  const std::string version = ReadFile(tree + "/tools/install/version.txt");
  ASSERT_THAT(version, EndsWith(" cpu\n"));
  WriteFile(built + "/tools/install/version.txt", version.substr(0, version.size() - 4) + "cuda\n");
  Bash(
      "mkdir -p built/kernels/cuda && echo 'int ampc_device_code;' > code.c && cc -shared -fPIC code.c -o "
      "built/kernels/cuda/libampc_device_code.so");
  Bash("bash built/tools/install.sh --prefix $PWD/gpu --cuda --no-build");
  std::set<std::string> expected = Files(prefix_);
  expected.insert("lib/libampc_device_code.so");
  std::set<std::string> found = Files(folder_ / "gpu");
  found.erase("share/doc/ampc/licenses/cuda-runtime.txt");  // where the machine has a toolkit
  EXPECT_EQ(found, expected);
  EXPECT_EQ(Bash("PKG_CONFIG_PATH=gpu/lib/pkgconfig pkg-config --variable=cuda ampc-c ampc"), "ON ON\n");
  EXPECT_THAT(Bash("PKG_CONFIG_PATH=gpu/lib/pkgconfig pkg-config --libs ampc-c"), HasSubstr("-Wl,-rpath-link,"));
  WriteFile(folder_ / "CMakeLists.txt",
            "cmake_minimum_required(VERSION 3.16)\nproject(c C)\nfind_package(ampc REQUIRED COMPONENTS cuda)\nif(NOT "
            "ampc_CUDA)\nmessage(FATAL_ERROR off)\nendif()\nadd_executable(v v.c)\ntarget_link_libraries(v ampc::c)\n");
  WriteFile(folder_ / "v.c", "#include <ampc.h>\n#include <stdio.h>\nint main(void) { return puts(ampc_version()) < 0; }\n");
  EXPECT_EQ(Bash("cmake -S . -B build -DCMAKE_PREFIX_PATH=$PWD/gpu > log && cmake --build build > log && build/v"),
            Bash("pkg-config --modversion ampc-c"));
  // The next one, for the CPU, takes it away.
  Bash("bash " + tree + "/tools/install.sh --prefix $PWD/gpu --no-build");
  EXPECT_EQ(Files(folder_ / "gpu"), Files(prefix_));
}

TEST_F(InstallTest, ReplacesAnEarlierVersionAndUninstalls) {
  const std::string prefix = folder_ / "p";
  WriteFile(prefix + "/share/ampc/manifest.txt", "lib/old/libold.so\nshare/ampc/manifest.txt\n");
  WriteFile(prefix + "/lib/old/libold.so", "old");
  WriteFile(prefix + "/lib/mine.so", "the user's own");
  const Outcome installed = Install({"--no-build", "--prefix=" + prefix});
  ASSERT_EQ(installed.code, 0) << installed.err;
  std::set<std::string> expected = Files(prefix_);
  expected.insert("lib/mine.so");
  EXPECT_EQ(Files(prefix), expected);
  ASSERT_EQ(Install({"--prefix", prefix, "--uninstall"}).code, 0);
  EXPECT_EQ(Files(prefix), std::set<std::string>{"lib/mine.so"});
  EXPECT_FALSE(fs::exists(prefix + "/share")) << "an empty folder was left";
}

TEST_F(InstallTest, SaysWhatIsWrong) {
  const auto fails = [](const std::vector<std::string>& args, int code, const std::string& part) {
    const Outcome outcome = Install(args);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_THAT(outcome.err, MatchesRegex("install.sh: [^\n]*\n")) << "one sentence";
    EXPECT_THAT(outcome.err, HasSubstr(part));
  };
  WriteFile(folder_ / "file", "not a folder");
  fails({"--no-build"}, 2, "--prefix DIR is needed");
  fails({"--no-build", "--prefix"}, 2, "--prefix needs a folder");
  fails({"--no-build", "--prefix", folder_ / "p", "--zzz"}, 2, "--zzz");
  fails({"--no-build", "--prefix", folder_ / "file/p"}, 5, "cannot write to");
  if (!HasGpuBackend()) fails({"--no-build", "--cuda", "--prefix", folder_ / "q"}, 2, "for the CPU only");
  fails({"--uninstall", "--prefix", folder_ / "p"}, 3, "no installed ampc");
  EXPECT_EQ(Files(folder_.path()), std::set<std::string>{"file"});
}

// A page for the command and for each verb, which a formatter takes without a warning and which shows what --help says.
TEST_F(InstallTest, PagesOfManSayWhatHelpSays) {
  std::set<std::string> verbs = Words(Bash("$P/bin/ampc --help | sed -n '/^Subcommands:/,/^$/s/^  \\([a-z]*\\) .*/\\1/p'"));
  EXPECT_TRUE(verbs.contains("convert"));
  verbs.insert("");
  for (const std::string& verb : verbs) {
    const std::string page = "$P/share/man/man1/ampc" + (verb.empty() ? "" : "-" + verb) + ".1";
    EXPECT_EQ(Bash("groff -man -Tutf8 -ww -Wbreak " + page + " 2>&1 >/dev/null"), "") << verb;
    const std::string text = Bash("groff -man -Tutf8 -P-c " + page + " | sed 's/\xe2\x80\x90/-/g; s/\xe2\x88\x92/-/g; s/.\x08//g'");
    const std::string example = Bash("$P/bin/ampc " + verb + " --help | sed -n '/^Examples:/{n;p}'");  // in a line of its own
    EXPECT_THAT(text, HasSubstr(example)) << verb;
    EXPECT_NE(example.empty(), !verb.empty());
    const std::set<std::string> shown = Words(text);
    for (const std::string& option : Words(Bash("$P/bin/ampc " + verb + " --help | sed -n 's/^  \\(-[a-z], \\)*\\(--[a-z-]*\\).*/\\2/p'")))
      EXPECT_TRUE(shown.contains(option) || shown.contains(option + ",")) << verb << " " << option;
  }
}

}  // namespace
}  // namespace ampc::testing
