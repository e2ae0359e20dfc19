//===- NativeObject.cpp - Code that is loaded -----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/NativeObject.h"
#include "divisi/Support/Sha256.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::cpu;

template <typename... Parts> static Status refused(const Parts &...parts) {
  return makeError(ExitCode::Invalid, "native code ", parts...);
}

/// The T at `offset`, if it lies in `bytes`.
template <typename T>
static bool readAt(std::span<const std::byte> bytes, uint64_t offset,
                   T &value) {
  if (offset > bytes.size() || sizeof(T) > bytes.size() - offset) {
    return false;
  }
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return true;
}

/// Whether all that a loader is told is where names are: no libraries, nothing
/// to run at once, no relocations.
static bool importsNothing(std::span<const std::byte> bytes,
                           const Elf64_Phdr &dynamic) {
  Elf64_Dyn entry = {};
  for (uint64_t at = 0; at < dynamic.p_filesz; at += sizeof(entry)) {
    if (!readAt(bytes, dynamic.p_offset + at, entry)) {
      return false;
    }
    switch (entry.d_tag) {
    case DT_NULL:
      return true;
    case DT_HASH:
    case DT_STRTAB:
    case DT_SYMTAB:
    case DT_STRSZ:
    case DT_SYMENT:
      break;
    default:
      return false;
    }
  }
  return false;
}

/// The loader trusts what it loads more than we do.
static Status checkObject(std::span<const std::byte> bytes) {
  Elf64_Ehdr header;
  if (!readAt(bytes, 0, header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_type != ET_DYN ||
      header.e_machine != EM_X86_64 ||
      header.e_phentsize != sizeof(Elf64_Phdr)) {
    return refused("is not a shared object for this kind of processor");
  }
  bool hasTable = false;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!readAt(bytes, header.e_phoff + i * sizeof(segment), segment) ||
        segment.p_offset > bytes.size() ||
        segment.p_filesz > bytes.size() - segment.p_offset) {
      return refused("is cut off");
    }
    if ((segment.p_flags & PF_W) && (segment.p_flags & PF_X)) {
      return refused("could change itself");
    }
    if (segment.p_type == PT_DYNAMIC) {
      hasTable = importsNothing(bytes, segment);
      if (!hasTable) {
        return refused("imports something");
      }
    }
  }
  return hasTable ? Status() : refused("has no table of names");
}

/// A file in memory that nobody can change any more; -1 if there is none.
static int sealedFile(std::span<const std::byte> bytes) {
  int file = memfd_create("divisi-native", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  for (size_t at = 0; file >= 0 && at < bytes.size();) {
    ssize_t written = write(file, bytes.data() + at, bytes.size() - at);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      close(file);
      return -1;
    }
    at += static_cast<size_t>(written);
  }
  constexpr int seals =
      F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
  if (file >= 0 && fcntl(file, F_ADD_SEALS, seals) != 0) {
    close(file);
    return -1;
  }
  return file;
}

Status NativeObject::open(std::span<const std::byte> bytes) {
  if (Status status = checkObject(bytes); !status.isOk()) {
    return status;
  }
  file_ = sealedFile(bytes);
  if (file_ < 0) {
    return makeError(ExitCode::Device, "native code needs a file in memory: ",
                     std::strerror(errno));
  }
  std::string path = "/proc/self/fd/" + std::to_string(file_);
  handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void *symbol = handle_ ? dlsym(handle_, rowFunctionName) : nullptr;
  if (!symbol) {
    const char *why = dlerror();
    return refused("cannot be loaded: ", why ? why : "");
  }
  function_ = reinterpret_cast<RowFunction>(symbol);
  return {};
}

NativeObject::~NativeObject() {
  if (handle_) {
    dlclose(handle_);
  }
  if (file_ >= 0) {
    close(file_);
  }
}

Expected<std::shared_ptr<const NativeObject>>
NativeObject::load(std::span<const std::byte> bytes) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<const NativeObject>> loaded;
  std::string hash = Sha256::of(bytes);
  std::lock_guard lock(mutex);
  std::weak_ptr<const NativeObject> &known = loaded[hash];
  std::shared_ptr<const NativeObject> object = known.lock();
  if (!object) {
    std::shared_ptr<NativeObject> made(new NativeObject());
    if (Status status = made->open(bytes); !status.isOk()) {
      loaded.erase(hash);
      return status;
    }
    known = object = std::move(made);
  }
  return object;
}
