//===- GridLibrary.cpp - A kernel of an artifact --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cuda/GridLibrary.h"

#include <map>
#include <mutex>
#include <string>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::cuda;

Status GridLibrary::load(const char *image) {
  Status status =
      driver_->check(driver_->libraryLoadData(&library_, image, nullptr,
                                              nullptr, 0, nullptr, nullptr, 0),
                     "load a generated kernel");
  return status.isOk()
             ? driver_->check(driver_->libraryGetKernel(&kernel_, library_,
                                                        gridFunctionName),
                              "find a generated kernel")
             : status;
}

/// The driver takes PTX as text that ends with NUL (CUDA Driver API,
/// cuLibraryLoadData), which the bytes of an artifact need not: a string does.
Expected<std::shared_ptr<const GridLibrary>>
GridLibrary::open(std::span<const std::byte> bytes) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<const GridLibrary>> known;
  auto driver = Driver::open();
  if (!driver) {
    return driver.status();
  }
  std::string image(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  std::lock_guard lock(mutex);
  auto found = known.find(image);
  if (auto shared = found == known.end() ? nullptr : found->second.lock()) {
    return shared;
  }
  std::erase_if(known, [](const auto &one) { return one.second.expired(); });
  std::shared_ptr<GridLibrary> made(new GridLibrary(*driver));
  Status status = made->load(image.c_str());
  if (!status.isOk()) {
    return status;
  }
  known[std::move(image)] = made;
  return std::shared_ptr<const GridLibrary>(std::move(made));
}

Expected<CUfunction> GridLibrary::functionIn(const Context &context) const {
  CUfunction function = nullptr;
  Status status =
      context.check(context.driver().kernelGetFunction(&function, kernel_),
                    "load a generated kernel");
  return status.isOk() ? Expected(function) : status;
}
