# The versions of what divisi is built of, as the files say that are compiled and
# linked: for `divisi version`, by lib/Driver/BuiltOf.inc.in. What is not there
# has no version.

# divisi_header_version(OUT HEADER MACRO…)
# Joins the numbers of macros by periods.
function(divisi_header_version out header)
  set(${out} "" PARENT_SCOPE)
  if(NOT EXISTS "${header}")
    return()
  endif()
  set(numbers)
  foreach(macro ${ARGN})
    file(STRINGS "${header}" lines REGEX "^# *define +${macro} +[0-9]+")
    list(GET lines 0 line)
    string(REGEX REPLACE "^.*${macro} +([0-9]+).*$" "\\1" number "${line}")
    list(APPEND numbers ${number})
  endforeach()
  list(JOIN numbers "." version)
  set(${out} "${version}" PARENT_SCOPE)
endfunction()

set(divisi_version_onnx ${ONNX_VERSION})
set(divisi_version_protobuf ${Protobuf_VERSION})
set(divisi_version_simdjson ${simdjson_VERSION})
string(REPLACE "GNU" "GCC" divisi_compiler ${CMAKE_CXX_COMPILER_ID})
divisi_header_version(divisi_version_onednn
  ${DIVISI_PREFIX}/onednn/include/oneapi/dnnl/dnnl_version.h
  DNNL_VERSION_MAJOR DNNL_VERSION_MINOR DNNL_VERSION_PATCH)
divisi_header_version(divisi_version_highs
  ${DIVISI_PREFIX}/highs/include/HConfig.h
  HIGHS_VERSION_MAJOR HIGHS_VERSION_MINOR HIGHS_VERSION_PATCH)
get_target_property(library divisi_z3 IMPORTED_LOCATION)
string(REGEX REPLACE "^.*libz3\\.so\\." "" divisi_version_z3 ${library})
# 13000 is 13.0.
divisi_header_version(number "${DIVISI_CUDA_INCLUDE}/cuda.h" CUDA_VERSION)
set(divisi_version_cuda)
if(number)
  math(EXPR major "${number} / 1000")
  math(EXPR minor "${number} % 1000 / 10")
  set(divisi_version_cuda ${major}.${minor})
endif()
divisi_header_version(divisi_version_cudnn
  "${DIVISI_CUDNN_INCLUDE}/cudnn_version.h"
  CUDNN_MAJOR CUDNN_MINOR CUDNN_PATCHLEVEL)
divisi_header_version(divisi_version_nccl "${DIVISI_NCCL_INCLUDE}/nccl.h"
  NCCL_MAJOR NCCL_MINOR NCCL_PATCH)
set(divisi_version_mpi ${MPI_C_VERSION})
divisi_header_version(divisi_version_pmix
  "${DIVISI_PMIX_INCLUDE}/pmix_version.h"
  PMIX_VERSION_MAJOR PMIX_VERSION_MINOR PMIX_VERSION_RELEASE)
