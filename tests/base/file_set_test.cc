#include "graph/base/atomic_file_set.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "graph/base/error.h"
#include "graph/base/temporary_file.h"
#include "tests/base/temp_dir.h"

namespace ampc {
namespace {

namespace fs = std::filesystem;

class FileSet : public testing::Test {
 protected:
  // Everything in the folder.
  std::map<std::string, std::string> Files() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(dir_.path()))
      files[entry.path().filename()] = entry.is_regular_file() ? ReadWhole(entry.path()) : "folder";
    return files;
  }
  absl::Status Save(const std::string& version) const {
    AtomicFileSet set;
    for (const char* name : {"a", "b", "head"}) {
      if (absl::Status status = set.Add(dir_.File(name), version); !status.ok()) return status;
    }
    return set.Commit();
  }
  // The folder as a process leaves it that dies after `moves` of the five moves of a save of a, b and head over old files of these names.
  void Interrupted(int moves) const {
    std::vector<JournalEntry> entries;
    for (const char* name : {"a", "b", "head"}) {
      dir_.Write(name, "old");
      const std::string temporary = FreshName(dir_.path(), ".tmp"), old = FreshName(dir_.path(), ".old");
      entries.push_back({fs::path(temporary).filename(), fs::path(old).filename(), name});
      dir_.Write(entries.back().temporary, "new");
    }
    dir_.Write(fs::path(JournalName(dir_.path(), "head")).filename(), JournalText(entries));
    const auto move = [&](const std::string& from, const std::string& to) {
      if (moves-- > 0) fs::rename(dir_.File(from), dir_.File(to));
    };
    for (const int i : {2, 1, 0}) move(entries[i].target, entries[i].old);
    for (const JournalEntry& e : entries) move(e.temporary, e.target);
  }

  const std::map<std::string, std::string> kOld = {{"a", "old"}, {"b", "old"}, {"head", "old"}},
                                           kNew = {{"a", "new"}, {"b", "new"}, {"head", "new"}};
  TempDir dir_;
};

TEST_F(FileSet, ReplacesAllAndLeavesNothingElse) {
  ASSERT_TRUE(Save("old").ok());
  EXPECT_EQ(Files(), kOld);
  ASSERT_TRUE(Save("new").ok());
  EXPECT_EQ(Files(), kNew);
}

TEST_F(FileSet, WithoutCommitNothingHappens) {
  ASSERT_TRUE(Save("old").ok());
  {
    AtomicFileSet set;
    ASSERT_TRUE(set.Add(dir_.File("a"), "new").ok());
    ASSERT_TRUE(set.Add(dir_.File("head"), "new").ok());
  }
  EXPECT_EQ(Files(), kOld);
}

TEST_F(FileSet, OneFileAndNone) {
  AtomicFileSet none, one;
  EXPECT_TRUE(none.Commit().ok());
  dir_.Write("head", "old");
  ASSERT_TRUE(one.Add(dir_.File("head"), "new").ok());
  ASSERT_TRUE(one.Commit().ok());
  EXPECT_EQ(Files(), (std::map<std::string, std::string>{{"head", "new"}}));
}

TEST_F(FileSet, AnInterruptedSaveIsFinishedFromEveryState) {
  for (int moves = 0; moves <= 6; ++moves) {
    Interrupted(moves);
    EXPECT_EQ(Files().contains("head"), moves == 0 || moves == 6) << "the head is absent while others are moved";
    ASSERT_TRUE(FinishSave(dir_.File("head")).ok());
    EXPECT_EQ(Files(), kNew) << moves;
    Interrupted(moves);
    ASSERT_TRUE(FinishSavesIn(dir_.path()).ok());
    EXPECT_EQ(Files(), kNew) << moves;
    Interrupted(moves);
    ASSERT_TRUE(Save("newer").ok());
    EXPECT_EQ(Files(), (std::map<std::string, std::string>{{"a", "newer"}, {"b", "newer"}, {"head", "newer"}})) << moves;
  }
}

TEST_F(FileSet, SavingOneFileFinishesTheSetBefore) {
  Interrupted(4);
  AtomicFileSet one;
  ASSERT_TRUE(one.Add(dir_.File("head"), "newest").ok());
  ASSERT_TRUE(one.Commit().ok());
  ASSERT_TRUE(FinishSave(dir_.File("head")).ok());
  EXPECT_EQ(Files(), (std::map<std::string, std::string>{{"a", "new"}, {"b", "new"}, {"head", "newest"}}));
}

