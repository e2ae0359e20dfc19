//===- Sha256Test.cpp - Tests of SHA-256 ----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/Sha256.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace divisi;

TEST(Sha256Test, matchesTheVectorsOfNist) {
  EXPECT_EQ(toHex(Sha256::of("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b"
                                 "934ca495991b7852b855");
  EXPECT_EQ(toHex(Sha256::of("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(toHex(Sha256::of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomno"
                           "pnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256Test, doesNotDependOnHowItIsFed) {
  std::string million(1000000, 'a');
  for (bool isPortable : {false, true}) {
    Sha256 hash(isPortable);
    for (size_t begin = 0, step = 1; begin < million.size();
         step = step % 297 + 1) {
      size_t size = std::min(step, million.size() - begin);
      hash.update(
          std::as_bytes(std::span<const char>(million).subspan(begin, size)));
      begin += size;
    }
    EXPECT_EQ(
        toHex(hash.finish()),
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  }
}
