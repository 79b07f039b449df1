#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>

#include "graph/base/atomic_file.h"
#include "graph/base/error.h"
#include "graph/base/mapped_file.h"
#include "graph/base/signal_cleanup.h"
#include "graph/base/temporary_file.h"

namespace ampc {
namespace {

namespace fs = std::filesystem;

// An empty directory per test, removed afterwards.
class File : public testing::Test {
 protected:
  File() {
    std::string pattern = testing::TempDir() + "/file_test_XXXXXX";
    dir_ = mkdtemp(pattern.data());
  }
  ~File() override { fs::remove_all(dir_); }

  std::string Path(const std::string& name) const { return (dir_ / name).string(); }
  void Write(const std::string& name, const std::string& content) const { std::ofstream(Path(name)) << content; }
  std::string Read(const std::string& name) const {
    absl::StatusOr<MappedFile> file = MappedFile::Open(Path(name));
    return file.ok() ? std::string(file->text()) : std::string(file.status().message());
  }
  size_t CountFiles() const {
    size_t count = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(dir_)) ++count;
    return count;
  }

  fs::path dir_;
};

// A process without standard input opens files from number 0 on.
TEST_F(File, IsWrittenAsNumberZero) {
  const int input = dup(0);
  close(0);
  {
    AtomicFileWriter writer = *AtomicFileWriter::Create(Path("out"));
    EXPECT_TRUE(writer.Append("text").ok());
    EXPECT_TRUE(writer.Commit().ok());
  }
  if (input >= 0) {
    dup2(input, 0);
    close(input);
  }
  EXPECT_EQ(Read("out"), "text");
}

TEST_F(File, MapsContentAndEmptyFile) {
  Write("a", "hello");
  Write("empty", "");
  EXPECT_EQ(Read("a"), "hello");
  EXPECT_EQ(Read("empty"), "");
}

TEST_F(File, MappingMovesWithoutMovingTheBytes) {
  Write("a", "hello");
  MappedFile first = *MappedFile::Open(Path("a"));
  const std::byte* address = first.bytes().data();
  MappedFile second = std::move(first);
  EXPECT_EQ(second.bytes().data(), address);
  EXPECT_EQ(second.path(), Path("a"));
  MappedFile third;
  third = std::move(second);
  EXPECT_EQ(third.text(), "hello");
}

TEST_F(File, ReleasedPartsReadAgain) {
  const std::string content(100000, 'x');
  Write("a", content);
  const MappedFile file = *MappedFile::Open(Path("a"));
  EXPECT_EQ(file.text(), content);
  file.Release(0, 50000);
  file.Release(10, 10);
  file.Release(99999, 100);
  file.Release(200000, 1);
  EXPECT_EQ(file.text(), content);
}

// Bytes of files that this process has in its memory.
int64_t MappedBytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word && word != "RssFile:") {
  }
  int64_t kilobytes = -1;
  status >> kilobytes;
  return kilobytes * 1024;
}

TEST_F(File, SkippingThroughAFileHoldsLittleOfIt) {
  constexpr size_t kSize = size_t{64} << 20, kStep = size_t{2} << 20;
  Write("a", std::string(kSize, 'x'));
  const MappedFile file = *MappedFile::Open(Path("a"));
  const int64_t before = MappedBytes();
  ASSERT_GT(before, 0);
  size_t found = 0;
  for (size_t at = kStep / 2; at < kSize; at += kStep) found += file.text()[at] == 'x';
  EXPECT_EQ(found, kSize / kStep);
  EXPECT_LT(MappedBytes() - before, static_cast<int64_t>(kSize / 4));
  EXPECT_EQ(file.text().substr(kSize - 3), "xxx");
}

TEST_F(File, MappingErrorsAreBadInput) {
  const absl::Status absent = MappedFile::Open(Path("no")).status();
  EXPECT_EQ(absent.message(), Path("no") + ": no such file");
  EXPECT_EQ(ExitCodeOf(absent), ExitCode::kBadInput);
  const absl::Status directory = MappedFile::Open(dir_.string()).status();
  EXPECT_EQ(directory.message(), dir_.string() + ": is a directory, needs a regular file");
  EXPECT_EQ(ExitCodeOf(directory), ExitCode::kBadInput);
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(MappedFile::Open(Path("pipe")).status().message(), Path("pipe") + ": is a device or pipe, needs a regular file");
}

