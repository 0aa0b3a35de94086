// What the runner needs from the machine below it: console, command line, end of the process.
// Two implementations: platform_host.cpp (POSIX) and platform_target.cpp (semihosting, UART).
#pragma once

#include <cstddef>

// Exit statuses. A harness only needs "0 or not"; people read the rest.
constexpr int kSuccess = 0;
constexpr int kFailure = 1;
constexpr int kUsageError = 2;
constexpr int kFault = 3;
constexpr int kAborted = 4;

void console_write(const char* text, size_t length);

// The words of the command line, the program's name first. Host: those of main(). Target: what
// the simulator hands over by semihosting; main() gets none there. False if there are none.
bool command_line_words(int argc, char** argv, const char* const** words, size_t* count);

[[noreturn]] void end_process(int status);
