//===- ProblemTexts.h - Texts of problems, for tests ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_SEARCH_PROBLEMTEXTS_H
#define DIVISI_TEST_SEARCH_PROBLEMTEXTS_H

#include <gtest/gtest.h>
#include <libdeflate.h>
#include <string>
#include <string_view>

namespace divisi::search {

/// A problem with a bit of everything; its first line has 26 characters.
inline constexpr std::string_view kBase =
    R"({"problem": {"name": "p",
  "nodes": {"intervals": [[0, 2], [1, 3]], "costs": [[1, 2], [3]],
            "usages": [[4, 5], [6]]},
  "edges": {"nodes": [[0, 1]], "costs": [[7, 8]]},
  "usage_limit": 9}})";

/// kBase with the first `from` replaced.
inline std::string with(std::string_view from, std::string_view to) {
  std::string text(kBase);
  size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

/// `text` as gzip.
inline std::string gzip(std::string_view text) {
  libdeflate_compressor *compressor = libdeflate_alloc_compressor(6);
  std::string out(libdeflate_gzip_compress_bound(compressor, text.size()), 0);
  out.resize(libdeflate_gzip_compress(compressor, text.data(), text.size(),
                                      out.data(), out.size()));
  libdeflate_free_compressor(compressor);
  return out;
}

} // namespace divisi::search

#endif // DIVISI_TEST_SEARCH_PROBLEMTEXTS_H
