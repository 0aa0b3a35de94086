// What the driver needs of the machine below it: the registers and the interrupt line of the NPU.
// port_board.cpp implements it for the boards; tests put a model of the NPU in its place.
#pragma once

#include <cstdint>

#include "ethosu/registers.h"

namespace ethosu::port {

uint32_t read(Register address);
void write(Register address, uint32_t value);

// All that was written to memory so far is visible to the NPU, and the other way round.
void synchronize_memory();

// Forgets an interrupt of the past and starts the clock that bounds the waiting.
void arm();
// Sleeps until the NPU's interrupt line is raised; false when time is up.
bool wait();
// Ends what arm() began.
void disarm();

// For messages.
uint32_t interrupt_number();
uintptr_t register_address();

}  // namespace ethosu::port
