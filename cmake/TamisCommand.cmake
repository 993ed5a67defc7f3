# SPDX-License-Identifier: BSD-2-Clause
# The command `tamis`, linked with the static libraries so that one file is enough to carry it elsewhere,
# and `tamis-docs`, which writes the manual pages and the completions from the same option tables. The prose
# of both comes from docs/man: `tamis-embed` compiles it into C tables.

if(NOT TAMIS_JANSSON_FOUND)
  message(FATAL_ERROR "The command needs jansson: install libjansson-dev, or give -DTAMIS_BUILD_CLI=OFF")
endif()

file(GLOB_RECURSE cli_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/cli/*.c")
set(cli_main "${PROJECT_SOURCE_DIR}/src/cli/main.c")
set(cli_docs_main "${PROJECT_SOURCE_DIR}/src/cli/docs/docs_main.c")
set(cli_embed_main "${PROJECT_SOURCE_DIR}/src/cli/docs/docs_embed.c")
if(TAMIS_KAFKA)
  list(FILTER cli_sources EXCLUDE REGEX "/kafka_library_none\\.c$")
  set(cli_kafka tamis_kafka_static)
else()
  list(FILTER cli_sources EXCLUDE REGEX "/kafka_library\\.c$")
endif()
if(TAMIS_GUARD)
  list(FILTER cli_sources EXCLUDE REGEX "/serve_library_none\\.c$")
  set(cli_server tamis_server_static tamis_guard_static)
else()
  list(FILTER cli_sources EXCLUDE REGEX "/serve_library\\.c$")
endif()
list(REMOVE_ITEM cli_sources "${cli_main}" "${cli_docs_main}" "${cli_embed_main}")

if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  message(FATAL_ERROR "The build of the command runs its own tamis-embed: give CMAKE_CROSSCOMPILING_EMULATOR, as qemu, or "
    "-DTAMIS_BUILD_CLI=OFF")
endif()
add_executable(tamis_embed "${cli_embed_main}")
set_target_properties(tamis_embed PROPERTIES OUTPUT_NAME tamis-embed RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
target_link_libraries(tamis_embed PRIVATE tamis_compile)
file(GLOB cli_texts CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/man/*.txt")
file(GLOB cli_shared_texts CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/man/shared/*.txt")
set(cli_manuals "${PROJECT_BINARY_DIR}/cli_manuals.c")
add_custom_command(OUTPUT "${cli_manuals}"
  COMMAND tamis_embed "${cli_manuals}" ${cli_texts}
  DEPENDS tamis_embed ${cli_texts} ${cli_shared_texts}
  COMMENT "Compiling the texts of docs/man"
  VERBATIM)

pkg_check_modules(TAMIS_LIBEVENT IMPORTED_TARGET libevent_core libevent_extra)
if(NOT TAMIS_LIBEVENT_FOUND)
  message(FATAL_ERROR "The command needs libevent: install libevent-dev, or give -DTAMIS_BUILD_CLI=OFF")
endif()

add_library(tamis_cli_objects OBJECT ${cli_sources} "${cli_manuals}")
target_include_directories(tamis_cli_objects PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(tamis_cli_objects PRIVATE tamis_compile PkgConfig::TAMIS_JANSSON PkgConfig::TAMIS_LIBEVENT)

if(TAMIS_ISAL_FOUND)
  target_compile_definitions(tamis_cli_objects PRIVATE "CLI_ISAL_VERSION=\"${TAMIS_ISAL_VERSION}\"")
endif()

add_executable(tamis_command "${cli_main}")
set_target_properties(tamis_command PROPERTIES OUTPUT_NAME tamis)
add_executable(tamis_docs "${cli_docs_main}")
set_target_properties(tamis_docs PROPERTIES OUTPUT_NAME tamis-docs)
foreach(program tamis_command tamis_docs)
  target_include_directories(${program} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${program} PRIVATE tamis_cli_objects
    tamis_compile ${cli_server} ${cli_kafka} tamis_stream_static tamis_redis_static tamis_static PkgConfig::TAMIS_JANSSON PkgConfig::TAMIS_LIBEVENT m)
  set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
endforeach()

set(docs_dir "${PROJECT_BINARY_DIR}/generated-docs")
add_custom_command(OUTPUT "${docs_dir}/stamp"
  # From nothing each time: a page of a verb that went must not be installed.
  COMMAND ${CMAKE_COMMAND} -E rm -rf "${docs_dir}"
  COMMAND ${CMAKE_COMMAND} -E make_directory "${docs_dir}/man"
  COMMAND tamis_docs man "${docs_dir}/man"
  COMMAND tamis_docs bash "${docs_dir}/tamis.bash"
  COMMAND tamis_docs fish "${docs_dir}/tamis.fish"
  COMMAND tamis_docs zsh "${docs_dir}/_tamis"
  COMMAND ${CMAKE_COMMAND} -E touch "${docs_dir}/stamp"
  DEPENDS tamis_docs
  COMMENT "Writing manual pages and completions"
  VERBATIM)
add_custom_target(tamis_documents ALL DEPENDS "${docs_dir}/stamp")
