"""Firmware: toolchain, selective operator list, CMake build, ELF manifest and symbols."""
