//===- Kernel.cpp - Looking a kernel up, and running one ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Kernel.h"
#include "runtime/kernels/Pages.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace divisi::rt {

/// Whether the kernel knows what is special about the call.
static bool mayAsk(const Kernel &kernel, const CallSite &site) {
  auto isPlain = [](const TensorInfo &info) { return info.format.empty(); };
  bool hasFormat =
      !std::all_of(site.operands.begin(), site.operands.end(), isPlain) ||
      !std::all_of(site.results.begin(), site.results.end(), isPlain);
  return (kernel.takesFormats || !hasFormat) &&
         kernel.takesCode == (site.code != nullptr);
}

static std::shared_ptr<const std::byte>
pack(int64_t bytes, const std::function<bool(std::byte *)> &fill) {
  std::shared_ptr<std::byte> made(
      static_cast<std::byte *>(allocatePages(std::max<int64_t>(bytes, 1))),
      [](std::byte *data) { std::free(data); });
  return made && fill(made.get()) ? made : nullptr;
}

std::shared_ptr<const std::byte>
PackedForms::get(const std::string &name, int64_t bytes,
                 const std::function<bool(std::byte *)> &fill) {
  std::lock_guard lock(mutex_);
  std::weak_ptr<const std::byte> &known = forms_[name];
  std::shared_ptr<const std::byte> form = known.lock();
  if (!form) {
    known = form = pack(bytes, fill);
  }
  return form;
}

std::shared_ptr<const std::byte>
packConstant(const Constant &constant, const std::string &name, int64_t bytes,
             const std::function<bool(std::byte *)> &fill) {
  PackedForms *forms = constant.forms();
  return forms ? forms->get(name, bytes, fill) : pack(bytes, fill);
}

bool Constant::read(int64_t begin, int64_t count, void *to) const {
  begin += begin_;
  if (!reader_) {
    std::memcpy(to, static_cast<const std::byte *>(data_) + begin,
                size_t(count));
    return true;
  }
  bool done = reader_->read(begin, count, static_cast<std::byte *>(to));
  if (!done) {
    std::memset(to, 0, size_t(count));
  }
  return done;
}

Constant Constant::from(int64_t at) const {
  Constant rest = *this;
  rest.begin_ += at;
  rest.forms_ = nullptr;
  return rest;
}

const Kernel *Backend::find(const CallSite &site) const {
  std::span<const Kernel> table = kernels();
  auto it = std::lower_bound(
      table.begin(), table.end(), site.op,
      [](const Kernel &kernel, std::string_view op) { return kernel.op < op; });
  for (; it != table.end() && it->op == site.op; ++it) {
    if (mayAsk(*it, site) && (!it->accepts || it->accepts(site))) {
      return &*it;
    }
  }
  return nullptr;
}

const Kernel *Backend::find(const CallSite &site, int version) const {
  const Kernel *kernel = find(site);
  return kernel && kernel->version == version ? kernel : nullptr;
}

const Backend *chooseBackend(const CallSite &site, int version,
                             std::span<const Backend *const> backends) {
  for (const Backend *backend : backends) {
    if (backend->find(site, version)) {
      return backend;
    }
  }
  return nullptr;
}

std::string BadIndex::message() const {
  std::ostringstream os;
  os << "index " << value << " at [";
  for (size_t d = 0; d < position.size(); ++d) {
    os << (d == 0 ? "" : ", ") << position[d];
  }
  os << "] is outside of an extent of " << extent;
  if (extent > 0) {
    os << "; expected " << -extent << " to " << extent - 1;
  }
  return os.str();
}

void LaunchContext::note(BadIndex found) {
  if (!badIndex || found.position < badIndex->position) {
    badIndex = std::move(found);
  }
}

Status kernelFailure() {
  return Status(ExitCode::Device,
                "the kernel failed; no result of this run is valid");
}

std::optional<int> kernelVersion(std::string_view op) {
  for (const Kernel &kernel : referenceBackend().kernels()) {
    if (kernel.op == op) {
      return kernel.version;
    }
  }
  return std::nullopt;
}

} // namespace divisi::rt