TEST_F(FileSet, WhatAJournalNeedsIsNotStale) {
  Interrupted(4);
  const size_t files = Files().size();
  RemoveStale(dir_.path());
  EXPECT_EQ(Files().size(), files);
}

TEST_F(FileSet, AFileThatCannotBeReplacedLeavesTheOldOnes) {
  ASSERT_TRUE(Save("old").ok());
  AtomicFileSet set;
  for (const char* name : {"a", "b", "head"}) ASSERT_TRUE(set.Add(dir_.File(name), "new").ok());
  fs::remove(dir_.File("b"));
  fs::create_directories(dir_.File("b") + "/in");
  const absl::Status status = set.Commit();
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kInternal);
  EXPECT_EQ(status.message(), dir_.File("head") + ": cannot be replaced: Is a directory");
  std::map<std::string, std::string> files = Files();
  for (const char* name : {"a", "head"}) EXPECT_EQ(files.at(name), "old");
  EXPECT_EQ(files.at("b"), "folder");
  EXPECT_FALSE(fs::exists(JournalName(dir_.path(), "head")));
}

TEST_F(FileSet, FilesOfSeveralFolders) {
  fs::create_directory(dir_.File("sub"));
  dir_.Write("sub/a", "old");
  dir_.Write("head", "old");
  AtomicFileSet set;
  ASSERT_TRUE(set.Add(dir_.File("sub/a"), "new").ok());
  ASSERT_TRUE(set.Add(dir_.File("head"), "new").ok());
  ASSERT_TRUE(set.Commit().ok());
  EXPECT_EQ(Files(), (std::map<std::string, std::string>{{"head", "new"}, {"sub", "folder"}}));
  EXPECT_EQ(ReadWhole(dir_.File("sub/a")), "new");
}

TEST_F(FileSet, SavesOfOneHeadDoNotMix) {
  std::atomic<bool> failed = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 30; ++i) failed = failed || !Save(std::to_string(t)).ok();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(failed);
  const std::map<std::string, std::string> files = Files();
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files.at("a"), files.at("head"));
  EXPECT_EQ(files.at("b"), files.at("head"));
}

TEST_F(FileSet, AReaderWaitsForTheSaveThatGoesOn) {
  Interrupted(4);
  const std::string journal = JournalName(dir_.path(), "head");
  const int fd = open(journal.c_str(), O_RDONLY);
  ASSERT_EQ(flock(fd, LOCK_EX), 0);
  std::atomic<bool> done = false;
  std::thread reader([&] {
    EXPECT_TRUE(FinishSave(dir_.File("head")).ok());
    done = true;
  });
  usleep(50000);
  EXPECT_FALSE(done);
  close(fd);
  reader.join();
  EXPECT_EQ(Files(), kNew);
}

TEST_F(FileSet, JournalsAreReadWithCare) {
  const std::vector<JournalEntry> good = {{".ampc-01234567-8-9.tmp", ".ampc-01234567-8-10.old", "x.pdmodel"}};
  const std::string text = JournalText(good);
  ASSERT_EQ(ParseJournal(text).size(), 1u);
  EXPECT_EQ(ParseJournal(text)[0].target, "x.pdmodel");
  for (size_t n = 0; n < text.size(); ++n) EXPECT_TRUE(ParseJournal(text.substr(0, n)).empty());
  const std::vector<JournalEntry> bad = {{"x", good[0].old, "y"},
                                         {good[0].temporary, "x", "y"},
                                         {good[0].temporary, good[0].old, "../y"},
                                         {good[0].temporary, good[0].old, "/y"},
                                         {good[0].temporary, good[0].old, ".."},
                                         {good[0].temporary, good[0].old, ""},
                                         {good[0].temporary, good[0].old, ".ampc-save-1"},
                                         {"../" + good[0].temporary, good[0].old, "y"}};
  for (const JournalEntry& entry : bad)
    EXPECT_TRUE(ParseJournal(JournalText({entry})).empty()) << entry.temporary << " " << entry.old << " " << entry.target;
  EXPECT_TRUE(ParseJournal(JournalText({})).empty());
}

TEST_F(FileSet, WhatIsNoJournalIsRemoved) {
  dir_.Write("head", "old");
  dir_.Write(fs::path(JournalName(dir_.path(), "head")).filename(), "nonsense");
  ASSERT_TRUE(FinishSave(dir_.File("head")).ok());
  EXPECT_EQ(Files(), (std::map<std::string, std::string>{{"head", "old"}}));
}

}  // namespace
}  // namespace ampc
