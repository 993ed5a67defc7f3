# SPDX-License-Identifier: BSD-2-Clause
# One interface target carries what every own source is compiled with; it is never exported, so that a
# program which uses the libraries inherits none of it.

add_library(tamis_compile INTERFACE)
target_compile_features(tamis_compile INTERFACE c_std_17)
target_include_directories(tamis_compile INTERFACE
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>")
target_compile_definitions(tamis_compile INTERFACE
  _GNU_SOURCE
  $<$<BOOL:${TAMIS_SCALAR_ONLY}>:TAMIS_SCALAR_ONLY=1>)
target_compile_options(tamis_compile INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow
  -fvisibility=hidden
  # A call between our own functions is a plain call in the shared library too.
  -fno-semantic-interposition
  # Fusing a*b+c rounds differently where the machine has it: a plan must be the same bits everywhere.
  -ffp-contract=off
  $<$<BOOL:${TAMIS_WERROR}>:-Werror>)

if(TAMIS_SANITIZE OR TAMIS_FUZZ)
  set(sanitizers "${TAMIS_SANITIZE}")
  if(TAMIS_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
      message(FATAL_ERROR "TAMIS_FUZZ needs clang; CMAKE_C_COMPILER is ${CMAKE_C_COMPILER}")
    endif()
    # Instrumented everywhere, with libFuzzer's main only in the fuzzers themselves.
    target_compile_options(tamis_compile INTERFACE -fsanitize=fuzzer-no-link)
  endif()
  if(sanitizers)
    target_compile_options(tamis_compile INTERFACE
      -fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(tamis_compile INTERFACE -fsanitize=${sanitizers})
  endif()
endif()

if(TAMIS_COVERAGE)
  # The objects of libtamis are compiled for it (TamisLibraries.cmake), and all that contains them is linked for it.
  target_link_options(tamis_compile INTERFACE --coverage)
endif()

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
