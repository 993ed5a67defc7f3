# SPDX-License-Identifier: BSD-2-Clause
# libtamis, libtamis-stream, libtamis-redis, libtamis-kafka, libtamis-guard and libtamis-server, each static
# and shared out of the same position-independent objects.

# tamis_layer_sources(<out> <layer>...): the sources of these layers, found again at every build.
function(tamis_layer_sources out)
  set(found)
  foreach(layer IN LISTS ARGN)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${layer}/*.c")
    list(APPEND found ${sources})
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# tamis_library(<name> OUTPUT <file name> VERSION_SCRIPT <file> SOURCES <file>... LINKS <target>...
#               USES <tamis library>...)
# makes targets <name>_objects, <name>_static and <name>_shared.
function(tamis_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OUTPUT;VERSION_SCRIPT" "SOURCES;LINKS;USES")

  add_library(${name}_objects OBJECT ${arg_SOURCES})
  target_include_directories(${name}_objects PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${name}_objects PRIVATE tamis_compile ${arg_LINKS})
  set_target_properties(${name}_objects PROPERTIES POSITION_INDEPENDENT_CODE ON)

  foreach(form STATIC SHARED)
    string(TOLOWER ${form} suffix)
    set(target ${name}_${suffix})
    add_library(${target} ${form} $<TARGET_OBJECTS:${name}_objects>)
    target_include_directories(${target} PUBLIC
      "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
      "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
    foreach(used IN LISTS arg_USES)
      target_link_libraries(${target} PUBLIC ${used}_${suffix})
    endforeach()
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:tamis_compile> ${arg_LINKS} m)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${arg_OUTPUT} LINKER_LANGUAGE C)
  endforeach()

  set_target_properties(${name}_static PROPERTIES EXPORT_NAME ${name}_static)
  set_target_properties(${name}_shared PROPERTIES
    EXPORT_NAME ${name}
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}
    INSTALL_RPATH "$ORIGIN" # the others find libtamis beside them, wherever both were put
    LINK_DEPENDS "${arg_VERSION_SCRIPT}")
  target_link_options(${name}_shared PRIVATE
    "LINKER:--version-script=${arg_VERSION_SCRIPT}" LINKER:--as-needed)
  if(NOT TAMIS_SANITIZE AND NOT TAMIS_FUZZ)
    # The runtimes of the sanitizers are found in the program, not in the library.
    target_link_options(${name}_shared PRIVATE LINKER:-z,defs)
  endif()

  add_library(Tamis::${name} ALIAS ${name}_shared)
  add_library(Tamis::${name}_static ALIAS ${name}_static)
endfunction()

# tamis_kernel_options(<source>...): vector code is small and hot; the rest gains nothing from -O3, nor do
# builds with sanitizers. kernels/*_<set>.c is compiled for its set: src/base/isa.c asks the machine for each
# extension that is named here before one of its functions is called. On other machines the file is empty;
# NEON no arm64 is without.
function(tamis_kernel_options)
  set(avx2 -mavx2 -mbmi -mbmi2 -mlzcnt -mpopcnt)
  set(avx512 ${avx2} -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vbmi -mavx512vbmi2 -mavx512vpopcntdq)
  foreach(source IN LISTS ARGN)
    if(source MATCHES "/kernels/")
      set(options)
      if(NOT TAMIS_SANITIZE)
        list(APPEND options "$<$<CONFIG:Release,RelWithDebInfo>:-O3>")
      endif()
      if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$" AND source MATCHES "_(avx2|avx512)\\.c$")
        list(APPEND options ${${CMAKE_MATCH_1}})
      endif()
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${options}")
    endif()
  endforeach()
endfunction()

tamis_layer_sources(core_sources base hash plan filter format store service)
# Connections to servers go into libraries of their own.
list(FILTER core_sources EXCLUDE REGEX "/src/(store/redis|service/guard)/")
tamis_kernel_options(${core_sources})

tamis_library(tamis
  OUTPUT tamis
  VERSION_SCRIPT "${PROJECT_SOURCE_DIR}/cmake/libtamis.map"
  SOURCES ${core_sources}
  LINKS PkgConfig::TAMIS_XXHASH PkgConfig::TAMIS_SODIUM Threads::Threads)

if(TAMIS_COVERAGE)
  target_compile_options(tamis_objects PRIVATE --coverage -fprofile-update=single)
endif()

if(TAMIS_CORE_ONLY)
  # The kernels of libtamis-stream need none of its libraries: for their tests.
  tamis_layer_sources(kernel_sources stream/kernels)
  tamis_kernel_options(${kernel_sources})
  add_library(tamis_stream_kernels STATIC ${kernel_sources})
  target_include_directories(tamis_stream_kernels PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(tamis_stream_kernels PRIVATE tamis_compile)
  return()
endif()

tamis_layer_sources(stream_sources stream)
tamis_kernel_options(${stream_sources})
tamis_layer_sources(redis_sources store/redis)
if(TAMIS_ZOOKEEPER)
  list(FILTER redis_sources EXCLUDE REGEX "/proxy_watch_none\\.c$")
  set(zookeeper_links PkgConfig::TAMIS_JANSSON zookeeper_mt)
else()
  list(FILTER redis_sources EXCLUDE REGEX "/proxy_(watch|read)\\.c$")
  set(zookeeper_links)
endif()

set(packing_links PkgConfig::TAMIS_ZLIB)
foreach(one ISAL ZSTD LZ4 LZMA)
  if(TAMIS_${one}_FOUND)
    list(APPEND packing_links PkgConfig::TAMIS_${one})
    list(APPEND packing_definitions TAMIS_HAVE_${one})
  endif()
endforeach()
if(BZIP2_FOUND)
  list(APPEND packing_links BZip2::BZip2)
  list(APPEND packing_definitions TAMIS_HAVE_BZIP2)
endif()

tamis_library(tamis_stream
  OUTPUT tamis-stream
  VERSION_SCRIPT "${PROJECT_SOURCE_DIR}/cmake/libtamis-stream.map"
  SOURCES ${stream_sources}
  LINKS PkgConfig::TAMIS_PCRE2 PkgConfig::TAMIS_UTF8PROC ${packing_links} Threads::Threads
  USES tamis)
target_compile_definitions(tamis_stream_objects PRIVATE ${packing_definitions})

tamis_library(tamis_redis
  OUTPUT tamis-redis
  VERSION_SCRIPT "${PROJECT_SOURCE_DIR}/cmake/libtamis-redis.map"
  SOURCES ${redis_sources}
  # OpenSSL behind ZooKeeper's client, which uses it too.
  LINKS PkgConfig::TAMIS_HIREDIS ${zookeeper_links} PkgConfig::TAMIS_OPENSSL PkgConfig::TAMIS_ZLIB PkgConfig::TAMIS_XXHASH
    Threads::Threads
  USES tamis)

if(TAMIS_KAFKA)
  tamis_layer_sources(kafka_sources kafka)
  tamis_library(tamis_kafka
    OUTPUT tamis-kafka
    VERSION_SCRIPT "${PROJECT_SOURCE_DIR}/cmake/libtamis-kafka.map"
    SOURCES ${kafka_sources}
    LINKS PkgConfig::TAMIS_RDKAFKA PkgConfig::TAMIS_XXHASH
    USES tamis_redis tamis_stream tamis)
endif()

if(TAMIS_GUARD)
  tamis_layer_sources(guard_sources service/guard)
  tamis_library(tamis_guard
    OUTPUT tamis-guard
    VERSION_SCRIPT "${PROJECT_SOURCE_DIR}/cmake/libtamis-guard.map"
    SOURCES ${guard_sources}
    LINKS PkgConfig::TAMIS_SQLITE PkgConfig::TAMIS_LIBPQ PkgConfig::TAMIS_JANSSON PkgConfig::TAMIS_HIREDIS Threads::Threads
    USES tamis_redis tamis)

  tamis_layer_sources(server_sources server)
  tamis_library(tamis_server
    OUTPUT tamis-server
    VERSION_SCRIPT "${PROJECT_SOURCE_DIR}/cmake/libtamis-server.map"
    SOURCES ${server_sources}
    LINKS PkgConfig::TAMIS_SERVER_LIBEVENT PkgConfig::TAMIS_YAML PkgConfig::TAMIS_OPENSSL Threads::Threads
    USES tamis_guard tamis)
endif()