TEST_F(File, CommitReplacesAndLeavesNothingElse) {
  Write("out", "old");
  absl::StatusOr<AtomicFileWriter> writer = AtomicFileWriter::Create(Path("out"));
  ASSERT_TRUE(writer.ok());
  std::string want;
  for (int i = 0; i < 100000; ++i) {
    ASSERT_TRUE(writer->Append(std::to_string(i)).ok());
    want += std::to_string(i);
  }
  const std::string large(1 << 20, 'z');
  ASSERT_TRUE(writer->Append(large).ok());
  ASSERT_TRUE(writer->AppendZeros(5000).ok());
  want += large + std::string(5000, '\0');
  EXPECT_EQ(writer->size(), want.size());
  EXPECT_EQ(Read("out"), "old");
  ASSERT_TRUE(writer->Commit().ok());
  EXPECT_EQ(Read("out"), want);
  EXPECT_EQ(CountFiles(), 1u);
  EXPECT_EQ(ExitCodeOf(writer->Commit()), ExitCode::kInternal);
  EXPECT_EQ(ExitCodeOf(writer->Append("x")), ExitCode::kInternal);
}

TEST_F(File, WithoutCommitTheOldFileStays) {
  Write("out", "old");
  {
    absl::StatusOr<AtomicFileWriter> writer = AtomicFileWriter::Create(Path("out"));
    ASSERT_TRUE(writer->Append("new").ok());
  }
  EXPECT_EQ(Read("out"), "old");
  EXPECT_EQ(CountFiles(), 1u);
}

TEST_F(File, FollowsLinksAndKeepsPermissions) {
  Write("target", "old");
  ASSERT_EQ(chmod(Path("target").c_str(), 0640), 0);
  fs::create_symlink(Path("target"), Path("link"));
  ASSERT_TRUE(WriteFileAtomically(Path("link"), "new", {.no_sync = true}).ok());
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_EQ(Read("target"), "new");
  EXPECT_EQ(static_cast<int>(fs::status(Path("target")).permissions()), 0640);
}

TEST_F(File, WritesToADevice) {
  EXPECT_TRUE(WriteFileAtomically("/dev/null", "x").ok());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(File, WriteErrorsNameThePath) {
  const absl::Status directory = WriteFileAtomically(dir_.string(), "x");
  EXPECT_EQ(directory.message(), dir_.string() + ": is a directory, needs a file name to write to");
  EXPECT_EQ(ExitCodeOf(directory), ExitCode::kInternal);
  const absl::Status absent = WriteFileAtomically(Path("no/file"), "x");
  EXPECT_EQ(absent.message(), Path("no/file") + ": cannot be written in directory '" + Path("no") + "': No such file or directory");
  EXPECT_EQ(ExitCodeOf(WriteFileAtomically("", "x")), ExitCode::kInternal);
  EXPECT_EQ(ExitCodeOf(WriteFileAtomically(Path("new/"), "x")), ExitCode::kInternal);
}

TEST_F(File, ADirectoryIsSyncedOrSaysWhyNot) {
  EXPECT_TRUE(SyncDirectory(dir_.string()).ok());
  EXPECT_EQ(SyncDirectory(Path("no")).message(), Path("no") + ": cannot be opened: No such file or directory");
}

TEST_F(File, ATargetThatCannotBeReplacedCostsTheTemporaryFile) {
  absl::StatusOr<AtomicFileWriter> writer = AtomicFileWriter::Create(Path("out"));
  fs::create_directories(Path("out/in"));
  const absl::Status status = writer->Commit();
  EXPECT_EQ(status.message(), Path("out") + ": cannot be replaced: Is a directory");
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kInternal);
  EXPECT_EQ(CountFiles(), 1u);
}

TEST_F(File, AFinishedFileIsTheCallers) {
  Write("out", "old");
  absl::StatusOr<AtomicFileWriter> writer = AtomicFileWriter::Create(Path("out"));
  ASSERT_TRUE(writer->Append("new").ok());
  const absl::StatusOr<AtomicFileWriter::Finished> finished = writer->Finish();
  ASSERT_TRUE(finished.ok());
  EXPECT_TRUE(fs::equivalent(finished->target, Path("out")));
  EXPECT_EQ(CountFiles(), 2u);
  EXPECT_EQ(Read(fs::path(finished->temporary).filename()), "new");
  EXPECT_EQ(Read("out"), "old");
  EXPECT_EQ(ExitCodeOf(writer->Commit()), ExitCode::kInternal);
}

