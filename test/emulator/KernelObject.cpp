//===- KernelObject.cpp - A kernel that was made for the host -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/emulator/KernelObject.h"

#include <cstring>
#include <string>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace divisi::emulator;

KernelObject::KernelObject(const void *image)
    : file_(memfd_create("kernel", MFD_CLOEXEC)) {
  EmulatedHeader header, expected;
  if (std::strncmp(static_cast<const char *>(image), expected.magic,
                   sizeof(expected.magic)) != 0) {
    return; // something else, of any size
  }
  std::memcpy(&header, image, sizeof(header));
  parameters_ = header.parameters;
  bytes_ = sizeof(header) + header.bytes;
  const char *object = static_cast<const char *>(image) + sizeof(header);
  if (file_ < 0 || write(file_, object, header.bytes) !=
                       static_cast<ssize_t>(header.bytes)) {
    return;
  }
  std::string path = "/proc/self/fd/" + std::to_string(file_);
  handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_) {
    function_ = reinterpret_cast<EmulatedFunction>(
        dlsym(handle_, emulatedFunctionName));
  }
}

KernelObject::~KernelObject() {
  if (handle_) {
    dlclose(handle_);
  }
  if (file_ >= 0) {
    close(file_);
  }
}
