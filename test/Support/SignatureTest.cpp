//===- SignatureTest.cpp - Who vouches for native code --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/Signature.h"
#include "divisi/Support/Sha256.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace divisi;
using testing::HasSubstr;
namespace fs = std::filesystem;

static std::string fromHex(const std::string &digits) {
  std::string bytes;
  for (size_t i = 0; i < digits.size(); i += 2) {
    bytes += char(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

// RFC 8032, section 7.1, tests 1 and 2.
TEST(Signature, hasTheValuesOfTheStandard) {
  struct Case {
    const char *secret, *publicKey, *text, *signature;
  };
  for (const Case &test : {
           Case{"9d61b19deffd5a60ba844af492ec2cc4"
                "4449c5697b326919703bac031cae7f60",
                "d75a980182b10ab7d54bfed3c964073a"
                "0ee172f3daa62325af021a68f707511a",
                "",
                "e5564300c360ac729086e2cc806e828a"
                "84877f1eb8e5d974d873e06522490155"
                "5fb8821590a33bacc61e39701cf9b46b"
                "d25bf5f0595bbe24655141438e7a100b"},
           Case{"4ccd089b28ff96da9db6c346ec114e0f"
                "5b8a319f35aba624da8cf6ed4fb8a6fb",
                "3d4017c3e843895a92b70aa74d1b7ebc"
                "9c982ccf2ec4968cc0cd55f12af4660c",
                "r",
                "92a009a9f0d4cab8720e820b5f642540"
                "a2b27b5416503f8fb3762223ebdb69da"
                "085ac1e43e15996e458f3613d0f11d8c"
                "387b2eaeb4302aeeb00d291612bb0c00"},
       }) {
    std::string secret = fromHex(test.secret);
    std::string key = publicKeyOf(secret), signature = sign(secret, test.text);
    EXPECT_EQ(toHex(key), test.publicKey);
    EXPECT_EQ(toHex(signature), test.signature);
    EXPECT_TRUE(isSignature(key, test.text, signature));
    EXPECT_FALSE(isSignature(key, std::string(test.text) + "x", signature));
    EXPECT_FALSE(isSignature(key, test.text, signature.substr(1)));
    EXPECT_FALSE(isSignature(key.substr(1), test.text, signature));
    for (size_t i : {size_t(0), signature.size() - 1}) {
      std::string other = signature;
      other[i] = char(other[i] ^ 1);
      EXPECT_FALSE(isSignature(key, test.text, other));
    }
    std::string other = key;
    other[3] = char(other[3] ^ 1);
    EXPECT_FALSE(isSignature(other, test.text, signature));
  }
}

// A key of small order would sign everything: 0 is one.
TEST(Signature, ofNoKeyIsNone) {
  EXPECT_FALSE(isSignature(std::string(32, '\0'), "text", std::string(64, 0)));
  std::string one = '\1' + std::string(31, '\0');
  EXPECT_FALSE(isSignature(one, "text", one + std::string(32, '\0')));
}

namespace {

class TrustedKeysTest : public testing::Test {
protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              ("divisi-trust-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    path_ = folder_ / "keys";
  }
  void TearDown() override { fs::remove_all(folder_); }
  void write(const std::string &text) {
    std::ofstream(path_) << text;
    fs::permissions(path_, fs::perms(0644));
  }
  Status read() const { return readTrustedKeys(path_).status(); }

  fs::path folder_, path_;
  std::string key_ = publicKeyOf(std::string(32, 'k'));
};

} // namespace

TEST_F(TrustedKeysTest, haveOneKeyALine) {
  std::string other = publicKeyOf(std::string(32, 'l'));
  write("# Machines that build\n\n" + publicKeyText(key_) +
        "  the CI machine \r\n  " + publicKeyText(other));
  auto keys = readTrustedKeys(path_);
  ASSERT_TRUE(keys) << keys.status().message();
  ASSERT_EQ(keys->size(), 2u);
  EXPECT_EQ(keys->front().publicKey, key_);
  EXPECT_EQ(keys->front().name, "the CI machine");
  EXPECT_EQ(keys->back().publicKey, other);
  EXPECT_EQ(keys->back().name, "");
}

TEST_F(TrustedKeysTest, sayWhichLineIsNone) {
  std::string text = publicKeyText(key_);
  for (const std::string &bad :
       {text.substr(0, text.size() - 1), text + "0", text.substr(8),
        std::string("divisi-ed25519"), std::string("ssh-ed25519 AAAA")}) {
    write(text + "\n" + bad + "\n");
    EXPECT_EQ(read().code(), ExitCode::Invalid) << bad;
    EXPECT_THAT(read().message(),
                HasSubstr("has no key in line 2: expected 'divisi-ed25519' and "
                          "64 hexadecimal digits, as 'divisi key' prints it"));
  }
}

TEST_F(TrustedKeysTest, thatOthersMayWriteAreRefused) {
  write(publicKeyText(key_));
  for (int mode : {0664, 0646, 0666}) {
    fs::permissions(path_, fs::perms(mode));
    EXPECT_EQ(read().code(), ExitCode::Invalid);
    EXPECT_THAT(read().message(),
                HasSubstr("is not a file that this user or root alone may "
                          "write; expected mode 0644 or less"));
  }
}

TEST_F(TrustedKeysTest, areInAFileOfSomeSize) {
  EXPECT_EQ(read().code(), ExitCode::File);
  EXPECT_THAT(read().message(), HasSubstr("cannot be read: "));
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(read().code(), ExitCode::Invalid); // does not wait for a writer
  fs::remove(path_);
  fs::create_directory(path_);
  EXPECT_EQ(read().code(), ExitCode::Invalid);
  fs::remove(path_);
  write(std::string((1 << 20) + 1, '#'));
  EXPECT_THAT(read().message(), HasSubstr("has more than 1048576 bytes"));
}
