//===- GridTarget.h - Targets of GPU code -----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The target of a kernel (GridCode.h) says which GPUs it is for: PTX for those
// from one on, and code assembled for some of them.
//
//   nvptx64-nvidia-cuda-grid1:sm_90                  PTX
//   nvptx64-nvidia-cuda-grid1:sm_90:sm_90,sm_100     an image of PTX and cubins
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CODE_GRIDTARGET_H
#define DIVISI_RUNTIME_CODE_GRIDTARGET_H

#include <span>
#include <string>
#include <string_view>

namespace divisi::rt {

/// That of images with cubins for `cubins` ("sm_90", "sm_100") beside the PTX
/// of `target`, which is one of ptxTarget(). Without any it asks for images
/// with what there will be, and no code has it.
std::string imageTarget(std::string_view target,
                        std::span<const std::string> cubins);
/// The PTX of an image's target.
std::string_view ptxOf(std::string_view target);
/// `PTX for sm_90 on, cubins for sm_90, sm_100`, of one of isGridTarget().
std::string describeGridTarget(std::string_view target);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CODE_GRIDTARGET_H
