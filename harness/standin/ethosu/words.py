"""Values of the registers ID and CONFIG, as Vela writes them into the programs for each NPU."""

from __future__ import annotations

ID_WORDS = {"u55": 0x1006_6001, "u65": 0x1006_6001, "u85": 0x2000_7000}
CONFIG_WORDS = {
    ("u55", 32): 0x0000_1005,
    ("u55", 64): 0x0000_1006,
    ("u55", 128): 0x0000_1807,
    ("u55", 256): 0x0000_3008,
    ("u65", 256): 0x1000_3008,
    ("u65", 512): 0x1000_6009,
    ("u85", 128): 0x2000_0117,
    ("u85", 256): 0x2000_0118,
    ("u85", 512): 0x2000_1119,
    ("u85", 1024): 0x2000_251A,
    ("u85", 2048): 0x2000_261B,
}
EVENT_COUNTERS = {"u55": 4, "u65": 4, "u85": 8}
