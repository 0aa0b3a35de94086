// Corstone-300: addresses that the start-up code and the console use.
#pragma once

#include <cstddef>
#include <cstdint>

constexpr uintptr_t kUart0Base = 0x49303000;

void mpu_initialize();
void uart_initialize();
void uart_write(const char* text, size_t length);

// Set by the linker script.
extern "C" {
extern const uint8_t text_start[], text_end[];
extern uint32_t data_start[], data_end[], data_load[], bss_start[], bss_end[];
using Initializer = void (*)();
extern Initializer initializers_start[], initializers_end[];
}
