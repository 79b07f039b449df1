#include "graph/base/atomic_file_set.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "graph/base/error.h"
#include "graph/base/save_journal.h"
#include "graph/base/temporary_file.h"
#include "tests/formats/test_files.h"

namespace ampc {
namespace {

namespace fs = std::filesystem;

class FileSet : public ::testing::Test {
 protected:
  // Everything in the folder.
  std::map<std::string, std::string> Files() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(dir_.path()))
      files[entry.path().filename()] = entry.is_regular_file() ? testing::ReadFile(entry.path()) : "folder";
    return files;
  }
  absl::Status Save(const std::string& version) const {
    AtomicFileSet set;
    for (const char* name : {"a", "b", "head"}) {
      if (absl::Status status = set.Add(dir_ / name, version); !status.ok()) return status;
    }
    return set.Commit();
  }
  // The folder as a process leaves it that dies after `moves` of the five moves of a save of a, b and head over old files of these names.
  void Interrupted(int moves) const {
    std::vector<JournalEntry> entries;
    for (const char* name : {"a", "b", "head"}) {
      testing::WriteFile(dir_ / name, "old");
      const std::string temporary = FreshName(dir_.path(), ".tmp"), old = FreshName(dir_.path(), ".old");
      entries.push_back({fs::path(temporary).filename(), fs::path(old).filename(), name});
      testing::WriteFile(dir_ / entries.back().temporary, "new");
    }
    testing::WriteFile(dir_ / fs::path(JournalName(dir_.path(), "head")).filename(),
                       JournalText({.save = "s", .head = "", .others = {}, .entries = entries}));
    const auto move = [&](const std::string& from, const std::string& to) {
      if (moves-- > 0) fs::rename(dir_ / from, dir_ / to);
    };
    for (const int i : {2, 1, 0}) move(entries[i].target, entries[i].old);
    for (const JournalEntry& e : entries) move(e.temporary, e.target);
  }

  const std::map<std::string, std::string> kOld = {{"a", "old"}, {"b", "old"}, {"head", "old"}},
                                           kNew = {{"a", "new"}, {"b", "new"}, {"head", "new"}};
  testing::TempFolder dir_;
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
    ASSERT_TRUE(set.Add(dir_ / "a", "new").ok());
    ASSERT_TRUE(set.Add(dir_ / "head", "new").ok());
  }
  EXPECT_EQ(Files(), kOld);
}

TEST_F(FileSet, OneFileAndNone) {
  AtomicFileSet none, one;
  EXPECT_TRUE(none.Commit().ok());
  testing::WriteFile(dir_ / "head", "old");
  ASSERT_TRUE(one.Add(dir_ / "head", "new").ok());
  ASSERT_TRUE(one.Commit().ok());
  EXPECT_EQ(Files(), (std::map<std::string, std::string>{{"head", "new"}}));
}

TEST_F(FileSet, AnInterruptedSaveIsFinishedFromEveryState) {
  for (int moves = 0; moves <= 6; ++moves) {
    Interrupted(moves);
    EXPECT_EQ(Files().contains("head"), moves == 0 || moves == 6) << "the head is absent while others are moved";
    ASSERT_TRUE(FinishSave(dir_ / "head").ok());
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
  ASSERT_TRUE(one.Add(dir_ / "head", "newest").ok());
  ASSERT_TRUE(one.Commit().ok());
  ASSERT_TRUE(FinishSave(dir_ / "head").ok());
  EXPECT_EQ(Files(), (std::map<std::string, std::string>{{"a", "new"}, {"b", "new"}, {"head", "newest"}}));
}

TEST_F(FileSet, AFileThatCannotBeReplacedLeavesTheOldOnes) {
  ASSERT_TRUE(Save("old").ok());
  AtomicFileSet set;
  for (const char* name : {"a", "b", "head"}) ASSERT_TRUE(set.Add(dir_ / name, "new").ok());
  fs::remove(dir_ / "b");
  fs::create_directories(dir_ / "b" + "/in");
  const absl::Status status = set.Commit();
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kInternal);
  EXPECT_EQ(status.message(), dir_ / "head" + ": cannot be replaced: Is a directory");
  std::map<std::string, std::string> files = Files();
  for (const char* name : {"a", "head"}) EXPECT_EQ(files.at(name), "old");
  EXPECT_EQ(files.at("b"), "folder");
  EXPECT_FALSE(fs::exists(JournalName(dir_.path(), "head")));
}

