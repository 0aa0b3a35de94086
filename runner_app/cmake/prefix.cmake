# RUNTIME=prefix: an ExecuTorch that was built for this core and installed with its CMake package.
# Of its libraries the core alone is linked: its kernels would be registered beside ours.

if(NOT EXECUTORCH_PREFIX)
  message(FATAL_ERROR "RUNTIME=prefix needs EXECUTORCH_PREFIX, the install directory of ExecuTorch")
endif()
find_package(executorch CONFIG PATHS "${EXECUTORCH_PREFIX}" NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
if(NOT executorch_FOUND OR NOT TARGET executorch OR NOT TARGET executorch_core)
  message(FATAL_ERROR "EXECUTORCH_PREFIX='${EXECUTORCH_PREFIX}' has no executorch-config.cmake with the "
                      "libraries executorch and executorch_core")
endif()
set(executorch_includes ${EXECUTORCH_INCLUDE_DIRS})
set(EXECUTORCH_ROOT "${EXECUTORCH_PREFIX}")  # for messages: paths below it are shortened
find_path(executorch_header executorch/runtime/executor/program.h PATHS ${executorch_includes}
          NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
if(NOT executorch_header)
  message(FATAL_ERROR "EXECUTORCH_INCLUDE_DIRS='${executorch_includes}' of the prefix has no ExecuTorch headers")
endif()

# What the exported targets ask of their users is not for bare metal: position-independent start-up
# code would read the global offset table before it is there, and newlib-nano cannot print a size_t.
foreach(library executorch executorch_core)
  foreach(property INTERFACE_COMPILE_OPTIONS INTERFACE_LINK_OPTIONS)
    get_target_property(options ${library} ${property})
    if(options)
      list(FILTER options EXCLUDE REGEX "^(-fPIC|-fpic|-fPIE|-fpie|--?specs=nano\\.specs)$")
      set_property(TARGET ${library} PROPERTY ${property} ${options})
    endif()
  endforeach()
  set_property(TARGET ${library} PROPERTY INTERFACE_POSITION_INDEPENDENT_CODE)
endforeach()
# The operators of loops, views and symbolic sizes register themselves: nothing refers to them.
get_target_property(options executorch INTERFACE_LINK_OPTIONS)
if(NOT options MATCHES "whole-archive")
  set_property(TARGET executorch APPEND PROPERTY INTERFACE_LINK_OPTIONS
    "SHELL:LINKER:--whole-archive \"$<TARGET_FILE:executorch>\" LINKER:--no-whole-archive")
endif()
