# SPDX-License-Identifier: BSD-2-Clause
# The Redis module `tamis.so`: libtamis inside, so that one file is enough to load it. A server without a sanitizer's
# runtime cannot load one that needs it.

file(GLOB module_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/module/*.c")
set(module_map "${PROJECT_SOURCE_DIR}/cmake/tamis-module.map")
add_library(tamis_module MODULE ${module_sources})
target_include_directories(tamis_module PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(tamis_module PRIVATE tamis_compile tamis_static m)
target_link_options(tamis_module PRIVATE
  "LINKER:--version-script=${module_map}" LINKER:--exclude-libs,ALL LINKER:--as-needed LINKER:-z,defs)
set_target_properties(tamis_module PROPERTIES
  OUTPUT_NAME tamis PREFIX "" SUFFIX ".so"
  LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/module"
  LINK_DEPENDS "${module_map}")