TEST_F(FileSet, FilesOfSeveralFolders) {
  fs::create_directory(dir_ / "sub");
  testing::WriteFile(dir_ / "sub/a", "old");
  testing::WriteFile(dir_ / "head", "old");
  AtomicFileSet set;
  ASSERT_TRUE(set.Add(dir_ / "sub/a", "new").ok());
  ASSERT_TRUE(set.Add(dir_ / "head", "new").ok());
  ASSERT_TRUE(set.Commit().ok());
  EXPECT_EQ(Files(), (std::map<std::string, std::string>{{"head", "new"}, {"sub", "folder"}}));
  EXPECT_EQ(testing::ReadFile(dir_ / "sub/a"), "new");
}

TEST_F(FileSet, AFileOfAnotherFolderThatCannotBeReplacedLeavesTheOldOnes) {
  fs::create_directories(dir_ / "sub/b/in");
  testing::WriteFile(dir_ / "sub/a", "old");
  testing::WriteFile(dir_ / "head", "old");
  {
    AtomicFileSet set;
    ASSERT_TRUE(set.Add(dir_ / "sub/a", "new").ok());
    fs::rename(dir_ / "sub/b", dir_ / "sub/c");
    ASSERT_TRUE(set.Add(dir_ / "sub/b", "new").ok());
    fs::rename(dir_ / "sub/c", dir_ / "sub/b");
    ASSERT_TRUE(set.Add(dir_ / "head", "new").ok());
    EXPECT_EQ(ExitCodeOf(set.Commit()), ExitCode::kInternal);
  }
  EXPECT_EQ(testing::ReadFile(dir_ / "sub/a"), "old");
  EXPECT_EQ(Files(), (std::map<std::string, std::string>{{"head", "old"}, {"sub", "folder"}}));
}

// Files of two folders, as a process leaves them that dies after `moves` of the four moves of a save, or before the head's journal is
// there.
class TwoFolders : public FileSet {
 protected:
  void Interrupted(int moves, bool head_journal = true) const {
    fs::create_directories(dir_ / "p");
    fs::create_directories(dir_ / "w");
    const JournalEntry program = {".ampc-01234567-8-1.tmp", ".ampc-01234567-8-2.old", "head"},
                       weights = {".ampc-01234567-8-3.tmp", ".ampc-01234567-8-4.old", "a"};
    for (const auto& [folder, entry] : {std::pair{"p/", program}, std::pair{"w/", weights}}) {
      testing::WriteFile(dir_ / (folder + entry.target), "old");
      testing::WriteFile(dir_ / (folder + entry.temporary), "new");
    }
    const std::string p = fs::canonical(dir_ / "p"), w = fs::canonical(dir_ / "w");
    const std::string head = JournalName(p, "head"), other = JournalName(w, p + "/head");
    testing::WriteFile(
        dir_ / ("w/" + fs::path(other).filename().string()),
        JournalText({.save = "s", .head = "../p/" + fs::path(head).filename().string(), .others = {}, .entries = {weights}}));
    const std::string text =
        JournalText({.save = "s", .head = "", .others = {"../w/" + fs::path(other).filename().string()}, .entries = {program}});
    if (head_journal) testing::WriteFile(dir_ / ("p/" + fs::path(head).filename().string()), text);
    const auto move = [&](const std::string& from, const std::string& to) {
      if (moves-- > 0) fs::rename(dir_ / from, dir_ / to);
    };
    move("p/head", "p/" + program.old);
    move("w/a", "w/" + weights.old);
    move("w/" + weights.temporary, "w/a");
    move("p/" + program.temporary, "p/head");
  }
  // Everything in both folders.
  std::map<std::string, std::string> All() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(dir_.path())) {
      if (entry.is_regular_file()) files[entry.path().lexically_relative(dir_.path())] = testing::ReadFile(entry.path());
    }
    return files;
  }
  absl::Status Save(const std::string& version) const {
    AtomicFileSet set;
    if (absl::Status status = set.Add(dir_ / "w/a", version); !status.ok()) return status;
    if (absl::Status status = set.Add(dir_ / "p/head", version); !status.ok()) return status;
    return set.Commit();
  }
  static std::map<std::string, std::string> Both(const std::string& version) { return {{"p/head", version}, {"w/a", version}}; }
};

