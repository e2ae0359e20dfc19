//===- FileTest.cpp - Tests of files read and written ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/GlobalStore.h"
#include "divisi/Support/InputText.h"
#include "divisi/Support/MappedFile.h"
#include "divisi/Support/OutputFile.h"
#include "divisi/Support/TemporaryFile.h"

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <thread>
#include <unistd.h>

using namespace divisi;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

/// A folder of the test's own, which is empty at first and removed at last.
class FileTest : public testing::Test {
protected:
  FileTest() : folder_(testing::TempDir() + "divisi_file_XXXXXX") {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
  }
  ~FileTest() override { fs::remove_all(folder_); }

  std::string path(const std::string &name) const {
    return folder_ + "/" + name;
  }
  std::string contentOf(const std::string &name) const {
    Expected<MappedFile> file = MappedFile::open(path(name));
    EXPECT_TRUE(file) << file.status().message();
    return file ? std::string(
                      reinterpret_cast<const char *>(file->bytes().data()),
                      file->bytes().size())
                : std::string();
  }
  /// How many files, links and folders there are beside each other.
  size_t countEntries() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), {}));
  }

  std::string folder_;
};

} // namespace

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

TEST_F(FileTest, DataFilesMustLieBeneathTheirFolder) {
  fs::create_directories(path("inside/deep"));
  ASSERT_TRUE(writeFile(path("inside/deep/data"), "data").isOk());
  fs::create_symlink("../..", path("inside/deep/up"));
  fs::create_symlink("/etc", path("inside/etc"));
  std::string root = path("inside");

  EXPECT_TRUE(MappedFile::openBeneath(root, "deep/data"));
  EXPECT_TRUE(MappedFile::openBeneath(root, "./deep//../deep/data"));
  for (const char *out : {"../inside/deep/data", "/etc/passwd", "etc/passwd",
                          "deep/up/inside/deep/data", "no/../../x", ""}) {
    auto opened = MappedFile::openBeneath(root, out);
    ASSERT_FALSE(opened) << out;
    EXPECT_EQ(opened.status().code(), ExitCode::Invalid) << out;
    EXPECT_THAT(
        opened.status().message(),
        HasSubstr(*out
                      ? "which must contain all data files; copy the file there"
                      : "'' is not a file name"));
  }
  EXPECT_EQ(MappedFile::openBeneath(root, "deep").status().code(),
            ExitCode::File);
}

TEST_F(FileTest, AMissingFileIsNothingOnlyToThoseWhoAsk) {
  auto found = MappedFile::findBeneath(folder_, "no");
  ASSERT_TRUE(found) << found.status().message();
  EXPECT_FALSE(found->has_value());
  auto opened = MappedFile::openBeneath(folder_, "no");
  EXPECT_EQ(opened.status().code(), ExitCode::File);
  EXPECT_THAT(opened.status().message(), HasSubstr("No such file"));
}

TEST_F(FileTest, WhatIsNoRegularFileIsNotMapped) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  auto pipe = MappedFile::open(path("pipe")); // does not wait for a writer
  EXPECT_EQ(pipe.status().code(), ExitCode::File);
  EXPECT_THAT(pipe.status().message(), HasSubstr("it is not a regular file"));
}

TEST_F(FileTest, AStoreReadsWhatItWasGivenAlone) {
  ASSERT_TRUE(writeFile(path("data"), "data").isOk());
  GlobalStore store;
  store.expect(path("data"), {4, std::string(64, '0')});
  for (const std::string &name : {path("data"), path("nothing")}) {
    EXPECT_THAT(store.bytes({name, 0, 4}).status().message(),
                HasSubstr("' is not among those of the program"));
    EXPECT_EQ(store.find(name).code(), ExitCode::File);
  }
  Expected<MappedFile> file = MappedFile::open(path("data"));
  ASSERT_TRUE(file);
  store.addFile(path("data"), std::move(*file));
  EXPECT_TRUE(store.find(path("data")).isOk());
  EXPECT_THAT(store.bytes({path("data"), 0, 4}).status().message(),
              HasSubstr("' has the SHA-256 "));
}

