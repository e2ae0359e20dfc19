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

# divisi::llvm_support: the command line and the files of LLVM, as a copy in a
# program that does not load libLLVM. Not LLVM's own target LLVMSupport, which
# asks for zstd: what would need it is not linked.
add_library(divisi_llvm_demangle STATIC IMPORTED)
set_target_properties(divisi_llvm_demangle PROPERTIES
  IMPORTED_LOCATION ${LLVM_LIBRARY_DIR}/libLLVMDemangle.a)
add_library(divisi_llvm_support STATIC IMPORTED)
add_library(divisi::llvm_support ALIAS divisi_llvm_support)
set_target_properties(divisi_llvm_support PROPERTIES
  IMPORTED_LOCATION ${LLVM_LIBRARY_DIR}/libLLVMSupport.a
  INTERFACE_LINK_LIBRARIES divisi_llvm_demangle)

# divisi::mlir: MLIR and LLVM, as two shared libraries, so that the links of tests
# stay quick; in a program with the property DIVISI_OWN_LLVM, what it needs of
# their archives: a tenth of both, without Z3, libxml2 and ICU, which libLLVM
# loads. Archives and compressed debug information need libzstd.
find_library(DIVISI_ZSTD NAMES libzstd.so.1)
if(NOT DIVISI_ZSTD)
  message(FATAL_ERROR
    "found no libzstd.so.1 (Debian: libzstd1), which LLVM needs")
