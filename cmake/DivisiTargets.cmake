# The functions a room's CMakeLists.txt calls. All targets are named in full
# (DivisiSupport, DivisiNN); DEPENDS takes such names, or imported targets.
#
# Everywhere the same include roots: the repository (dialects/…, passes/…),
# include/ (divisi/<Room>/…), runtime/include/ (divisi/runtime/…), and the
# build tree, where generated files lie at the path of their source.

# What the flags below mean, for every function that takes them:
#   NO_LLVM     sees neither headers nor libraries of LLVM and MLIR (runtime)
#   LLVM_HEADERS  a library that needs LLVM's Support at most, and leaves it to
#               the program where that comes from
#   LLVM_STATIC  a program of such libraries: it has a copy of LLVM's Support,
#               so that libLLVM is not loaded
#   EXCEPTIONS  compiles with exceptions; the default is without, as LLVM does
#   KERNELS     inner loops: -O3 in Release, no errno from math functions, and
#               integers that wrap: GCC 12 makes sums of products of 8-bit
#               integers wrong without, though no signed ones overflow.
#               Wider instruction sets are chosen a file, by the kernel author
#               (set_source_files_properties with -mavx2 -mfma, or target
#               attributes) and at run time: a build must run elsewhere.
#   CODEGEN     sees MLIR's dialects of code, and none of ours: decides what is
#               precompiled
#   TEST        a GoogleTest program: it is compiled with few optimizations
function(_divisi_configure target)
  cmake_parse_arguments(ARG
    "NO_LLVM;LLVM_HEADERS;LLVM_STATIC;EXCEPTIONS;KERNELS;TEST;CODEGEN" "SCOPE"
    "DEPENDS"
    ${ARGN})
  if(NOT ARG_SCOPE)
    set(ARG_SCOPE PUBLIC)
  endif()
  target_include_directories(${target} ${ARG_SCOPE}
    ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include
    ${PROJECT_SOURCE_DIR}/runtime/include)
  # Generated code is not ours to clean of warnings.
  target_include_directories(${target} SYSTEM ${ARG_SCOPE}
    ${PROJECT_BINARY_DIR})
  target_link_libraries(${target} ${ARG_SCOPE} ${ARG_DEPENDS})
  set_property(GLOBAL APPEND PROPERTY DIVISI_DEPENDENCIES ${ARG_DEPENDS})
  if(NOT ARG_NO_LLVM)
    target_include_directories(${target} SYSTEM ${ARG_SCOPE}
      ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
    target_compile_definitions(${target} ${ARG_SCOPE}
      ${DIVISI_LLVM_DEFINITIONS})
    if(ARG_LLVM_STATIC)
      target_link_libraries(${target} ${ARG_SCOPE} divisi::llvm_support)
    elseif(NOT ARG_LLVM_HEADERS)
      target_link_libraries(${target} ${ARG_SCOPE} divisi::mlir)
    endif()
  endif()
  if(ARG_SCOPE STREQUAL INTERFACE)
    return()
  endif()
  set(options)
  if(NOT ARG_EXCEPTIONS)
    list(APPEND options $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>)
  endif()
  if(ARG_KERNELS)
    list(APPEND options $<$<CONFIG:Release>:-O3> -fno-math-errno -fwrapv)
  endif()
  if(ARG_TEST)
    list(APPEND options $<$<CONFIG:Release>:-O1>)
  endif()
  # The compiler keeps its assertions in Release: they are what catches a
  # wrong cast<> of LLVM's. The runtime does not pay for any.
  if(NOT ARG_NO_LLVM)
    list(APPEND options -UNDEBUG)
  endif()
  target_compile_options(${target} PRIVATE ${options})
  # What sees LLVM and not MLIR is little.
  set(kind)
  if(ARG_NO_LLVM AND ARG_TEST)
    set(kind TEST)
  elseif(NOT ARG_NO_LLVM AND NOT ARG_LLVM_HEADERS AND NOT ARG_LLVM_STATIC)
    set(kind MLIR)
    if(ARG_CODEGEN AND ARG_TEST)
      set(kind LLVM_TEST)
    elseif(ARG_CODEGEN)
      set(kind CODEGEN)
    elseif(ARG_TEST)
      set(kind MLIR_TEST)
    endif()
  endif()
  if(kind AND ARG_EXCEPTIONS)
    string(APPEND kind _THROWS)
  endif()
  if(kind)
    _divisi_precompile(${target} ${kind} ${options})
  endif()
endfunction()

# divisi_library(NAME [SOURCES …] [DEPENDS …]
#                [NO_LLVM] [LLVM_HEADERS] [EXCEPTIONS] [KERNELS] [CODEGEN]
#                [SHARED])
# A static library, or one of headers only when it has no sources. SHARED
# makes a plug-in or an interface for others.
function(divisi_library name)
  cmake_parse_arguments(ARG
    "NO_LLVM;LLVM_HEADERS;EXCEPTIONS;KERNELS;CODEGEN;SHARED" ""
    "SOURCES;DEPENDS" ${ARGN})
  _divisi_reject_unparsed(${name} ${ARG_UNPARSED_ARGUMENTS})
  _divisi_flags(flags)
  if(NOT ARG_SOURCES)
    add_library(${name} INTERFACE)
    _divisi_configure(${name} ${flags} SCOPE INTERFACE DEPENDS ${ARG_DEPENDS})
    return()
  endif()
  if(ARG_SHARED)
    add_library(${name} SHARED ${ARG_SOURCES})
  else()
    add_library(${name} STATIC ${ARG_SOURCES})
  endif()
  _divisi_configure(${name} ${flags} DEPENDS ${ARG_DEPENDS})
endfunction()

# divisi_c_api(TARGET NAME)
# Makes the shared library TARGET libNAME.so, with a C API of one function,
# NAME_get_api: nothing else can be seen from outside, and what it contains of
# other libraries is its own.
function(divisi_c_api target name)
  set(symbols ${CMAKE_CURRENT_BINARY_DIR}/${name}.map)
  file(WRITE ${symbols}
    "DIVISI_1.0 { global: ${name}_get_api; local: *; };\n")
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name}
    VERSION ${PROJECT_VERSION} SOVERSION 1
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    LINK_DEPENDS ${symbols})
  target_link_options(${target} PRIVATE -Wl,--version-script=${symbols}
    -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -Wl,-z,defs)
  divisi_install(${target} lib)
