// A model of the NPU for the host: its job is to add 1 to 8 bytes at the start of the scratch
// buffer and to leave the result behind them. It can be made to fail in each of the ways the driver
// knows.
#pragma once

#include <cstdint>
#include <string>

struct Model {
  uint32_t id = 0x20007000;
  uint32_t config = 0x20000118;
  uint32_t end_status = 1U << 1 | 1U << 5;  // interrupt raised, end reached
  bool leaves_reset = true;
  bool interrupts = true;
  bool takes_protection = true;
  int jobs = 0;
  int resets = 0;
  int armed = 0;  // arm() without disarm()

  // Applies one of the faults by name; false if there is no such fault.
  bool break_as(const std::string& fault);
};

extern Model model;