TEST_F(FileTest, BytesStayWhereTheyAreWhenTheFileMoves) {
  ASSERT_TRUE(writeFile(path("a"), "a").isOk());
  Expected<MappedFile> file = MappedFile::open(path("a"));
  ASSERT_TRUE(file);
  const std::byte *before = file->bytes().data();
  MappedFile other = std::move(*file);
  EXPECT_EQ(other.bytes().data(), before);
  EXPECT_TRUE(file->bytes().empty());
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

TEST_F(FileTest, CommitReplacesAllOfTheFile) {
  ASSERT_TRUE(writeFile(path("a"), "something longer").isOk());
  Expected<OutputFile> file = OutputFile::create(path("a"));
  ASSERT_TRUE(file) << file.status().message();
  ASSERT_TRUE(file->write("new").isOk());
  ASSERT_TRUE(file->padTo(5).isOk());
  EXPECT_EQ(file->offset(), 5);
  EXPECT_EQ(contentOf("a"), "something longer");
  ASSERT_TRUE(file->commit().isOk());
  EXPECT_EQ(contentOf("a"), std::string("new\0\0", 5));
  EXPECT_EQ(countEntries(), 1u);
}

TEST_F(FileTest, NothingRemainsOfAFileThatIsNotCommitted) {
  {
    Expected<OutputFile> file = OutputFile::create(path("a"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write("half").isOk());
  }
  EXPECT_EQ(countEntries(), 0u);
}

// A limit on the size of files stands in for a full disk.
TEST_F(FileTest, AFailedWriteLeavesWhatWasThereAndNothingElse) {
  ASSERT_TRUE(writeFile(path("a"), "old").isOk());
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small{4096, before.rlim_max};
  auto handler = signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  Status status = writeFile(path("a"), std::string(100000, 'x'));
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(status.code(), ExitCode::File);
  EXPECT_EQ(status.message(),
            "cannot write '" + path("a") + "': File too large");
  EXPECT_EQ(contentOf("a"), "old");
  EXPECT_EQ(countEntries(), 1u);
}

TEST_F(FileTest, AFileKeepsItsPermissions) {
  ASSERT_TRUE(writeFile(path("a"), "old").isOk());
  ASSERT_EQ(chmod(path("a").c_str(), 0640), 0);
  ASSERT_TRUE(writeFile(path("a"), "new").isOk());
  struct stat about{};
  ASSERT_EQ(stat(path("a").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0640u);
}

TEST_F(FileTest, ALinkStaysALinkAndItsTargetIsReplaced) {
  fs::create_directory(path("there"));
  ASSERT_TRUE(writeFile(path("there/a"), "old").isOk());
  fs::create_symlink("there/second", path("first"));
  fs::create_symlink("a", path("there/second"));
  ASSERT_TRUE(writeFile(path("first"), "new").isOk());
  EXPECT_TRUE(fs::is_symlink(path("first")));
  EXPECT_TRUE(fs::is_symlink(path("there/second")));
  EXPECT_FALSE(fs::is_symlink(path("there/a")));
  EXPECT_EQ(contentOf("there/a"), "new");
}

TEST_F(FileTest, ALinkToNothingYetMakesItsTarget) {
  fs::create_symlink("target", path("link"));
  ASSERT_TRUE(writeFile(path("link"), "new").isOk());
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(contentOf("target"), "new");
}

TEST_F(FileTest, WhatOthersHavePutIntoAFolderOfEverybodyIsNotFollowed) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root can make the files of another user";
  }
  constexpr uid_t other = 12345;
  ASSERT_TRUE(writeFile(path("precious"), "precious").isOk());
  fs::create_directory(path("tmp"));
  chmod(path("tmp").c_str(), 01777);
  std::string link = path("tmp/link"), pipe = path("tmp/pipe"),
              mine = path("tmp/mine");
  fs::create_symlink("../precious", link);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0666), 0);
  fs::create_symlink("link", mine);
  for (const std::string &planted : {link, pipe}) {
    ASSERT_EQ(lchown(planted.c_str(), other, other), 0);
  }
  for (const std::string &name : {link, pipe, mine}) {
    Status status = writeFile(name, "new");
    EXPECT_EQ(status.code(), ExitCode::File);
    EXPECT_THAT(status.message(), HasSubstr("' into a folder of everybody; name another file"));
  }
  EXPECT_EQ(contentOf("precious"), "precious");
  // One's own leads on, and so does any in a folder of one's own.
  ASSERT_EQ(lchown(link.c_str(), 0, 0), 0);
  EXPECT_TRUE(writeFile(mine, "new").isOk());
  EXPECT_EQ(contentOf("precious"), "new");
  chmod(path("tmp").c_str(), 0755);
  ASSERT_EQ(lchown(link.c_str(), other, other), 0);
  EXPECT_TRUE(writeFile(link, "newer").isOk());
  EXPECT_EQ(contentOf("precious"), "newer");
}