endfunction()

# divisi_executable(NAME SOURCES … [DEPENDS …] [NO_LLVM] [LLVM_STATIC]
#                   [EXCEPTIONS] [CODEGEN] [OWN_LLVM])
# A program in bin/ of the build tree. OWN_LLVM makes what it needs of LLVM and
# MLIR a part of it, as where it is installed they are not; sanitizers see the
# same libraries everywhere.
function(divisi_executable name)
  cmake_parse_arguments(ARG "NO_LLVM;LLVM_STATIC;EXCEPTIONS;CODEGEN;OWN_LLVM" ""
    "SOURCES;DEPENDS" ${ARGN})
  _divisi_reject_unparsed(${name} ${ARG_UNPARSED_ARGUMENTS})
  _divisi_flags(flags)
  add_executable(${name} ${ARG_SOURCES})
  _divisi_configure(${name} ${flags} DEPENDS ${ARG_DEPENDS})
  if(ARG_OWN_LLVM AND NOT DIVISI_SANITIZE)
    set_target_properties(${name} PROPERTIES DIVISI_OWN_LLVM ON)
  endif()
endfunction()

# divisi_dialect(NAME NAMESPACE nn SOURCES … [DEPENDS …]
#                DIALECT NNDialect [OPS NNOps] [TYPES NNTypes] [ATTRS NNAttrs]
#                [ENUMS NNEnums] [OP_INTERFACES …] [ATTR_INTERFACES …]
#                [TYPE_INTERFACES …] [TD_DEPENDS …])
# The library of one dialect. NAMESPACE is its name in IR. Each other keyword
# names .td files of this folder without their ending; from X.td come X.h.inc
# and X.cpp.inc, included as "dialects/<Folder>/X.h.inc". One file feeds one
# keyword. DIALECT's file, and an ENUMS file, must not include ops: what they
# include is generated with them.
function(divisi_dialect name)
  set(kinds DIALECT OPS TYPES ATTRS ENUMS OP_INTERFACES ATTR_INTERFACES
    TYPE_INTERFACES)
  cmake_parse_arguments(ARG "" "NAMESPACE" "SOURCES;DEPENDS;${kinds}" ${ARGN})
  _divisi_reject_unparsed(${name} ${ARG_UNPARSED_ARGUMENTS})
  set(ns ${ARG_NAMESPACE})
  foreach(required NAMESPACE SOURCES DIALECT)
    if(NOT ARG_${required})
      message(FATAL_ERROR "divisi_dialect(${name}): ${required} is missing")
    endif()
  endforeach()

  _divisi_tablegen("${ARG_DIALECT}" dialect -dialect=${ns})
  _divisi_tablegen("${ARG_OPS}" op)
  _divisi_tablegen("${ARG_TYPES}" typedef -typedefs-dialect=${ns})
  _divisi_tablegen("${ARG_ATTRS}" attrdef -attrdefs-dialect=${ns})
  _divisi_tablegen("${ARG_ENUMS}" enum)
  _divisi_tablegen("${ARG_OP_INTERFACES}" op-interface)
  _divisi_tablegen("${ARG_ATTR_INTERFACES}" attr-interface)
  _divisi_tablegen("${ARG_TYPE_INTERFACES}" type-interface)
  add_public_tablegen_target(${name}IncGen)

  divisi_library(${name} SOURCES ${ARG_SOURCES} DEPENDS ${ARG_DEPENDS})
  add_dependencies(${name} ${name}IncGen)
