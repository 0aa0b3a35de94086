# Bare metal: compiler options of the core, start-up code and linker script of the board.

# One line a core: its name, then the options that select it.
set(cores "cortex-m55 -mcpu=cortex-m55 -mfloat-abi=hard")

set(core_options "")
foreach(line IN LISTS cores)
  separate_arguments(words UNIX_COMMAND "${line}")
  list(POP_FRONT words name)
  if(name STREQUAL TARGET)
    set(core_options ${words} -mthumb)
  endif()
endforeach()
if(NOT core_options)
  message(FATAL_ERROR "TARGET=${TARGET} is unknown; cores and their options: ${cores}")
endif()
require_one_of(BOARD corstone-300)
if(NOT CMAKE_SYSTEM_NAME STREQUAL Generic)
  message(FATAL_ERROR "PLATFORM=target needs -DCMAKE_TOOLCHAIN_FILE=cmake/arm-none-eabi.cmake")
endif()
if(SANITIZE)
  message(FATAL_ERROR "SANITIZE=ON exists on the host only")
endif()

string(REPLACE "-" "_" board_name "${BOARD}")
set(board_directory "${CMAKE_CURRENT_SOURCE_DIR}/boards/${board_name}")
set(linker_script "${board_directory}/${board_name}.ld")
set(kernel_options -O2)

add_compile_options(${core_options} -Os -Wno-psabi -fno-threadsafe-statics -fno-unwind-tables
                    -fno-asynchronous-unwind-tables)
add_link_options(${core_options} -nostartfiles "-T${linker_script}" -Wl,--gc-sections
                 -Wl,-Map=executor_runner.map -Wl,--fatal-warnings)
include_directories("${board_directory}")
list(APPEND runner_sources platform_target.cpp newlib_stubs.cpp)
foreach(file vectors.S startup.cpp fault.cpp mpu.cpp uart.cpp)
  list(APPEND runner_sources "${board_directory}/${file}")
endforeach()
set_property(SOURCE "${board_directory}/vectors.S" APPEND PROPERTY OBJECT_DEPENDS "${linker_script}")
