//===- Description.h - A session described in JSON --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CAPI_DESCRIPTION_H
#define DIVISI_RUNTIME_CAPI_DESCRIPTION_H

#include "divisi/runtime/core/Session.h"

#include <string>

namespace divisi::rt {

/// What `session` runs on what, as JSON:
///
///   {"schema_version": 1,
///    "native_code": {"codes": 2, "bytes": 8192, "refused": ""},
///    "entries": [{"name": "main", "kernels": [
///      {"rank": 0, "operator": "nn.matmul", "backend": "cpu", "calls": 4}],
///      "ranks": [{"rank": 0, "waiting_ns": 812, "state_in_place_bytes": 0,
///        "state_copied_bytes": 0, "space_copies_bytes": 0,
///        "collectives": [{"kind": "all_reduce", "steps": 2, "bytes": 4096,
///          "queued": 0}]}]}]}
///
/// Waiting is of the last run.
std::string describeSession(const Session &session);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CAPI_DESCRIPTION_H