endfunction()

# divisi_generated_sources(SOURCE…)
# Sources of this folder that hold the generated code of many operators: parsers,
# printers, builders. Few optimizations are enough for these, and take half the
# time; precompiled headers are for others.
function(divisi_generated_sources)
  set_source_files_properties(${ARGN} PROPERTIES
    COMPILE_OPTIONS $<$<CONFIG:Release>:-O1> SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# divisi_passes(NAME STAGE Import SOURCES … [DEPENDS …])
# The passes of one stage. Passes.td of this folder becomes Passes.h.inc, with
# registerImportPasses() for STAGE Import.
function(divisi_passes name)
  cmake_parse_arguments(ARG "" "STAGE" "SOURCES;DEPENDS" ${ARGN})
  _divisi_reject_unparsed(${name} ${ARG_UNPARSED_ARGUMENTS})
  set(LLVM_TARGET_DEFINITIONS Passes.td)
  mlir_tablegen(Passes.h.inc -gen-pass-decls -name=${ARG_STAGE}
    EXTRA_INCLUDES ${PROJECT_SOURCE_DIR} ${MLIR_INCLUDE_DIRS})
  add_public_tablegen_target(${name}IncGen)
  divisi_library(${name} SOURCES ${ARG_SOURCES} DEPENDS ${ARG_DEPENDS})
  add_dependencies(${name} ${name}IncGen)
endfunction()

# divisi_gtest(NAME SOURCES … [DEPENDS …] [NO_LLVM] [LLVM_STATIC] [EXCEPTIONS]
#              [CODEGEN])
# A GoogleTest program, and one ctest entry of that name which runs it all.
function(divisi_gtest name)
  cmake_parse_arguments(ARG "NO_LLVM;LLVM_STATIC;EXCEPTIONS;CODEGEN" ""
    "SOURCES;DEPENDS" ${ARGN})
  _divisi_reject_unparsed(${name} ${ARG_UNPARSED_ARGUMENTS})
  _divisi_flags(flags)
  add_executable(${name} ${ARG_SOURCES})
  _divisi_configure(${name} ${flags} TEST
    DEPENDS ${ARG_DEPENDS} GTest::gmock_main)
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/tests)
  add_test(NAME ${name} COMMAND ${name})
  _divisi_test_environment(${name})
