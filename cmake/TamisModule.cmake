# SPDX-License-Identifier: BSD-2-Clause
# The Redis module `tamis.so`: libtamis inside, so that one file is enough to load it. A server without a sanitizer's
# runtime cannot load one that needs it.

file(GLOB module_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/module/*.c")
set(module_map "${PROJECT_SOURCE_DIR}/cmake/tamis-module.map")
add_library(tamis_module MODULE ${module_sources})
target_include_directories(tamis_module PRIVATE "${PROJECT_SOURCE_DIR}/src")

# libsodium and libxxhash inside too, if they are there as archives that a shared library can have. Else the server
# needs these libraries.
find_library(TAMIS_SODIUM_ARCHIVE libsodium.a)
find_library(TAMIS_XXHASH_ARCHIVE libxxhash.a)
mark_as_advanced(TAMIS_SODIUM_ARCHIVE TAMIS_XXHASH_ARCHIVE)
set(module_archives "")
if(TAMIS_SODIUM_ARCHIVE AND TAMIS_XXHASH_ARCHIVE)
  include(CheckCSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS -fPIC)
  set(CMAKE_REQUIRED_LINK_OPTIONS -shared -Wl,-z,defs -Wl,--exclude-libs,ALL)
  set(CMAKE_REQUIRED_LIBRARIES "${TAMIS_SODIUM_ARCHIVE}" "${TAMIS_XXHASH_ARCHIVE}")
  check_c_source_compiles(
    "int sodium_init(void); unsigned long long XXH3_64bits(const void *, unsigned long);
     int main(void) { return sodium_init() + (int)XXH3_64bits(\"\", 0); }" TAMIS_MODULE_ARCHIVES_LINK)
  unset(CMAKE_REQUIRED_FLAGS)
  unset(CMAKE_REQUIRED_LINK_OPTIONS)
  unset(CMAKE_REQUIRED_LIBRARIES)
  if(TAMIS_MODULE_ARCHIVES_LINK)
    set(module_archives "${TAMIS_SODIUM_ARCHIVE}" "${TAMIS_XXHASH_ARCHIVE}")
  endif()
endif()
target_link_libraries(tamis_module PRIVATE tamis_compile tamis_static ${module_archives} m)
target_link_options(tamis_module PRIVATE
  "LINKER:--version-script=${module_map}" LINKER:--exclude-libs,ALL LINKER:--as-needed LINKER:-z,defs)
set_target_properties(tamis_module PROPERTIES
  OUTPUT_NAME tamis PREFIX "" SUFFIX ".so"
  LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/module"
  LINK_DEPENDS "${module_map}")
