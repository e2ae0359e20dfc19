//===- Errors.cpp - Errors and structures of the C APIs -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/C/Errors.h"

#include <cstdlib>
#include <new>

using namespace divisi;

/// One block: the texts follow it.
struct divisi_error {
  divisi_code code;
  const char *message, *place;
  bool isOwned; ///< To be freed.
};

divisi_error *divisi::outOfMemoryError() {
  static divisi_error error{DIVISI_DEVICE,
                            "memory has run out; not even the error that this "
                            "caused could be kept",
                            "", false};
  return &error;
}

divisi_error *divisi::makeErrorObject(const Status &status, const char *place) {
  if (status.isOk()) {
    return nullptr;
  }
  size_t message = status.message().size() + 1;
  size_t at = std::strlen(place) + 1;
  void *memory = std::malloc(sizeof(divisi_error) + message + at);
  if (!memory) {
    return outOfMemoryError();
  }
  char *text = static_cast<char *>(memory) + sizeof(divisi_error);
  std::memcpy(text, status.message().c_str(), message);
  std::memcpy(text + message, place, at);
  return new (memory) divisi_error{static_cast<divisi_code>(status.code()),
                                   text, text + message, true};
}

static divisi_code codeOf(const divisi_error *error) {
  return error ? error->code : DIVISI_OK;
}

static const char *messageOf(const divisi_error *error) {
  return error ? error->message : "";
}

static const char *placeOf(const divisi_error *error) {
  return error ? error->place : "";
}

static void freeError(divisi_error *error) {
  if (error && error->isOwned) {
    std::free(error);
  }
}

divisi_error_api divisi::errorApi() {
  return {sizeof(divisi_error_api), codeOf, messageOf, placeOf, freeError};
}