endfunction()

# divisi_lit_test(NAME DIR)
# A ctest entry that runs lit on the .mlir and .test files under DIR, which is
# relative to test/ ("." is all of them), on all cores. lit fails when it finds
# none.
function(divisi_lit_test name dir)
  cmake_path(SET path NORMALIZE ${PROJECT_BINARY_DIR}/test/${dir})
  add_test(NAME ${name}
    COMMAND ${DIVISI_PREFIX}/venv/bin/lit -v ${path})
  _divisi_test_environment(${name})
  divisi_test_threads(${name} 64)
endfunction()

# divisi_pytest(NAME FILE…)
# A ctest entry that runs pytest on files of this folder. The tests find the
# tools in $DIVISI_BUILD/bin.
function(divisi_pytest name)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  add_test(NAME ${name}
    COMMAND ${DIVISI_PYTHON} -m pytest -q -p no:cacheprovider ${ARGN})
  _divisi_test_environment(${name})
  # With this test/conftest.py ends where all cases are skipped.
  set_property(TEST ${name} PROPERTY SKIP_RETURN_CODE 77)
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT DIVISI_ALL_SKIPPED=77)
endfunction()

# divisi_test_threads(NAME COUNT)
# Says that so many threads or processes of the entry are at work at a time;
# ctest starts others beside it for the cores that are left.
function(divisi_test_threads name count)
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  if(count GREATER cores)
    set(count ${cores})
  endif()
  math(EXPR halves "2 * ${count}")
  set_property(TEST ${name} PROPERTY PROCESSORS ${halves})
endfunction()

# divisi_test_waits(NAME…)
# Says that these entries wait for more than half of their time (for processes to
# end, for time-outs), so that two of them share a core.
function(divisi_test_waits)
  set_property(TEST ${ARGN} PROPERTY PROCESSORS 1)
endfunction()

# divisi_mpi_test(NAME COUNT PROGRAM [ARGUMENT…])
# A ctest entry that runs a program in COUNT processes of MPI.
function(divisi_mpi_test name count program)
  add_test(NAME ${name}
    COMMAND ${MPIEXEC_EXECUTABLE} -n ${count} --oversubscribe --bind-to none
      $<TARGET_FILE:${program}> ${ARGN})
  _divisi_test_environment(${name})
  divisi_test_threads(${name} ${count})
  # As which tests may run.
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)
endfunction()

# divisi_skipped_test(NAME REASON…)
# A ctest entry that is shown as skipped and says why.
function(divisi_skipped_test name)
  list(JOIN ARGN " " reason)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: ${reason}")
  set_property(TEST ${name} PROPERTY SKIP_REGULAR_EXPRESSION "^skipped: ")
endfunction()

# divisi_forbid_links(TARGET NAME…)
# Fails if TARGET links one of the NAMEs, by itself or through others.
function(divisi_forbid_links target)
  set(links)
  _divisi_collect_links(${target} links)
  foreach(name ${ARGN})
    if(name IN_LIST links)
      message(SEND_ERROR "'${target}' links '${name}', which it must not")
    endif()
  endforeach()
endfunction()

# Appends to `out` all that `target` links, at any depth.
function(_divisi_collect_links target out)
  set(all ${${out}})
  set(links)
  foreach(property LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
    get_target_property(names ${target} ${property})
    if(names)
      list(APPEND links ${names})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES links)
  foreach(name ${links})
    if(NOT name IN_LIST all)
      list(APPEND all ${name})
      if(TARGET ${name})
        _divisi_collect_links(${name} all)
      endif()
    endif()
  endforeach()
  set(${out} ${all} PARENT_SCOPE)
