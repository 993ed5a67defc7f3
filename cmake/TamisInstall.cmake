# SPDX-License-Identifier: BSD-2-Clause
if(NOT TAMIS_INSTALL)
  return()
endif()
include(CMakePackageConfigHelpers)

set(config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Tamis")

set(libraries tamis tamis_stream tamis_redis)
set(modules tamis tamis-stream tamis-redis)
if(TAMIS_KAFKA)
  list(APPEND libraries tamis_kafka)
  list(APPEND modules tamis-kafka)
endif()
if(TAMIS_GUARD)
  list(APPEND libraries tamis_guard tamis_server)
  list(APPEND modules tamis-guard tamis-server)
endif()
foreach(library IN LISTS libraries)
  list(APPEND installed_libraries ${library}_shared ${library}_static)
endforeach()
install(TARGETS ${installed_libraries}
  EXPORT TamisTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(DIRECTORY include/tamis DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
install(EXPORT TamisTargets NAMESPACE Tamis:: DESTINATION "${config_dir}")

configure_package_config_file(cmake/TamisConfig.cmake.in "${PROJECT_BINARY_DIR}/TamisConfig.cmake"
  INSTALL_DESTINATION "${config_dir}" NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor release may break the interface, so nothing but the same minor is accepted.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatible SameMinorVersion)
else()
  set(compatible SameMajorVersion)
endif()
write_basic_package_version_file("${PROJECT_BINARY_DIR}/TamisConfigVersion.cmake" COMPATIBILITY ${compatible})
install(FILES "${PROJECT_BINARY_DIR}/TamisConfig.cmake" "${PROJECT_BINARY_DIR}/TamisConfigVersion.cmake"
  DESTINATION "${config_dir}")

# Where the files are is found from the .pc file's own place: `cmake --install --prefix` and DESTDIR move it.
file(RELATIVE_PATH prefix_from_pc "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/p")
if(TAMIS_ZOOKEEPER)
  set(zookeeper_requires " jansson")
  set(zookeeper_libs " -lzookeeper_mt")
endif()
foreach(one ISAL:libisal ZSTD:libzstd LZ4:liblz4 LZMA:liblzma)
  string(REGEX MATCH "^[^:]*" name "${one}")
  string(REGEX MATCH "[^:]*$" module "${one}")
  if(TAMIS_${name}_FOUND)
    string(APPEND packing_requires " ${module}")
  endif()
endforeach()
if(BZIP2_FOUND)
  set(packing_libs " -lbz2")
endif()
foreach(name IN LISTS modules)
  configure_file("cmake/${name}.pc.in" "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()

# Manual pages of the headers. In a directory of their own: that of the command's pages is emptied when those
# are written.
find_program(TAMIS_AWK NAMES awk)
mark_as_advanced(TAMIS_AWK)
if(TAMIS_AWK)
  file(GLOB_RECURSE public_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/tamis/*.h")
  set(man3_dir "${PROJECT_BINARY_DIR}/man3")
  set(man3_script "${PROJECT_SOURCE_DIR}/cmake/man3.awk")
  add_custom_command(OUTPUT "${man3_dir}.stamp"
    COMMAND ${CMAKE_COMMAND} -E rm -rf "${man3_dir}" # a page of a function that went must not be installed
    COMMAND ${CMAKE_COMMAND} -E make_directory "${man3_dir}"
    COMMAND "${TAMIS_AWK}" -v "dir=${man3_dir}" -v "version=${PROJECT_VERSION}" -f "${man3_script}" ${public_headers}
    COMMAND ${CMAKE_COMMAND} -E touch "${man3_dir}.stamp"
    DEPENDS ${public_headers} "${man3_script}"
    COMMENT "Writing manual pages of the headers"
    VERBATIM)
  add_custom_target(tamis_man3 ALL DEPENDS "${man3_dir}.stamp")
  install(DIRECTORY "${man3_dir}/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man3")
else()
  message(STATUS "No awk: no manual pages of the headers")
endif()

# The guides and the formats, in the directories of the sources, so that their links work.
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY docs/ DESTINATION "${CMAKE_INSTALL_DOCDIR}"
  FILES_MATCHING PATTERN "*.md" PATTERN "man" EXCLUDE PATTERN "examples" EXCLUDE)
install(DIRECTORY docs/examples/guard DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples")

# All that `cmake --install` copies, without the tests.
add_custom_target(tamis_installable)
add_dependencies(tamis_installable ${installed_libraries})
if(TARGET tamis_man3)
  add_dependencies(tamis_installable tamis_man3)
endif()
if(TARGET tamis_module)
  add_dependencies(tamis_installable tamis_module)
  # Redis loads only a module that it could execute.
  install(TARGETS tamis_module LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/redis/modules"
    PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endif()
if(TARGET tamis_command)
  add_dependencies(tamis_installable tamis_command tamis_documents)
  install(TARGETS tamis_command RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  install(DIRECTORY "${PROJECT_BINARY_DIR}/generated-docs/man/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
  install(FILES "${PROJECT_BINARY_DIR}/generated-docs/tamis.bash"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME tamis)
  install(FILES "${PROJECT_BINARY_DIR}/generated-docs/tamis.fish"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
  install(FILES "${PROJECT_BINARY_DIR}/generated-docs/_tamis"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
endif()
