//===- UserKeyTest.cpp - A secret of the user who runs us -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/UserKey.h"
#include "divisi/Support/Sha256.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <iterator>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

using namespace divisi;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

/// A folder for the user's data, which is removed in the end.
class UserKeyTest : public testing::Test {
protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() / ("divisi-key-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    setenv("XDG_DATA_HOME", folder_.c_str(), 1);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
};

} // namespace

// RFC 4231, test cases 1, 2, 3 and 6.
TEST(Hmac, hasTheValuesOfTheStandard) {
  EXPECT_EQ(toHex(hmacSha256(std::string(20, '\x0b'), "Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b"
            "881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(toHex(hmacSha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c7"
            "5a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(toHex(hmacSha256(std::string(20, '\xaa'), std::string(50, '\xdd'))),
            "773ea91e36800e46854db8ebd09181a7"
            "2959098b3ef8c122d9635514ced565fe");
  EXPECT_EQ(toHex(hmacSha256(std::string(131, '\xaa'),
                             "Test Using Larger Than Block-Size Key - Hash Key "
                             "First")),
            "60e431591ee0b67f0d8a26aacbf5b77f"
            "8e0bc6213728c5140546040f0ee37f54");
}

TEST(Hmac, comparesAllBytes) {
  EXPECT_TRUE(areEqualCodes("abc", "abc"));
  EXPECT_FALSE(areEqualCodes("abc", "abd"));
  EXPECT_FALSE(areEqualCodes("abc", "ab"));
}

// RFC 5869, the first case.
TEST(DerivedKey, isThatOfTheStandard) {
  std::string secret =
      "\x07\x77\x09\x36\x2c\x2e\x32\xdf\x0d\xdc\x3f\x0d\xc4\x7b\xba\x63"
      "\x90\xb6\xc7\x3b\xb5\x0f\x9c\x31\x22\xec\x84\x4a\xd7\xc2\xb3\xe5";
  EXPECT_EQ(
      toHex(deriveKey(secret, "\xf0\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xf8\xf9")),
      "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf");
}

// Who learns the key of the cache could else sign as this user.
TEST_F(UserKeyTest, isAnotherForEachUse) {
  auto signing = makeUserKey(KeyUse::Signing),
       cache = makeUserKey(KeyUse::Cache);
  ASSERT_TRUE(signing && cache);
  std::ifstream file(userKeyPath(), std::ios::binary);
  std::string secret(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(std::set({*signing, *cache, secret}).size(), 3u);
  EXPECT_EQ(*readUserKey(KeyUse::Cache), *cache);
}

TEST_F(UserKeyTest, isMadeOnceForTheUserAlone) {
  EXPECT_EQ(readUserKey(KeyUse::Signing).status().code(), ExitCode::File);
  EXPECT_THAT(readUserKey(KeyUse::Signing).status().message(),
              HasSubstr("the key for native code, '" + userKeyPath() +
                        "', cannot be read: "));
  auto made = makeUserKey(KeyUse::Signing);
  ASSERT_TRUE(made) << made.status().message();
  EXPECT_EQ(made->size(), 32u);
  EXPECT_EQ(*makeUserKey(KeyUse::Signing), *made);
  EXPECT_EQ(*readUserKey(KeyUse::Signing), *made);
  EXPECT_EQ(fs::status(userKeyPath()).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  // Nothing else is left behind.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "divisi"), {}), 1);
}

TEST_F(UserKeyTest, thatOthersCanReadIsRefused) {
  ASSERT_TRUE(makeUserKey(KeyUse::Signing));
  fs::permissions(userKeyPath(), fs::perms::group_read, fs::perm_options::add);
  EXPECT_EQ(readUserKey(KeyUse::Signing).status().code(), ExitCode::Invalid);
  EXPECT_THAT(readUserKey(KeyUse::Signing).status().message(),
              HasSubstr("is not a file of this user's alone; expected mode "
                        "0600"));
  EXPECT_EQ(makeUserKey(KeyUse::Signing).status().code(), ExitCode::Invalid);
}

TEST_F(UserKeyTest, ofAnotherLengthIsRefused) {
  ASSERT_TRUE(makeUserKey(KeyUse::Signing));
  fs::resize_file(userKeyPath(), 31);
  EXPECT_THAT(readUserKey(KeyUse::Signing).status().message(),
              HasSubstr("does not have 32 bytes"));
}

TEST_F(UserKeyTest, behindALinkIsRefused) {
  ASSERT_TRUE(makeUserKey(KeyUse::Signing));
  fs::rename(userKeyPath(), folder_ / "elsewhere");
  fs::create_symlink(folder_ / "elsewhere", userKeyPath());
  EXPECT_EQ(readUserKey(KeyUse::Signing).status().code(), ExitCode::File);
}

// Opening one to read waits for a writer, who never comes.
TEST_F(UserKeyTest, ofAPipeIsRefused) {
  fs::create_directories(folder_ / "divisi");
  ASSERT_EQ(mkfifo(userKeyPath().c_str(), 0600), 0);
  EXPECT_EQ(readUserKey(KeyUse::Signing).status().code(), ExitCode::Invalid);
  EXPECT_EQ(makeUserKey(KeyUse::Signing).status().code(), ExitCode::Invalid);
}

TEST_F(UserKeyTest, needsAFolderThatCanBeMade) {
  std::ofstream(folder_ / "divisi") << "a file";
  EXPECT_EQ(makeUserKey(KeyUse::Signing).status().code(), ExitCode::File);
  EXPECT_THAT(makeUserKey(KeyUse::Signing).status().message(),
              HasSubstr("cannot be made"));
}
