# The host twin: the same runner as a process, with the wheel's library or with sanitizers.
list(APPEND runner_sources platform_host.cpp)
set(kernel_options "")
if(DELEGATES)
  message(FATAL_ERROR "DELEGATES=${DELEGATES} exist on the target only: the host has no NPU")
endif()

if(SANITIZE)
  # vptr checks need RTTI, which the target does not have.
  set(sanitizers -fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=all)
  add_compile_options(-O1 -fno-omit-frame-pointer ${sanitizers})
  add_link_options(${sanitizers})
else()
  add_compile_options(-O2)
endif()
add_link_options(-Wl,--gc-sections)