endif()
file(GLOB archives
  ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
list(FILTER archives EXCLUDE REGEX "CAPI")
list(JOIN archives "," archives)
add_library(divisi_llvm_archives INTERFACE)
target_link_libraries(divisi_llvm_archives INTERFACE
  "$<LINK_GROUP:RESCAN,${archives}>" ${DIVISI_ZSTD})
target_link_options(divisi_llvm_archives INTERFACE -Wl,--gc-sections)
add_library(divisi_mlir INTERFACE)
add_library(divisi::mlir ALIAS divisi_mlir)
set(own $<BOOL:$<TARGET_PROPERTY:DIVISI_OWN_LLVM>>)
target_link_libraries(divisi_mlir INTERFACE
  "$<IF:${own},divisi_llvm_archives,MLIR>" "$<$<NOT:${own}>:LLVM>")

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
divisi_bundle(divisi_onednn ${DIVISI_PREFIX}/onednn/lib/libdnnl.so.3)
set_target_properties(divisi_onednn PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES ${DIVISI_PREFIX}/onednn/include)

# divisi::highs: HiGHS, linear programs. Its C API only
# (interfaces/highs_c_api.h): the C++ one has the old ABI of std::string.
add_library(divisi_highs SHARED IMPORTED)
add_library(divisi::highs ALIAS divisi_highs)
set_target_properties(divisi_highs PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES ${DIVISI_PREFIX}/highs/include)
foreach(file highs/lib/libhighs.so highs/include/interfaces/highs_c_api.h)
  if(NOT EXISTS ${DIVISI_PREFIX}/${file})
    message(FATAL_ERROR "${DIVISI_PREFIX} has no ${file}; delete its file "
      "'stamp' and run 'make setup'")
  endif()
endforeach()
divisi_bundle(divisi_highs ${DIVISI_PREFIX}/highs/lib/libhighs.so)

# divisi::z3: Z3, proofs. Its C++ API is headers over the C API, and throws: only
# targets declared with EXCEPTIONS may use it.
add_library(divisi_z3 SHARED IMPORTED)
add_library(divisi::z3 ALIAS divisi_z3)
set_target_properties(divisi_z3 PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES ${DIVISI_PREFIX}/z3/include)
foreach(file z3/lib/libz3.so.5.4 z3/include/z3++.h)
  if(NOT EXISTS ${DIVISI_PREFIX}/${file})
    message(FATAL_ERROR "${DIVISI_PREFIX} has no ${file}, which proves "
      "substitution rules; delete its file 'stamp' and run 'make setup'")
  endif()
endforeach()
divisi_bundle(divisi_z3 ${DIVISI_PREFIX}/z3/lib/libz3.so.5.4)

# divisi::simdjson: a parser of JSON.
find_package(simdjson QUIET CONFIG)
if(NOT simdjson_FOUND)
  message(FATAL_ERROR
    "found no simdjson (Debian: libsimdjson-dev); run 'make setup'")
endif()
add_library(divisi_simdjson INTERFACE)
add_library(divisi::simdjson ALIAS divisi_simdjson)
# Without its definition for threads, which we do not use: it would be on every
# command line, since Support depends on this.
target_link_libraries(divisi_simdjson INTERFACE
  $<LINK_ONLY:simdjson::simdjson>)
target_include_directories(divisi_simdjson SYSTEM INTERFACE
  $<TARGET_PROPERTY:simdjson::simdjson,INTERFACE_INCLUDE_DIRECTORIES>)

# divisi::deflate: gzip from memory to memory. Debian has no CMake file of it.
find_library(DIVISI_DEFLATE deflate)
find_path(DIVISI_DEFLATE_INCLUDE libdeflate.h)
if(NOT DIVISI_DEFLATE OR NOT DIVISI_DEFLATE_INCLUDE)
  message(FATAL_ERROR
    "found no libdeflate (Debian: libdeflate-dev); run 'make setup'")
endif()
add_library(divisi_deflate SHARED IMPORTED)
add_library(divisi::deflate ALIAS divisi_deflate)
set_target_properties(divisi_deflate PROPERTIES
  IMPORTED_LOCATION ${DIVISI_DEFLATE}
  INTERFACE_INCLUDE_DIRECTORIES ${DIVISI_DEFLATE_INCLUDE})

# divisi::sodium: signatures. Its static archive, of which only these are linked:
# programs carry what they need of it.
find_library(DIVISI_SODIUM libsodium.a)
find_path(DIVISI_SODIUM_INCLUDE sodium.h)
if(NOT DIVISI_SODIUM OR NOT DIVISI_SODIUM_INCLUDE)
  message(FATAL_ERROR
    "found no libsodium.a (Debian: libsodium-dev); run 'make setup'")
endif()
add_library(divisi_sodium STATIC IMPORTED)
add_library(divisi::sodium ALIAS divisi_sodium)
set_target_properties(divisi_sodium PROPERTIES
  IMPORTED_LOCATION ${DIVISI_SODIUM}
  INTERFACE_INCLUDE_DIRECTORIES ${DIVISI_SODIUM_INCLUDE})

# divisi::mpi: MPI, if it is there, for a shared object that is opened on
# demand. Its C API only. Sanitizers see leaks and races in it that are not ours.
if(NOT DIVISI_SANITIZE)
  find_package(MPI QUIET COMPONENTS C)
endif()
if(MPI_C_FOUND)
  add_library(divisi_mpi INTERFACE)
  add_library(divisi::mpi ALIAS divisi_mpi)
  target_link_libraries(divisi_mpi INTERFACE MPI::MPI_C)
  target_compile_definitions(divisi_mpi INTERFACE OMPI_SKIP_MPICXX
    MPICH_SKIP_MPICXX)
elseif(NOT DIVISI_SANITIZE)
  message(NOTICE "found no MPI (Debian: libopenmpi-dev openmpi-bin): divisi "
    "will run artifacts in one process only")
endif()

# divisi::cuda: the headers of CUDA, if they are there. Nothing of it is linked:
# the libraries are opened where there is a GPU.
find_path(DIVISI_CUDA_INCLUDE cuda.h
  HINTS $ENV{CUDA_HOME}/include /usr/local/cuda/include)
if(DIVISI_CUDA_INCLUDE)
  add_library(divisi_cuda INTERFACE)
  add_library(divisi::cuda ALIAS divisi_cuda)
  target_include_directories(divisi_cuda SYSTEM INTERFACE
    ${DIVISI_CUDA_INCLUDE})
else()
  message(NOTICE "found no cuda.h (CUDA 12 or later, in /usr/local/cuda or "
    "$CUDA_HOME): divisi will know no GPUs")
endif()

# divisi::cublas, divisi::cudnn, divisi::nccl: the headers of its libraries of
# products, of convolutions and of collectives, of CUDA's toolkit, the system, or
# as cmake/cuda.sh has them from pip.
if(DIVISI_CUDA_INCLUDE)
  execute_process(COMMAND bash ${PROJECT_SOURCE_DIR}/cmake/cuda.sh --prefix
    OUTPUT_VARIABLE DIVISI_CUDA_PREFIX OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
  function(divisi_cuda_library name header what)
    string(TOUPPER ${name} upper)
    find_path(DIVISI_${upper}_INCLUDE ${header}
      HINTS ${DIVISI_CUDA_INCLUDE} ${DIVISI_CUDA_PREFIX}/include)
    if(DIVISI_${upper}_INCLUDE)
      add_library(divisi_${name} INTERFACE)
      add_library(divisi::${name} ALIAS divisi_${name})
      target_include_directories(divisi_${name} SYSTEM INTERFACE
        ${DIVISI_${upper}_INCLUDE} ${DIVISI_CUDA_INCLUDE})
    else()
      message(NOTICE "found no ${header} (in CUDA's toolkit, or by 'bash "
        "cmake/cuda.sh' from pip): ${what}")
    endif()
  endfunction()
  divisi_cuda_library(cublas cublasLt.h
    "products will stay with the host")
  divisi_cuda_library(cudnn cudnn_graph.h
    "convolutions will stay with the host")
  divisi_cuda_library(nvml nvml.h
    "divisi profile will not know what joins GPUs")
  divisi_cuda_library(nccl nccl.h
    "collectives between GPUs will stay with the host")
endif()

# divisi::pmix: what MPI finds processes by where their launcher does not say,
# for another such shared object. Debian's OpenMPI is built on it.
if(MPI_C_FOUND)
  find_library(DIVISI_PMIX pmix PATH_SUFFIXES pmix2/lib)
  find_path(DIVISI_PMIX_INCLUDE pmix_server.h
    HINTS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pmix2/include)
  if(DIVISI_PMIX AND DIVISI_PMIX_INCLUDE)
    add_library(divisi_pmix SHARED IMPORTED)
    add_library(divisi::pmix ALIAS divisi_pmix)
    set_target_properties(divisi_pmix PROPERTIES
      IMPORTED_LOCATION ${DIVISI_PMIX}
      INTERFACE_INCLUDE_DIRECTORIES ${DIVISI_PMIX_INCLUDE})
  else()
    message(NOTICE "found no PMIx (Debian: libpmix-dev): divisi will not run "
      "under torchrun")
  endif()
endif()
