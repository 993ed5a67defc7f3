# SPDX-License-Identifier: BSD-2-Clause
# fuzz/fuzz_<entry>.c: under the preset fuzz a libFuzzer program; elsewhere a test that replays its corpus.

file(GLOB fuzzers CONFIGURE_DEPENDS fuzz/fuzz_*.c)
foreach(source IN LISTS fuzzers)
  get_filename_component(name "${source}" NAME_WE)
  add_executable(${name} "${source}")
  target_link_libraries(${name} PRIVATE tamis_test_support)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/fuzz")
  if(TAMIS_FUZZ)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(${name} PRIVATE fuzz/replay_main.c)
    add_test(NAME ${name} COMMAND ${name} "${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${name}")
    tamis_test_properties(${name} "${source}" fuzz)
  endif()
endforeach()
