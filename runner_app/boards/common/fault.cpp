// What every fault and every unexpected interrupt ends in: one line with the fault registers,
// one with the likely cause, and a failing exit.
#include "board.h"
#include "platform.h"
#include "semihosting.h"
#include "text_buffer.h"

namespace {

// As the core stacks it on exception entry.
struct ExceptionFrame {
  uint32_t r0, r1, r2, r3, r12, lr, pc, xpsr;
};

constexpr uint32_t kCfsrStackingFault = 1U << 4 | 1U << 12;  // MSTKERR, STKERR
constexpr uint32_t kCfsrMemoryAddressValid = 1U << 7;
constexpr uint32_t kCfsrBusAddressValid = 1U << 15;
constexpr uint32_t kCfsrUndefinedInstruction = 1U << 16;
constexpr uint32_t kCfsrNoCoprocessor = 1U << 19;
constexpr uint32_t kCfsrStackOverflow = 1U << 20;
constexpr uint32_t kCfsrUnaligned = 1U << 24;
constexpr uint32_t kCfsrDivisionByZero = 1U << 25;
constexpr uint32_t kFirstInterrupt = 16;
constexpr char kEndOfTransmission = 0x04;

uint32_t system_register(uintptr_t address) {
  return *reinterpret_cast<volatile uint32_t*>(address);
}

// True if the core stopped at a semihosting call that nobody served.
bool at_semihosting_call(uint32_t pc) {
  const auto* instruction = reinterpret_cast<const uint8_t*>(pc);
  return instruction >= text_start && instruction + 2 <= text_end &&
         *reinterpret_cast<const uint16_t*>(pc) == semihosting::kBreakpoint;
}

const char* likely_cause(uint32_t cfsr, uint32_t exception) {
  if (exception >= kFirstInterrupt) return "unexpected interrupt";
  if (cfsr & kCfsrStackOverflow) return "stack overflow";
  if (cfsr & kCfsrStackingFault) return "the stack pointer is outside memory";
  if (cfsr & kCfsrDivisionByZero) return "integer division by zero";
  if (cfsr & kCfsrUnaligned) return "unaligned access by a vector or multi-word instruction";
  if (cfsr & kCfsrNoCoprocessor) return "FPU or vector unit is off";
  if (cfsr & kCfsrUndefinedInstruction) return "instruction that this core does not have";
  if (cfsr & kCfsrBusAddressValid) return "access to the address in BFAR, where nothing is";
  if (cfsr & kCfsrMemoryAddressValid) return "forbidden access to the address in MMFAR";
  return "unknown; look up PC in the ELF";
}

using Line = TextBuffer<256>;

Line prefix(size_t line) {
  Line text;
  text << "F [executorch:fault.cpp:";
  text.decimal(line) << " fault()] ";
  return text;
}

void emit(Line& text) {
  text << '\n';
  console_write(text.text(), text.length());
}

}  // namespace

// `frame` is the stack pointer at the fault, `exception` the exception's number.
extern "C" [[noreturn]] void fault(const ExceptionFrame* frame, uint32_t exception) {
  const uint32_t cfsr = system_register(0xE000ED28);
  // A frame that could not be written must not be read either.
  const bool no_frame = cfsr & (kCfsrStackingFault | kCfsrStackOverflow);
  const ExceptionFrame stacked = no_frame ? ExceptionFrame{} : *frame;

  if (at_semihosting_call(stacked.pc)) {
    Line text = prefix(__LINE__);
    text << "Semihosting is off, so there is no command line and no file. Start the simulator with "
            "semihosting enabled (-C "
         << kSemihostingParameter << ")." << '\n'
         << kEndOfTransmission;
    uart_write(text.text(), text.length());
    for (;;) asm volatile("wfi");
  }

  Line registers = prefix(__LINE__);
  registers << "Hard fault: CFSR=";
  registers.hexadecimal(cfsr) << " HFSR=";
  registers.hexadecimal(system_register(0xE000ED2C)) << " MMFAR=";
  registers.hexadecimal(system_register(0xE000ED34)) << " BFAR=";
  registers.hexadecimal(system_register(0xE000ED38)) << " PC=";
  registers.hexadecimal(stacked.pc) << " LR=";
  registers.hexadecimal(stacked.lr) << " xPSR=";
  registers.hexadecimal(stacked.xpsr);
  emit(registers);

  Line cause = prefix(__LINE__);
  cause << "Exception ";
  cause.decimal(exception) << ": " << likely_cause(cfsr, exception) << '.';
  emit(cause);
  semihosting::exit(kFault);
}
