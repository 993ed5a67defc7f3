# SPDX-License-Identifier: BSD-2-Clause
# The programs behind the published figures: built by the target `bench` only.

find_path(LIBBLOOM_INCLUDE bloom.h)
find_library(LIBBLOOM_LIBRARY bloom)
mark_as_advanced(LIBBLOOM_INCLUDE LIBBLOOM_LIBRARY)

add_custom_target(bench)
if(TARGET tamis_command)
  add_dependencies(bench tamis_command)
endif()
file(GLOB bench_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/*.c")
foreach(source IN LISTS bench_sources)
  get_filename_component(name "${source}" NAME_WE)
  add_executable(${name} EXCLUDE_FROM_ALL "${source}")
  target_link_libraries(${name} PRIVATE tamis_compile tamis_stream_static)
  if(name STREQUAL "bench_redis")
    target_link_libraries(${name} PRIVATE tamis_redis_static)
  endif()
  target_link_libraries(${name} PRIVATE tamis_static m)
  if(LIBBLOOM_INCLUDE AND LIBBLOOM_LIBRARY)
    target_compile_definitions(${name} PRIVATE TAMIS_HAVE_LIBBLOOM=1)
    target_include_directories(${name} SYSTEM PRIVATE "${LIBBLOOM_INCLUDE}")
    target_link_libraries(${name} PRIVATE "${LIBBLOOM_LIBRARY}")
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
  add_dependencies(bench ${name})
endforeach()

# Readers of JSON beside ours, one of which is C++.
pkg_check_modules(SIMDJSON IMPORTED_TARGET simdjson)
pkg_check_modules(YAJL IMPORTED_TARGET yajl)
if(SIMDJSON_FOUND AND YAJL_FOUND AND TAMIS_JANSSON_FOUND)
  enable_language(CXX)
  add_executable(bench_json EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/bench/bench_json.cpp")
  set_target_properties(bench_json PROPERTIES
    CXX_STANDARD 17 RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
  target_link_libraries(bench_json PRIVATE tamis_stream_static tamis_static PkgConfig::SIMDJSON PkgConfig::YAJL
    PkgConfig::TAMIS_JANSSON m)
  add_dependencies(bench bench_json)
endif()
