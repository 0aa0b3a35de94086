// What the start-up code, the fault handler and the console of all boards share.
#pragma once

#include <cstddef>
#include <cstdint>

void mpu_initialize();
void uart_write(const char* text, size_t length);

// Set by the linker script: vectors and reset entry are in [boot_start, boot_end), other code and
// all constants in [code_start, code_end); these four are multiples of 32.
extern "C" {
extern const uint8_t boot_start[], boot_end[], code_start[], code_end[];
extern const uint8_t text_start[], text_end[];
extern uint32_t data_start[], data_end[], data_load[], bss_start[], bss_end[];
using Initializer = void (*)();
extern Initializer initializers_start[], initializers_end[];
}