endfunction()

# Seconds of the longest entries, "SECONDS NAME" a line.
set(divisi_costs ${CMAKE_CURRENT_LIST_DIR}/test-costs.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${divisi_costs})
file(STRINGS ${divisi_costs} lines REGEX "^[0-9]")
foreach(line ${lines})
  string(REGEX MATCH "^([0-9]+) (.+)$" line ${line})
  set(divisi_cost_${CMAKE_MATCH_2} ${CMAKE_MATCH_1})
endforeach()

# Called once, last: a name in DEPENDS that no room has declared would only be
# noticed by the linker, in words that name no room.
function(divisi_check_dependencies)
  get_property(names GLOBAL PROPERTY DIVISI_DEPENDENCIES)
  list(REMOVE_DUPLICATES names)
  foreach(name ${names})
    if(name MATCHES "^Divisi" AND NOT TARGET ${name})
      message(SEND_ERROR "'${name}' stands in a DEPENDS, but no room of this "
        "tree declares that target")
    endif()
  endforeach()
endfunction()

# One pair of files for each of `stems`: X.td to X.h.inc and X.cpp.inc.
macro(_divisi_tablegen stems generator)
  foreach(stem ${stems})
    set(LLVM_TARGET_DEFINITIONS ${stem}.td)
    foreach(part "h.inc:decls" "cpp.inc:defs")
      string(REPLACE ":" ";" part ${part})
      list(GET part 0 ending)
      list(GET part 1 which)
      mlir_tablegen(${stem}.${ending} -gen-${generator}-${which} ${ARGN}
        EXTRA_INCLUDES ${PROJECT_SOURCE_DIR} ${MLIR_INCLUDE_DIRS})
    endforeach()
  endforeach()
endmacro()

# Sets `out` to those of the caller's parsed flags that go through unchanged.
macro(_divisi_flags out)
  set(${out})
  foreach(flag NO_LLVM LLVM_HEADERS LLVM_STATIC EXCEPTIONS KERNELS CODEGEN)
    if(ARG_${flag})
      list(APPEND ${out} ${flag})
    endif()
  endforeach()
endmacro()

function(_divisi_reject_unparsed name)
  if(ARGN)
    message(FATAL_ERROR "${name}: unknown arguments: ${ARGN}")
  endif()
endfunction()

# Which entry costs how much is in cmake/test-costs.txt, so that ctest starts the
# longest first where it has not measured any; how long one may take is said by
# who runs ctest, as a sweep takes longer than a sample. PROCESSORS are halves of
# cores: who runs ctest says -j with twice as many as there are cores.
function(_divisi_test_environment name)
  set(environment DIVISI_BUILD=${PROJECT_BINARY_DIR}
    DIVISI_PYTHON=${DIVISI_PYTHON} PYTHONDONTWRITEBYTECODE=1)
  if(DIVISI_SANITIZE)
    # A report ends the program by a signal: an exit code could be one that a
    # negative test expects. libMLIR is not instrumented and shares vectors
    # with our code, so container overflows are reported where there are none;
    # nor does it unpoison what our copies of LLVM's allocators have poisoned.
    # Memory that runs out is an error of ours to report, not a bug.
    string(JOIN ":" asan_options abort_on_error=1 detect_container_overflow=0
      allow_user_poisoning=0 allocator_may_return_null=1)
    list(APPEND environment ASAN_OPTIONS=${asan_options}
      UBSAN_OPTIONS=abort_on_error=1:print_stacktrace=1
      TSAN_OPTIONS=abort_on_error=1:allocator_may_return_null=1
      DIVISI_TEST_SHARE=0.04)
  endif()
  set_property(TEST ${name} PROPERTY ENVIRONMENT ${environment})
  set_property(TEST ${name} PROPERTY PROCESSORS 2)
  if(DEFINED divisi_cost_${name})
    set_property(TEST ${name} PROPERTY COST ${divisi_cost_${name}})
  endif()
endfunction()
