// UART0 of the board: a CMSDK APB UART, transmit only.
#include "board.h"

namespace {

struct CmsdkUart {
  volatile uint32_t data;
  volatile uint32_t state;
  volatile uint32_t control;
  volatile uint32_t interrupts;
  volatile uint32_t baud_divider;
};

constexpr uint32_t kTransmitFull = 1U << 0;
constexpr uint32_t kTransmitEnable = 1U << 0;
constexpr uint32_t kFastestDivider = 16;  // the smallest value that the UART accepts

CmsdkUart& uart0() { return *reinterpret_cast<CmsdkUart*>(kUart0Base); }

void enable(CmsdkUart& uart) {
  uart.baud_divider = kFastestDivider;
  uart.control = kTransmitEnable;
}

}  // namespace

void uart_write(const char* text, size_t length) {
  CmsdkUart& uart = uart0();
  if ((uart.control & kTransmitEnable) == 0) enable(uart);
  for (size_t i = 0; i < length; i++) {
    while (uart.state & kTransmitFull) {
    }
    uart.data = static_cast<uint8_t>(text[i]);
  }
}