TEST_F(TwoFolders, AnInterruptedSaveIsFinishedFromEveryState) {
  for (int moves = 0; moves <= 4; ++moves) {
    Interrupted(moves);
    ASSERT_TRUE(FinishSave(dir_ / "p/head").ok());
    EXPECT_EQ(All(), Both("new")) << moves;
    Interrupted(moves);  // whoever comes by the weights first does only what is theirs
    ASSERT_TRUE(FinishSavesIn(dir_ / "w").ok());
    EXPECT_EQ(testing::ReadFile(dir_ / "w/a"), "new") << moves;
    ASSERT_TRUE(FinishSavesIn(dir_ / "p").ok());
    EXPECT_EQ(All(), Both("new")) << moves;
    Interrupted(moves);
    ASSERT_TRUE(Save("newer").ok());
    EXPECT_EQ(All(), Both("newer")) << moves;
    for (const char* folder : {"p", "w"}) RemoveStale(dir_ / folder);
    EXPECT_EQ(All(), Both("newer")) << moves;
  }
}

TEST_F(TwoFolders, WithoutTheHeadsJournalItHasNotHappened) {
  Interrupted(0, false);
  ASSERT_TRUE(FinishSavesIn(dir_ / "w").ok());
  EXPECT_EQ(testing::ReadFile(dir_ / "w/a"), "old");
  EXPECT_EQ(All().size(), 3u) << "and what is left is a temporary file beside the head";
  Interrupted(0, false);
  ASSERT_TRUE(Save("newer").ok());
  EXPECT_EQ(testing::ReadFile(dir_ / "w/a"), "newer");
}

TEST_F(TwoFolders, WhatCannotBeSeenIsLeftAlone) {
  Interrupted(2);
  fs::rename(dir_ / "w", dir_ / "elsewhere");
  const std::map<std::string, std::string> before = All();
  const absl::Status status = FinishSave(dir_ / "p/head");
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kInternal);
  EXPECT_NE(status.message().find("/w' with the rest of it, which is absent"), absl::string_view::npos) << status.message();
  EXPECT_EQ(All(), before);
  fs::rename(dir_ / "elsewhere", dir_ / "w");
  fs::rename(dir_ / "p", dir_ / "elsewhere");
  const size_t files = All().size();
  EXPECT_TRUE(FinishSavesIn(dir_ / "w").ok());
  EXPECT_EQ(All().size(), files);
  fs::rename(dir_ / "elsewhere", dir_ / "p");
  ASSERT_TRUE(FinishSave(dir_ / "p/head").ok());
  EXPECT_EQ(All(), Both("new"));
}

TEST_F(TwoFolders, AJournalOfAnotherSaveIsNotTouched) {
  Interrupted(1);
  for (const auto& entry : fs::directory_iterator(dir_ / "w")) {
    if (!IsJournalName(entry.path().filename().string())) continue;
    std::optional<SaveJournal> journal = ParseJournal(testing::ReadFile(entry.path()));
    ASSERT_TRUE(journal.has_value());
    journal->save = "t";
    testing::WriteFile(dir_ / ("w/" + entry.path().filename().string()), JournalText(*journal));
  }
  ASSERT_TRUE(FinishSave(dir_ / "p/head").ok());
  EXPECT_EQ(testing::ReadFile(dir_ / "w/a"), "old");
}

TEST_F(TwoFolders, SavesOfOneHeadDoNotMix) {
  fs::create_directories(dir_ / "p");
  fs::create_directories(dir_ / "w");
  std::atomic<bool> failed = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 30; ++i) failed = failed || !Save(std::to_string(t)).ok();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(failed);
  EXPECT_EQ(All(), Both(testing::ReadFile(dir_ / "p/head")));
}

TEST_F(FileSet, TwoFilesOfOneName) {
  testing::WriteFile(dir_ / "a", "old");
  AtomicFileSet set;
  ASSERT_TRUE(set.Add(dir_ / "a", "1").ok());
  ASSERT_TRUE(set.Add(dir_ / "./a", "2").ok());
  EXPECT_EQ(ExitCodeOf(set.Commit()), ExitCode::kUsage);
  EXPECT_EQ(testing::ReadFile(dir_ / "a"), "old");
}

