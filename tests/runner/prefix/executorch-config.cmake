# In the shape of upstream's: imported targets, then two lists. What these targets ask of their users
# suits a hosted system.
get_filename_component(root "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
foreach(library executorch_core executorch cortex_m_ops_lib)
  add_library(${library} STATIC IMPORTED)
  set_target_properties(${library} PROPERTIES
    IMPORTED_LOCATION "${root}/lib/lib${library}.a"
    INTERFACE_COMPILE_OPTIONS -fPIC
    INTERFACE_LINK_OPTIONS --specs=nano.specs
    INTERFACE_POSITION_INDEPENDENT_CODE ON)
endforeach()
set_property(TARGET executorch PROPERTY INTERFACE_LINK_LIBRARIES executorch_core)
set(EXECUTORCH_LIBRARIES executorch executorch_core cortex_m_ops_lib)
set(EXECUTORCH_INCLUDE_DIRS
  "${root}/include" "${root}/include/executorch/runtime/core/portable_type/c10")
