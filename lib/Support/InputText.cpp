//===- InputText.cpp - The text of a file, inflated if gzip ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/InputText.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <libdeflate.h>
#include <memory>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace divisi {

static Status invalid(std::string message) {
  return {ExitCode::Invalid, std::move(message)};
}

static Status cannotRead(const std::string &path, int error) {
  return {error == ENOMEM ? ExitCode::Device : ExitCode::File,
          "cannot read '" + path + "': " + std::strerror(error)};
}

static Status tooLong() {
  return invalid("the text is longer than " + std::to_string(kMostText) +
                 " bytes, which is the most that is read");
}

static bool isGzip(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b");
}

/// Whether a text of `size` bytes fills huge pages.
static bool isLarge(size_t size) { return size >= size_t(4) << 20; }

InputText::InputText(InputText &&other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      reserved_(std::exchange(other.reserved_, 0)) {}

InputText::~InputText() {
  if (begin_) {
    munmap(begin_, reserved_);
  }
}

Expected<InputText> InputText::reserve(size_t most, bool large) {
  size_t page = size_t(sysconf(_SC_PAGESIZE));
  InputText text;
  text.reserved_ = (most + kPadding + page - 1) / page * page;
  void *begin = mmap(nullptr, text.reserved_, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) {
    return Status(
        ExitCode::File,
        "cannot reserve " + std::to_string(text.reserved_) +
            " bytes of address space for the text: " + std::strerror(errno));
  }
  text.begin_ = static_cast<char *>(begin);
  if (large) {
    madvise(begin, text.reserved_, MADV_HUGEPAGE); // fewer page faults
  }
  return text;
}

void InputText::shrink(size_t size) {
  size_t page = size_t(sysconf(_SC_PAGESIZE));
  size_t kept = (size + kPadding + page - 1) / page * page;
  if (kept < reserved_) {
    munmap(begin_ + kept, reserved_ - kept);
    reserved_ = kept;
  }
  size_ = size;
  std::memset(begin_ + size, 0, reserved_ - size);
}

/// Members follow each other, as when files of gzip are joined.
Expected<InputText> InputText::inflate(std::string_view gzip) {
  size_t most = mostInflated(gzip.size());
  Expected<InputText> text = reserve(most, gzip.size() >= size_t(1) << 16);
  if (!text) {
    return text;
  }
  std::unique_ptr<libdeflate_decompressor,
                  decltype(&libdeflate_free_decompressor)>
      decompressor(libdeflate_alloc_decompressor(),
                   libdeflate_free_decompressor);
  size_t at = 0, size = 0;
  while (at != gzip.size()) {
    std::string_view rest = gzip.substr(at);
    std::string where = " at byte " + std::to_string(at) + " of the file";
    if (!isGzip(rest)) {
      return invalid("what follows the gzip data" + where +
                     " is not gzip; remove it");
    }
    size_t taken = 0, made = 0;
    libdeflate_result result = libdeflate_gzip_decompress_ex(
        decompressor.get(), rest.data(), rest.size(), text->begin_ + size,
        most - size, &taken, &made);
    if (result == LIBDEFLATE_INSUFFICIENT_SPACE) {
      return invalid("the gzip data holds more than " + std::to_string(most) +
                     " bytes, which is implausible for a file of " +
                     std::to_string(gzip.size()) +
                     "; if it is right, decompress it first");
    }
    if (result != LIBDEFLATE_SUCCESS) {
      return invalid("the gzip data that begins" + where +
                     " is damaged or ends early");
    }
    at += taken;
    size += made;
  }
  text->shrink(size);
  return text;
}

Expected<InputText> InputText::read(std::string_view bytes) {
  if (isGzip(bytes)) {
    return inflate(bytes);
  }
  if (bytes.size() > kMostText) {
    return tooLong();
  }
  Expected<InputText> text = reserve(bytes.size(), isLarge(bytes.size()));
  if (text) {
    std::ranges::copy(bytes, text->begin_);
    text->shrink(bytes.size());
  }
  return text;
}

Expected<InputText> InputText::readFile(const std::string &path) {
  struct File {
    int number;
    ~File() { close(number); }
  };
  int number = path == "-" ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                           : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (number < 0) {
    return cannotRead(path, errno);
  }
  File file{number};
  struct stat about{};
  if (fstat(number, &about) != 0) {
    return cannotRead(path, errno);
  }
  // A pipe does not know its size, and a file may grow meanwhile.
  bool regular = S_ISREG(about.st_mode);
  if (regular && size_t(about.st_size) > kMostText) {
    return tooLong();
  }
  size_t most = regular ? size_t(about.st_size) : kMostText, size = 0;
  Expected<InputText> text = reserve(most, regular && isLarge(most));
  if (!text) {
    return text;
  }
  while (size != most) {
    ssize_t got = ::read(number, text->begin_ + size, most - size);
    if (got < 0 && errno != EINTR) {
      return cannotRead(path, errno);
    }
    if (got == 0) {
      break;
    }
    size += size_t(std::max<ssize_t>(got, 0));
  }
  if (!regular && size == most) {
    return tooLong();
  }
  // What is half of a text may be one, too.
  char more = 0;
  if (regular && (size != most || ::read(number, &more, 1) > 0)) {
    return Status(ExitCode::File, "cannot read '" + path +
                                      "': its size changed while it was read");
  }
  text->shrink(size);
  return isGzip(text->text()) ? inflate(text->text()) : std::move(text);
}

} // namespace divisi
