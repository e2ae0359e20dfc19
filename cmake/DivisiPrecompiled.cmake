# Precompiled headers: what most sources include, parsed once a build. Nothing
# depends on them: every source includes what it uses, and
# -DDIVISI_PRECOMPILE=OFF builds it so.

option(DIVISI_PRECOMPILE "Precompile the headers that most sources include" ON)

# The headers of each kind. GCC takes a precompiled header only where the options
# that change code are the same, so that each kind has options of its own.
set(DIVISI_HEADERS_MLIR
  <algorithm> <functional> <map> <memory> <numeric> <optional> <string> <vector>
  <mlir/Dialect/Func/IR/FuncOps.h> <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h>
  <mlir/IR/ImplicitLocOpBuilder.h> <mlir/IR/PatternMatch.h>
  <mlir/IR/TypeUtilities.h> <mlir/Pass/Pass.h>
  <llvm/ADT/MapVector.h> <llvm/ADT/STLExtras.h> <llvm/ADT/StringExtras.h>
  <llvm/ADT/TypeSwitch.h> <llvm/Support/FormatVariadic.h>
  <llvm/Support/raw_ostream.h>
  <dialects/Exec/Exec.h> <dialects/SPMD/SPMD.h>)
set(DIVISI_HEADERS_CODEGEN
  <algorithm> <functional> <map> <memory> <optional> <string> <vector>
  <mlir/Dialect/Arith/IR/Arith.h> <mlir/Dialect/GPU/IR/GPUDialect.h>
  <mlir/Dialect/LLVMIR/LLVMDialect.h> <mlir/Dialect/LLVMIR/NVVMDialect.h>
  <mlir/Dialect/Math/IR/Math.h> <mlir/Dialect/SCF/IR/SCF.h>
  <mlir/Dialect/Vector/IR/VectorOps.h> <mlir/IR/BuiltinOps.h>
  <mlir/IR/ImplicitLocOpBuilder.h> <llvm/ADT/STLExtras.h>)
set(DIVISI_HEADERS_TEST
  <algorithm> <functional> <map> <memory> <numeric> <optional> <random>
  <string> <thread> <vector> <gmock/gmock.h>)

# _divisi_precompile(TARGET KIND [COMPILE_OPTION…])
# Lets the sources of TARGET use the precompiled headers of one KIND:
#   MLIR         what sees MLIR and our dialects
#   CODEGEN      what sees MLIR's dialects alone
#   TEST         GoogleTest programs; TEST_THROWS: those with exceptions
#   LLVM_TEST    those that see LLVM; MLIR_TEST: and our dialects
# All targets of a kind have the same COMPILE_OPTIONs.
function(_divisi_precompile target kind)
  if(NOT DIVISI_PRECOMPILE OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU"
      OR DIVISI_SANITIZE)
    return()
  endif()
  # Objects of programs and of libraries can then share a header.
  target_compile_options(${target} PRIVATE -fPIC)
  set(owner DivisiPrecompiled_${kind})
  if(NOT TARGET ${owner})
    set(headers)
    foreach(part MLIR CODEGEN TEST)
      if(kind MATCHES ${part})
        list(APPEND headers ${DIVISI_HEADERS_${part}})
      endif()
    endforeach()
    set(source ${PROJECT_BINARY_DIR}/precompiled/${kind}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "")
    add_library(${owner} OBJECT ${source})
    target_precompile_headers(${owner} PRIVATE ${headers})
    target_compile_options(${owner} PRIVATE ${ARGN} -fPIC)
    if(kind MATCHES TEST)
      target_link_libraries(${owner} PRIVATE GTest::gmock)
    endif()
    target_include_directories(${owner} PRIVATE ${PROJECT_SOURCE_DIR}
      ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/runtime/include)
    if(kind MATCHES "MLIR|CODEGEN|LLVM")
      target_compile_definitions(${owner} PRIVATE ${DIVISI_LLVM_DEFINITIONS})
    endif()
    if(kind MATCHES "MLIR|CODEGEN")
      target_include_directories(${owner} SYSTEM PRIVATE ${PROJECT_BINARY_DIR}
        ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
      add_dependencies(${owner} DivisiExecIncGen DivisiNNIncGen
        DivisiSPMDIncGen)
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()
