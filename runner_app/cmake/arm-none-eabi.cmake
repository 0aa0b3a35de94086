# Bare-metal GNU Arm toolchain, found on PATH or below ARM_TOOLCHAIN_DIR.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)

find_program(ARM_GXX arm-none-eabi-g++ HINTS "${ARM_TOOLCHAIN_DIR}" "${ARM_TOOLCHAIN_DIR}/bin")
if(NOT ARM_GXX)
  message(FATAL_ERROR "arm-none-eabi-g++ not found: put it on PATH or set ARM_TOOLCHAIN_DIR")
endif()
set(CMAKE_CXX_COMPILER "${ARM_GXX}")
set(CMAKE_ASM_COMPILER "${ARM_GXX}")

# The compiler check cannot link before there is a linker script.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ARM_TOOLCHAIN_DIR)

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
