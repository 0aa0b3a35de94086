// Firmware of `harness selfcheck`: shows how a simulator ends, stops and serves semihosting. The
// first word of its command line says what to do. Self-contained: it must run before anything else
// is known.
#include <cstdint>

namespace {

#ifdef CORSTONE_320
volatile uint32_t* const uart0 = reinterpret_cast<volatile uint32_t*>(0x58203000);
#else
volatile uint32_t* const uart0 = reinterpret_cast<volatile uint32_t*>(0x59303000);
#endif

enum Operation : uint32_t {
  kOpen = 0x01,
  kClose = 0x02,
  kIsConsole = 0x09,
  kFileLength = 0x0C,
  kClock = 0x10,
  kErrorNumber = 0x13,
  kGetCommandLine = 0x15,
  kHeapInfo = 0x16,
  kExit = 0x18,
  kExitExtended = 0x20,
  kTickFrequency = 0x31,
};
constexpr uint32_t kApplicationExit = 0x20026;
constexpr uint32_t kRunTimeError = 0x20023;
constexpr uint32_t kInternalError = 0x20024;

uint32_t call(Operation operation, const void* argument) {
  register uint32_t r0 asm("r0") = operation;
  register const void* r1 asm("r1") = argument;
  asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void put(char character) {
  while (uart0[1] & 1) {
  }
  uart0[0] = static_cast<uint8_t>(character);
}

void print(const char* text) {
  while (*text != '\0') put(*text++);
}

// A line "fact NAME=0xVALUE".
void fact(const char* name, uint32_t value) {
  print("fact ");
  print(name);
  print("=0x");
  for (int shift = 28; shift >= 0; shift -= 4) put("0123456789abcdef"[value >> shift & 15]);
  print("\r\n");
}

uint32_t length(const char* text) {
  uint32_t size = 0;
  while (text[size] != '\0') ++size;
  return size;
}

// Handle, or -1; mode 0 is "r", 4 is "w".
uint32_t open(const char* name, uint32_t mode) {
  const uint32_t block[] = {reinterpret_cast<uint32_t>(name), mode, length(name)};
  return call(kOpen, block);
}

// What the simulator's semihosting answers to questions with several legal answers.
void show_semihosting(const char* command_line) {
  fact("command_line_length", length(command_line));
  const uint32_t console = open(":tt", 4);
  fact("console_handle", console);
  fact("console_is_console", call(kIsConsole, &console));
  fact("open_missing_file", open("no-such-file", 0));
  fact("errno_of_it", call(kErrorNumber, nullptr));
  const uint32_t outside = open("../selfcheck-outside", 4);
  fact("open_outside_of_cwd", outside);
  if (outside != UINT32_MAX) call(kClose, &outside);
  const uint32_t file = open("selfcheck-file", 4);
  fact("length_of_empty_file", call(kFileLength, &file));
  static uint32_t heap[4];
  uint32_t* const heap_block[] = {heap};
  call(kHeapInfo, heap_block);
  fact("heap_base", heap[0]);
  fact("heap_limit", heap[1]);
  fact("stack_base", heap[2]);
  fact("stack_limit", heap[3]);
  fact("clock", call(kClock, nullptr));
  fact("tick_frequency", call(kTickFrequency, nullptr));
}

bool is(const char* line, const char* word) {
  while (*word != '\0' && *line == *word) ++line, ++word;
  return *word == '\0' && (*line == '\0' || *line == ' ');
}

void exit_with(uint32_t reason, uint32_t status) {
  const uint32_t block[] = {reason, status};
  call(kExitExtended, block);
}

void obey(const char* line) {
  if (*line == '\'') ++line;  // some simulators keep the quotes
  if (is(line, "success")) exit_with(kApplicationExit, 0);
  if (is(line, "failure")) exit_with(kApplicationExit, 7);
  if (is(line, "error")) call(kExit, reinterpret_cast<const void*>(kRunTimeError));
  if (is(line, "abort")) call(kExit, reinterpret_cast<const void*>(kInternalError));
  if (is(line, "lockup")) asm volatile("udf #0");  // and no handler for it
  if (is(line, "loop")) {
    for (;;) asm volatile("");
  }
  if (is(line, "sleep")) {
    for (;;) asm volatile("wfi");
  }
  if (is(line, "eot")) put('\x04');
  if (is(line, "semihosting")) {
    show_semihosting(line);
    exit_with(kApplicationExit, 0);
  }
  print("probe: still running\r\n");
}

[[noreturn]] void reset() {
  uart0[4] = 16;  // the fastest divider
  uart0[2] = 1;
  print("probe: begin\r\n");
  static char line[1024];
  uint32_t block[] = {reinterpret_cast<uint32_t>(line), sizeof(line)};
  if (call(kGetCommandLine, block) != 0) print("probe: no command line\r\n");
  obey(line);
  for (;;) asm volatile("wfi");
}

}  // namespace

extern "C" {
extern uint32_t stack_top;
extern const void* const vectors[16];
[[gnu::section(".vectors"), gnu::used]] const void* const vectors[16] = {
    &stack_top, reinterpret_cast<const void*>(reset)};
}