TEST_F(FileTest, ATemporaryFileIsNew) {
  ASSERT_EQ(setenv("TMPDIR", folder_.c_str(), 1), 0);
  {
    Expected<UnnamedFile> file = UnnamedFile::make();
    ASSERT_TRUE(file) << file.status().message();
    EXPECT_EQ(countEntries(), 0u);
    ASSERT_TRUE(writeFile(file->path(), "data").isOk());
    Expected<MappedFile> read = MappedFile::open(file->path());
    ASSERT_TRUE(read) << read.status().message();
    EXPECT_EQ(read->bytes().size(), 4u);
    Expected<TemporaryFolder> made = TemporaryFolder::make(folder_, "own-");
    ASSERT_TRUE(made) << made.status().message();
    EXPECT_EQ(fs::status(made->path()).permissions(), fs::perms::owner_all);
    EXPECT_EQ(countEntries(), 1u);
  }
  EXPECT_EQ(countEntries(), 0u);
  Expected<std::string> one = temporaryName("a-", ".json"),
                        other = temporaryName("a-", ".json");
  ASSERT_TRUE(one && other);
  EXPECT_NE(*one, *other);
  EXPECT_THAT(*one, testing::StartsWith(path("a-")));
  EXPECT_EQ(one->size(), path("a-.json").size() + 16);
  ASSERT_EQ(setenv("TMPDIR", path("absent").c_str(), 1), 0);
  EXPECT_THAT(UnnamedFile::make().status().message(),
              HasSubstr("cannot make a temporary file in '" + path("absent")));
  EXPECT_THAT(TemporaryFolder::make(path("absent"), "a").status().message(),
              HasSubstr("cannot make the folder '" + path("absent/a")));
  unsetenv("TMPDIR");
}

TEST_F(FileTest, LinksInACircleAreAnError) {
  fs::create_symlink("b", path("a"));
  fs::create_symlink("a", path("b"));
  Status status = writeFile(path("a"), "new");
  EXPECT_EQ(status.code(), ExitCode::File);
  EXPECT_TRUE(fs::is_symlink(path("a")));
  EXPECT_EQ(countEntries(), 2u);
}

TEST_F(FileTest, APipeIsWrittenThrough) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] {
    int pipe = open(path("pipe").c_str(), O_RDONLY);
    char buffer[64];
    for (ssize_t n; (n = read(pipe, buffer, sizeof(buffer))) > 0;) {
      got.append(buffer, static_cast<size_t>(n));
    }
    close(pipe);
  });
  Status status = writeFile(path("pipe"), "through");
  reader.join();
  EXPECT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(got, "through");
  EXPECT_TRUE(isWrittenInPlace(path("pipe")));
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
  EXPECT_EQ(countEntries(), 1u);
}