TEST_F(File, ATargetIsKnownByOneName) {
  fs::create_directory(Path("sub"));
  Write("old", "old");
  for (const char* name : {"old", "new"}) {
    const absl::StatusOr<AtomicFileWriter::Finished> finished = AtomicFileWriter::Create(Path("sub/../" + std::string(name)))->Finish();
    ASSERT_TRUE(finished.ok());
    EXPECT_EQ(finished->target, (fs::canonical(dir_) / name).string());
  }
}

// A process number that belongs to nobody: of a child that has ended.
pid_t DeadProcess() {
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  waitpid(pid, nullptr, 0);
  return pid;
}

TEST_F(File, WhatKilledProcessesLeftIsRemoved) {
  const std::string mine = fs::path(FreshName(dir_.string(), ".tmp")).filename();
  const std::string place = mine.substr(0, mine.find('-', 6));  // ".ampc-<place>"
  const std::string dead = place + "-" + std::to_string(DeadProcess());
  const std::string elsewhere = ".ampc-00000000-7-0.tmp", long_ago = ".ampc-00000000-7-1.old";
  for (const std::string& name :
       {mine, dead + "-0.tmp", dead + "-1.old", dead + "-2.txt", dead + "-x.tmp", elsewhere, long_ago, std::string(".ampc-notes.tmp")}) {
    Write(name, "x");
  }
  fs::last_write_time(Path(long_ago), fs::file_time_type::clock::now() - std::chrono::hours(25));
  ASSERT_TRUE(WriteFileAtomically(Path("out"), "x").ok());
  std::set<std::string> left;
  for (const auto& entry : fs::directory_iterator(dir_)) left.insert(entry.path().filename());
  EXPECT_EQ(left, (std::set<std::string>{mine, dead + "-2.txt", dead + "-x.tmp", elsewhere, ".ampc-notes.tmp", "out"}));
}

TEST_F(File, WhatAJournalMayNeedIsNotStale) {
  const std::string long_ago = Path(".ampc-00000000-7-1.old"), journal = JournalName(dir_.string(), "head");
  for (const std::string& path : {long_ago, journal}) std::ofstream(path) << "x";
  fs::last_write_time(long_ago, fs::file_time_type::clock::now() - std::chrono::hours(25));
  RemoveStale(dir_.string());
  EXPECT_TRUE(fs::exists(long_ago));
  fs::remove(journal);
  RemoveStale(dir_.string());
  EXPECT_FALSE(fs::exists(long_ago));
}

TEST_F(File, FullDiskIsReportedAndSticks) {
  absl::StatusOr<AtomicFileWriter> writer = AtomicFileWriter::Create("/dev/full");
  ASSERT_TRUE(writer.ok());
  const absl::Status full = writer->Append(std::string(1 << 20, 'x'));
  EXPECT_EQ(full.message(), "/dev/full: cannot be written: No space left on device");
  EXPECT_EQ(writer->Append("x"), full);
  EXPECT_EQ(writer->Commit(), full);
}

// The remains of a child that dies by SIGTERM within `body`: how it ended, and its files.
int EndedBy(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGTERM, EndBySignal);
    body();
    raise(SIGTERM);
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST_F(File, ASignalRemovesWhatHasANameAndIsNobodys) {
  Write("out", "old");
  EXPECT_EQ(EndedBy([&] {
              AtomicFileWriter writer = *AtomicFileWriter::Create(Path("out"));
              ASSERT_TRUE(writer.Append("new").ok());
              static const AtomicFileWriter::Finished finished = *writer.Finish();  // named, and not in its place
              AtomicFileWriter other = *AtomicFileWriter::Create(Path("other"));
              static const AtomicFileWriter::Finished third = *other.Finish();
              if (CountFiles() != 3 || !finished.Replace({}).ok()) _exit(2);
            }),
            SIGTERM);
  EXPECT_EQ(Read("out"), "new");
  EXPECT_EQ(CountFiles(), 1u);
}

TEST_F(File, ASignalWaitsForStepsThatBelongTogether) {
  EXPECT_EQ(EndedBy([&] {
              RemoveOnSignal(Path("temporary"));
              {
                const DeferSignals outer;
                const DeferSignals inner;
                raise(SIGTERM);
                Write("temporary", "a");
                Write("done", "");
              }
              Write("too late", "");
            }),
            SIGTERM);
  EXPECT_FALSE(fs::exists(Path("temporary")));
  EXPECT_TRUE(fs::exists(Path("done")));
  EXPECT_FALSE(fs::exists(Path("too late")));
}

}  // namespace
}  // namespace ampc
