# SPDX-License-Identifier: BSD-2-Clause
# Every switch of the build. What only developers of tamis need is off when it is a part of another project.

option(TAMIS_BUILD_CLI "Build the command, its manual pages and its completions" ${PROJECT_IS_TOP_LEVEL})
option(TAMIS_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(TAMIS_BUILD_BENCH "Define the target `bench`" ${PROJECT_IS_TOP_LEVEL})
option(TAMIS_INSTALL "Define the install rules" ${PROJECT_IS_TOP_LEVEL})
option(TAMIS_SCALAR_ONLY "Leave out the vector kernels" OFF)
option(TAMIS_ISAL "Unpack gzip with ISA-L, where it is there; else with zlib" ON)
option(TAMIS_CORE_ONLY "Build libtamis and its tests alone, where only its own libraries are" OFF)
option(TAMIS_ZOOKEEPER "Find the proxies of a Codis in ZooKeeper, where its client library is there" ON)
option(TAMIS_KAFKA "Build libtamis-kafka, where librdkafka is there" ON)
option(TAMIS_GUARD "Build libtamis-guard and libtamis-server, where their libraries are there" ON)
option(TAMIS_MODULE "Build the Redis module tamis.so" ${PROJECT_IS_TOP_LEVEL})
option(TAMIS_WERROR "Treat warnings as errors" OFF)
option(TAMIS_COVERAGE "Count executed lines of libtamis" OFF)
option(TAMIS_FUZZ "Build the fuzzers with libFuzzer (clang)" OFF)
set(TAMIS_SANITIZE "" CACHE STRING "Sanitizers to build with, as -fsanitize takes them")
set(TAMIS_TEST_SCALE "" CACHE STRING
  "What tests are told through the environment: sanitizer, quick; empty: the caller's environment, or full")
set(TAMIS_TEST_LABELS "" CACHE STRING "Build and run only the tests with one of these labels; empty: all")
option(TAMIS_TEST_SERVERS "Build and run the tests that start servers" ON)

# What needs the other libraries, and an installation that lacks them.
if(TAMIS_CORE_ONLY)
  set(TAMIS_BUILD_CLI OFF)
  set(TAMIS_BUILD_BENCH OFF)
  set(TAMIS_INSTALL OFF)
  set(TAMIS_ZOOKEEPER OFF)
  set(TAMIS_KAFKA OFF)
  set(TAMIS_GUARD OFF)
  set(TAMIS_MODULE OFF)
endif()
# A server without the runtime of a sanitizer cannot load what needs it.
if(TAMIS_SANITIZE OR TAMIS_FUZZ OR TAMIS_COVERAGE)
  set(TAMIS_MODULE OFF)
endif()

get_property(multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(PROJECT_IS_TOP_LEVEL AND NOT multi_config AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Kind of build" FORCE)
endif()
