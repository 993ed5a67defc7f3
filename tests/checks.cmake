# SPDX-License-Identifier: BSD-2-Clause
# Rules about the sources and the built libraries. Rules about sources run in ordinary builds only, since one
# run is enough. Rules about libraries cannot run if the compiler adds symbols of its own, as with sanitizers.

if(TAMIS_SANITIZE OR TAMIS_FUZZ OR TAMIS_COVERAGE)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_program(TAMIS_CXX NAMES c++ g++ clang++ REQUIRED)

function(tamis_check name)
  add_test(NAME checks/${name} COMMAND ${ARGN})
  set_tests_properties(checks/${name} PROPERTIES
    LABELS checks ENVIRONMENT "${test_environment}" TIMEOUT 300 COST 20)
endfunction()

set(checks_dir "${CMAKE_CURRENT_SOURCE_DIR}/checks")
set(sources_py Python3::Interpreter "${checks_dir}/sources.py")
set(binaries_py Python3::Interpreter "${checks_dir}/binaries.py")

foreach(rule layers names spdx links)
  tamis_check(${rule} ${sources_py} ${rule} "${PROJECT_SOURCE_DIR}")
endforeach()
tamis_check(words Python3::Interpreter "${checks_dir}/words.py" "${PROJECT_SOURCE_DIR}")
tamis_check(prose Python3::Interpreter "${checks_dir}/prose.py" "${PROJECT_SOURCE_DIR}")
tamis_check(comments Python3::Interpreter "${checks_dir}/comments.py" "${PROJECT_SOURCE_DIR}")
tamis_check(selftest Python3::Interpreter "${checks_dir}/selftest.py" "${CMAKE_C_COMPILER}" "${TAMIS_CXX}")
set_tests_properties(checks/selftest PROPERTIES LABELS "checks;long" COST 300)
tamis_check(headers bash "${checks_dir}/headers.sh"
  "${PROJECT_SOURCE_DIR}/include" "${CMAKE_C_COMPILER}" "${TAMIS_CXX}")

foreach(library tamis tamis_stream tamis_redis)
  string(REPLACE _ - file lib${library})
  tamis_check(symbols-${file} ${binaries_py} symbols
    "$<TARGET_FILE:${library}_shared>" "${checks_dir}/symbols_${file}.txt")
  tamis_check(archive-${file} ${binaries_py} archive "$<TARGET_FILE:${library}_static>")
endforeach()
tamis_check(needed-libtamis ${binaries_py} needed "$<TARGET_FILE:tamis_shared>" libm libxxhash libsodium)
tamis_check(needed-libtamis-stream ${binaries_py} needed "$<TARGET_FILE:tamis_stream_shared>" libm libtamis libz
  libpcre2-8 libutf8proc libisal libzstd liblz4 liblzma libbz2)
tamis_check(needed-libtamis-redis ${binaries_py} needed "$<TARGET_FILE:tamis_redis_shared>" libm libtamis libxxhash libhiredis libz libssl libcrypto
  libzookeeper_mt libjansson)

if(TAMIS_KAFKA)
  tamis_check(symbols-libtamis-kafka ${binaries_py} symbols
    "$<TARGET_FILE:tamis_kafka_shared>" "${checks_dir}/symbols_libtamis-kafka.txt")
  tamis_check(archive-libtamis-kafka ${binaries_py} archive "$<TARGET_FILE:tamis_kafka_static>")
  tamis_check(needed-libtamis-kafka ${binaries_py} needed "$<TARGET_FILE:tamis_kafka_shared>" libtamis libtamis-stream
    libtamis-redis librdkafka libxxhash)
endif()

if(TAMIS_GUARD)
  tamis_check(symbols-libtamis-guard ${binaries_py} symbols
    "$<TARGET_FILE:tamis_guard_shared>" "${checks_dir}/symbols_libtamis-guard.txt")
  tamis_check(guard-scripts Python3::Interpreter "${checks_dir}/guard_scripts.py" "${PROJECT_SOURCE_DIR}")
  tamis_check(archive-libtamis-guard ${binaries_py} archive "$<TARGET_FILE:tamis_guard_static>")
  tamis_check(needed-libtamis-guard ${binaries_py} needed "$<TARGET_FILE:tamis_guard_shared>" libm libtamis
    libtamis-redis libsqlite3 libpq libjansson)
  tamis_check(symbols-libtamis-server ${binaries_py} symbols
    "$<TARGET_FILE:tamis_server_shared>" "${checks_dir}/symbols_libtamis-server.txt")
  tamis_check(archive-libtamis-server ${binaries_py} archive "$<TARGET_FILE:tamis_server_static>")
  tamis_check(needed-libtamis-server ${binaries_py} needed "$<TARGET_FILE:tamis_server_shared>" libm libtamis
    libtamis-guard libevent_core-2.1 libevent_extra-2.1 libyaml-0 libssl libcrypto)
endif()

if(TARGET tamis_module)
  tamis_check(symbols-module ${binaries_py} module "$<TARGET_FILE:tamis_module>")
  tamis_check(needed-module ${binaries_py} needed "$<TARGET_FILE:tamis_module>" libm)
endif()

if(TARGET tamis_man3)
  tamis_check(man3 bash "${checks_dir}/man3.sh" "${PROJECT_BINARY_DIR}/man3")
endif()
if(TARGET tamis_command AND TAMIS_INSTALL)
  tamis_check(install bash "${CMAKE_CURRENT_SOURCE_DIR}/install/consumer.sh"
    "${PROJECT_BINARY_DIR}" "${CMAKE_C_COMPILER}" "${TAMIS_CXX}" "${CMAKE_COMMAND}" "${PROJECT_VERSION}")
  set_tests_properties(checks/install PROPERTIES LABELS "checks;long" COST 300)
endif()
