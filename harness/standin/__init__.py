"""An open stand-in for Arm's Corstone FVPs: their command line, QEMU's `mps3-an547` underneath.

Where Arm's FVP differs: UART0 goes to standard output also without `out_file` (the FVP opens a
telnet port), SYS_HEAPINFO returns QEMU's values, cycle and PMU counters read 0, and the Ethos-U does its
work in no simulated time. Corstone-320's Cortex-M85 is a Cortex-M55 with the M85's CPUID.

Runs as a process of its own (see `harness.standin.launchers`); nothing else of the harness imports it.

Exit status of a simulation:

==== ==========================================================================
  n  the program's own status (SYS_EXIT, SYS_EXIT_EXTENDED)
  0  the program printed EOT under `shutdown_on_eot`, or a time limit stopped it
  2  the command line or an image was refused; nothing was simulated
  3  QEMU is missing, failed to start, crashed or was killed
  4  the CPU locked up
128+n the stand-in itself was ended by signal n
==== ==========================================================================
"""
