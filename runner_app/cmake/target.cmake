# Bare metal: compiler options of the core, start-up code and linker script of the board.

if(NOT CMAKE_SYSTEM_NAME STREQUAL Generic)
  message(FATAL_ERROR "PLATFORM=target needs -DCMAKE_TOOLCHAIN_FILE=cmake/arm-none-eabi.cmake")
endif()
require_one_of(BOARD corstone-300 corstone-320)

# GCC knows Cortex-M85 by name from version 13 on.
include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-mcpu=cortex-m85 COMPILER_KNOWS_CORTEX_M85)
set(cortex_m0plus -mcpu=cortex-m0plus -mfloat-abi=soft)
set(cortex_m4 -mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard)
set(cortex_m7 -mcpu=cortex-m7 -mfpu=fpv5-d16 -mfloat-abi=hard)
set(cortex_m55 -mcpu=cortex-m55 -mfloat-abi=hard)
if(COMPILER_KNOWS_CORTEX_M85)
  set(cortex_m85 -mcpu=cortex-m85 -mfloat-abi=hard)
else()
  set(cortex_m85 -march=armv8.1-m.main+mve.fp+fp.dp -mfloat-abi=hard)
endif()

# One line for each kind of target: pattern of its name, core, boards whose core runs its code.
set(targets "cortex-m0plus cortex_m0plus corstone-300"
            "cortex-m4 cortex_m4 corstone-300"
            "cortex-m7 cortex_m7 corstone-300"
            "cortex-m55 cortex_m55 corstone-300"
            "ethos-u55-[0-9]+ cortex_m55 corstone-300"
            "ethos-u65-[0-9]+ cortex_m55 corstone-300"
            "cortex-m85 cortex_m85 corstone-320 corstone-300"
            "ethos-u85-[0-9]+ cortex_m85 corstone-320")

set(core_options "")
foreach(line IN LISTS targets)
  separate_arguments(words UNIX_COMMAND "${line}")
  list(POP_FRONT words pattern core)
  if("${TARGET}" MATCHES "^${pattern}$")
    if(NOT BOARD IN_LIST words)
      list(JOIN words " or " boards)
      message(FATAL_ERROR "BOARD=${BOARD} does not have ${TARGET}; its board is ${boards}")
    endif()
    set(core_options ${${core}} -mthumb)
  endif()
endforeach()
if(NOT core_options)
  message(FATAL_ERROR "TARGET=${TARGET} is unknown; targets, their cores and boards: ${targets}")
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
  list(APPEND runner_sources boards/common/${file})
endforeach()
set_property(SOURCE boards/common/vectors.S APPEND PROPERTY OBJECT_DEPENDS "${linker_script}")

if(EthosUBackend IN_LIST DELEGATES)
  list(APPEND runner_sources
    ethosu/backend.cpp ethosu/blob.cpp ethosu/driver.cpp ethosu/identity.cpp ethosu/memory.cpp
    ethosu/port_board.cpp)
  set_property(SOURCE delegates.cpp APPEND PROPERTY COMPILE_DEFINITIONS DELEGATE_ETHOS_U=1)
  set_property(SOURCE ethosu/memory.cpp APPEND PROPERTY COMPILE_DEFINITIONS
    NPU_SCRATCH_SIZE=${NPU_SCRATCH_SIZE} NPU_FAST_SCRATCH_SIZE=${NPU_FAST_SCRATCH_SIZE})
  set_property(SOURCE ethosu/port_board.cpp APPEND PROPERTY COMPILE_DEFINITIONS
    NPU_WAIT_TICKS=${NPU_WAIT_TICKS})
endif()
