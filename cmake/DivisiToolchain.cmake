# How everything is compiled and linked.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
# Backends and the C API are shared objects made of the same libraries.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# Line tables are enough for a backtrace and a profile, and link quickly.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")
set(CMAKE_C_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")

option(DIVISI_WERROR "Treat warnings as errors" OFF)
set(DIVISI_SANITIZE "" CACHE STRING "Sanitizers, as in -fsanitize=")
option(DIVISI_FUZZ "Build the libFuzzer programs of test/fuzz (clang only)" OFF)

# LLVM's own headers and generated code leave parameters unused by design.
add_compile_options(-Wall -Wextra -Wno-unused-parameter
  $<$<COMPILE_LANGUAGE:CXX>:-Wno-missing-field-initializers>)
if(DIVISI_WERROR)
  add_compile_options(-Werror)
endif()

if(DIVISI_SANITIZE)
  add_compile_options(-fsanitize=${DIVISI_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all -O1 -g1)
  add_link_options(-fsanitize=${DIVISI_SANITIZE})
endif()

if(DIVISI_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "DIVISI_FUZZ needs clang for libFuzzer, got "
      "${CMAKE_CXX_COMPILER_ID}; use the preset 'fuzz'")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

find_program(DIVISI_CCACHE ccache)
if(DIVISI_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths beneath the clone count as relative, so that one clone's objects
  # serve the next. What uses precompiled headers is kept only if ccache may
  # overlook macros that are defined before them, and __TIME__ in them; they are
  # large, and hashed once instead of for each source.
  set(DIVISI_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_INODECACHE=1
    ${DIVISI_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${DIVISI_LAUNCHER})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${DIVISI_LAUNCHER})
endif()
