//===- TensorFile.h - Tensors in files --------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors come and go as NumPy's .npy and .npz, and as ONNX's test data folders
// (input_0.pb, input_1.pb, ...). A file's format is detected by its first
// bytes, not by its name. Files are hostile until checked: every size is
// computed with overflow checks and compared with the bytes that are there
// before memory is asked for.
//
// Errors: File where one cannot be read or written, Invalid where its content
// is wrong, Unsupported for element types and encodings that Divisi lacks. The
// message names the file.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_TENSORS_TENSORFILE_H
#define DIVISI_RUNTIME_TENSORS_TENSORFILE_H

#include "divisi/runtime/kernels/HostTensor.h"
#include "divisi/runtime/tensors/TensorLabels.h"

#include <functional>
#include <memory>

namespace divisi::rt {

/// What is known of a tensor before its elements are read.
struct TensorHead {
  DType type = DType::F32; ///< Of the elements.
  Dims dims;               ///< The extents.
  bool isOpaque = false;   ///< See HostTensor::isOpaque.
};

/// A tensor as a file gives it. Whoever wants it takes it: until then its
/// elements stay where they are, packed.
class GivenTensor {
public:
  /// Makes its elements.
  using Read = std::function<Expected<HostTensor>()>;

  /// One whose elements `read` makes.
  GivenTensor(TensorLabel label, TensorHead head, Read read)
      : label(std::move(label)), head(std::move(head)), read_(std::move(read)) {
  }
  /// One that is there.
  GivenTensor(TensorLabel label, HostTensor tensor);

  /// The tensor, named as the label is; at most once.
  Expected<HostTensor> take() const;

  TensorLabel label; ///< By which its input is found.
  TensorHead head;   ///< As the file says it.

private:
  Read read_;
};

/// One array. Fortran order is turned into row-major; its name is empty. Where
/// an element is a byte of no type it is opaque: i4, u4 or f8.
Expected<HostTensor> parseNpy(std::span<const std::byte> bytes);

/// One serialised ONNX TensorProto; its name is the message's, or empty.
Expected<HostTensor> parseOnnxTensor(std::span<const std::byte> bytes);

/// The tensors that a file's bytes hold: an .npz, else an .npy, else one
/// serialised ONNX TensorProto. Arrays called arr_0, arr_1, ... and nothing
/// else, as NumPy calls those that nobody named, are numbered. `source` is
/// named in messages; its ending counts where the bytes tell nothing. Of arrays
/// the headers are read; `owner` keeps the bytes until each is taken, and what
/// is wrong with the elements is an error then.
Expected<std::vector<GivenTensor>>
parseTensors(std::span<const std::byte> bytes, const std::string &source,
             std::shared_ptr<const void> owner);

/// The one tensor of `source` that `tensors` are; Invalid if there are more, or
/// none.
Expected<GivenTensor> onlyTensor(std::vector<GivenTensor> tensors,
                                 const std::string &source);

/// What parseTensors says of the file `path`, or of a folder `ROLE_0.pb`,
/// `ROLE_1.pb`, ..., numbered; ROLE is `input` or `output`. Fails with File
/// where a number is missing, or the folder holds no test data.
Expected<std::vector<GivenTensor>> readTensors(const std::string &path,
                                               const std::string &role);

/// What an .npy file begins with; the elements follow. bf16, i4, u4 and f8 are
/// bytes of no type, as ml_dtypes names them. There is no name for the field.
std::string formatNpyHeader(DType type, const Dims &dims);

/// Writes one tensor, through a temporary name. Fails with Unsupported for one
/// of the field.
Status writeNpy(const std::string &path, const HostTensor &tensor);

/// Writes all tensors by their names, which are not empty and differ; stored
/// without compression, through a temporary name. The same tensors give the
/// same bytes. Fails with Unsupported for one of the field.
Status writeNpz(const std::string &path,
                std::span<const HostTensor *const> tensors);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_TENSORS_TENSORFILE_H
