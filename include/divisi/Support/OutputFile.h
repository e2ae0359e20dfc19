//===- OutputFile.h - Files that are never half written ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SUPPORT_OUTPUTFILE_H
#define DIVISI_SUPPORT_OUTPUTFILE_H

#include "divisi/Support/Status.h"

#include <functional>
#include <string>
#include <string_view>

namespace divisi {

/// Takes the next piece of a text.
using Put = std::function<void(std::string_view)>;

/// Makes what `make` puts, piece by piece, the content of the file `path`, as
/// gzip if that ends in .gz. A new file beside it takes its name once all is on
/// the disk; so it holds the old content or the new at every moment, even if
/// the process is killed. What is no regular file (a pipe, a terminal) is
/// written to as it is. Fails with File.
Status writeFile(const std::string &path,
                 const std::function<void(const Put &)> &make);

} // namespace divisi

#endif // DIVISI_SUPPORT_OUTPUTFILE_H