// What `-o /dev/null` did as root: the device became a file.
TEST_F(FileTest, ADeviceStaysADevice) {
  if (mknod(path("null").c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0) {
    GTEST_SKIP() << "only root may make a device; this is "
                 << (geteuid() == 0 ? "root without that right" : "a user");
  }
  fs::create_symlink("null", path("link"));
  for (const char *name : {"null", "link"}) {
    Status status = writeFile(path(name), "away");
    // A file system that is mounted without devices refuses; it is not touched.
    EXPECT_TRUE(status.isOk() || status.code() == ExitCode::File);
    EXPECT_TRUE(fs::is_character_file(path("null")));
  }
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(countEntries(), 2u);
}

TEST_F(FileTest, ADescriptorByItsNameIsWrittenWhereItIs) {
  ASSERT_TRUE(writeFile(path("log"), "line\n").isOk());
  int log = open(path("log").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  ASSERT_GE(log, 0);
  for (const char *folder : {"/dev/fd/", "/proc/self/fd/"}) {
    Status status = writeFile(folder + std::to_string(log), "more\n");
    EXPECT_TRUE(status.isOk()) << status.message();
  }
  close(log);
  EXPECT_EQ(contentOf("log"), "line\nmore\nmore\n");
  EXPECT_TRUE(isWrittenInPlace("-"));
  EXPECT_FALSE(isWrittenInPlace(path("log")));
  EXPECT_FALSE(isWrittenInPlace(path("new")));
  EXPECT_EQ(countEntries(), 1u);
}

TEST_F(FileTest, AFolderOrAMissingFolderIsAnError) {
  EXPECT_EQ(writeFile(folder_, "x").code(), ExitCode::File);
  Status status = writeFile(path("no/a"), "x");
  EXPECT_EQ(status.message(),
            "cannot write '" + path("no/a") + "': No such file or directory");
  EXPECT_EQ(countEntries(), 0u);
}

TEST_F(FileTest, TwoFilesOfAFolderAreWrittenAtATime) {
  Expected<OutputFile> a = OutputFile::create(path("a"));
  Expected<OutputFile> b = OutputFile::create(path("b"));
  ASSERT_TRUE(a && b);
  ASSERT_TRUE(a->write("of a").isOk());
  ASSERT_TRUE(b->write("of b").isOk());
  ASSERT_TRUE(b->commit().isOk());
  ASSERT_TRUE(a->commit().isOk());
  EXPECT_EQ(contentOf("a"), "of a");
  EXPECT_EQ(contentOf("b"), "of b");
}

TEST_F(FileTest, AnEndingOfGzCompresses) {
  std::string text(10000, 'x');
  ASSERT_TRUE(writeFile(path("t.gz"), text).isOk());
  EXPECT_LT(fs::file_size(path("t.gz")), 1000u);
  Expected<InputText> back = InputText::readFile(path("t.gz"));
  ASSERT_TRUE(back) << back.status().message();
  EXPECT_EQ(back->text(), text);
}

TEST_F(FileTest, AFileThatBecomesShorterIsAnError) {
  ASSERT_TRUE(writeFile(path("a"), "content").isOk());
  Expected<OpenFile> file = OpenFile::open(path("a"));
  ASSERT_TRUE(file) << file.status().message();
  std::string read(7, ' ');
  auto bytes = std::as_writable_bytes(std::span<char>(read));
  EXPECT_TRUE(file->read(0, bytes).isOk());
  EXPECT_EQ(read, "content");
  EXPECT_TRUE(file->read(3, bytes.first(4)).isOk());
  EXPECT_EQ(read, "tentent");
  fs::resize_file(path("a"), 3);
  Status status = file->read(0, bytes);
  EXPECT_EQ(status.code(), ExitCode::File);
  EXPECT_THAT(status.message(),
              HasSubstr("': it was made shorter while it was read"));
  EXPECT_EQ(file->size(), 7);
}

// Of such a file the system says that it has no bytes; more come all the same.
TEST_F(FileTest, ATextThatGrowsIsAnError) {
  Expected<InputText> text = InputText::readFile("/proc/self/status");
  EXPECT_EQ(text.status().code(), ExitCode::File);
  EXPECT_THAT(text.status().message(),
              HasSubstr("its size changed while it was read"));
}