TEST_F(FileSet, WhatComesWithAModelIsNotItsHead) {
  AtomicFileSet set;
  ASSERT_TRUE(set.Add(dir_ / "a", "1").ok());
  ASSERT_TRUE(set.Add(dir_ / "head", "22").ok());
  ASSERT_TRUE(set.AddBefore(dir_ / "b", "333").ok());
  EXPECT_EQ(set.bytes(), 6u);
  ASSERT_EQ(set.targets().size(), 3u);
  EXPECT_EQ(fs::path(set.targets().back()).filename(), "head");
}

TEST_F(FileSet, FoldersThatWereMadeForNothingGo) {
  fs::create_directory(dir_ / "mine");
  {
    AtomicFileSet set;
    ASSERT_TRUE(set.MakeFolder(dir_ / "mine/x/y/").ok());
    ASSERT_TRUE(set.Add(dir_ / "mine/x/y/a", "1").ok());
  }
  EXPECT_TRUE(fs::is_empty(dir_ / "mine"));
  {
    AtomicFileSet set;
    ASSERT_TRUE(set.MakeFolder(dir_ / "mine/x/y").ok());
    ASSERT_TRUE(set.Add(dir_ / "mine/x/y/a", "1").ok());
    ASSERT_TRUE(set.Commit().ok());
  }
  EXPECT_EQ(testing::ReadFile(dir_ / "mine/x/y/a"), "1");
  AtomicFileSet set;
  EXPECT_EQ(ExitCodeOf(set.MakeFolder(dir_ / "mine/x/y/a/z")), ExitCode::kInternal);
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
    EXPECT_TRUE(FinishSave(dir_ / "head").ok());
    done = true;
  });
  usleep(50000);
  EXPECT_FALSE(done);
  close(fd);
  reader.join();
  EXPECT_EQ(Files(), kNew);
}

TEST_F(FileSet, JournalsAreReadWithCare) {
  const JournalEntry entry = {".ampc-01234567-8-9.tmp", ".ampc-01234567-8-10.old", "x.pdmodel"};
  const SaveJournal good = {
      .save = "s", .head = "../a/.ampc-save-1", .others = {".ampc-save-2", "../b/.ampc-save-3"}, .entries = {entry, entry}};
  const std::string text = JournalText(good);
  const std::optional<SaveJournal> back = ParseJournal(text);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->save, "s");
  EXPECT_EQ(back->head, good.head);
  EXPECT_EQ(back->others, good.others);
  ASSERT_EQ(back->entries.size(), 2u);
  EXPECT_EQ(back->entries[1].target, "x.pdmodel");
  for (size_t n = 0; n < text.size(); ++n) EXPECT_FALSE(ParseJournal(text.substr(0, n)).has_value());
  const std::vector<JournalEntry> bad = {{"x", entry.old, "y"},
                                         {entry.temporary, "x", "y"},
                                         {entry.temporary, entry.old, "../y"},
                                         {entry.temporary, entry.old, "/y"},
                                         {entry.temporary, entry.old, ".."},
                                         {entry.temporary, entry.old, ""},
                                         {entry.temporary, entry.old, ".ampc-save-1"},
                                         {"../" + entry.temporary, entry.old, "y"}};
  for (const JournalEntry& e : bad)
    EXPECT_FALSE(ParseJournal(JournalText({.save = "s", .head = "", .others = {}, .entries = {e}})).has_value())
        << e.temporary << " " << e.old << " " << e.target;
  EXPECT_FALSE(ParseJournal(JournalText({.save = "s", .head = "", .others = {}, .entries = {}})).has_value());
  EXPECT_FALSE(ParseJournal(JournalText({.save = "s", .head = "../a/passwd", .others = {}, .entries = {entry}})).has_value());
  EXPECT_FALSE(ParseJournal(JournalText({.save = "s", .head = "", .others = {"../b/x"}, .entries = {entry}})).has_value());
}

TEST_F(FileSet, WhatIsNoJournalIsRemoved) {
  testing::WriteFile(dir_ / "head", "old");
  testing::WriteFile(dir_ / fs::path(JournalName(dir_.path(), "head")).filename(), "nonsense");
  ASSERT_TRUE(FinishSave(dir_ / "head").ok());
  EXPECT_EQ(Files(), (std::map<std::string, std::string>{{"head", "old"}}));
}

}  // namespace
}  // namespace ampc
