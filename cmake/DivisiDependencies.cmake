# Finds what cmake/setup.sh has installed. That script alone says which
# version of what comes from where.

set(DIVISI_SETUP ${PROJECT_SOURCE_DIR}/cmake/setup.sh)
execute_process(COMMAND bash ${DIVISI_SETUP} --prefix
  OUTPUT_VARIABLE DIVISI_PREFIX OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND bash ${DIVISI_SETUP} --inputs
  OUTPUT_VARIABLE setup_inputs OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" setup_inputs "${setup_inputs}")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${setup_inputs})
if(NOT EXISTS ${DIVISI_PREFIX}/stamp)
  message(FATAL_ERROR
    "the dependencies are not set up in ${DIVISI_PREFIX}; run 'make setup'")
endif()
set(DIVISI_PYTHON ${DIVISI_PREFIX}/venv/bin/python)

# LLVM and MLIR, as two shared libraries: links stay quick.
find_package(MLIR REQUIRED CONFIG PATHS /usr/lib/llvm-22 NO_DEFAULT_PATH)
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "found LLVM ${LLVM_VERSION}, expected 22")
endif()
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
separate_arguments(DIVISI_LLVM_DEFINITIONS NATIVE_COMMAND
  "${LLVM_DEFINITIONS}")

# g++ looks for `ld.lld`, which Debian keeps in LLVM's own folder.
if(EXISTS ${LLVM_TOOLS_BINARY_DIR}/ld.lld)
  add_link_options(-B${LLVM_TOOLS_BINARY_DIR} -fuse-ld=lld)
endif()

find_package(Threads REQUIRED)
find_package(GTest REQUIRED)
find_package(Protobuf REQUIRED)

# divisi::onnx: the ONNX schema, checker and shape inference. They throw:
# only targets declared with EXCEPTIONS may use them.
# The prefix changes with the set-up script, so no result is kept.
unset(ONNX_DIR CACHE)
find_package(ONNX REQUIRED CONFIG PATHS ${DIVISI_PREFIX} NO_DEFAULT_PATH)
add_library(divisi_onnx INTERFACE)
add_library(divisi::onnx ALIAS divisi_onnx)
target_link_libraries(divisi_onnx INTERFACE ONNX::onnx)

# divisi::onednn: oneDNN for CPUs, on OpenMP. Its C API only: the C++ wrapper
# reports errors by throwing.
add_library(divisi_onednn SHARED IMPORTED)
add_library(divisi::onednn ALIAS divisi_onednn)
set_target_properties(divisi_onednn PROPERTIES
  IMPORTED_LOCATION ${DIVISI_PREFIX}/onednn/lib/libdnnl.so.3
  INTERFACE_INCLUDE_DIRECTORIES ${DIVISI_PREFIX}/onednn/include)
