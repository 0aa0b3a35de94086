"""The Ethos-U of the board: its register block (`registers`), and what a run of it does (`jobs`, `memory`).

The register block alone costs nothing at start-up; numpy and the functional model in `harness.standin.npu`
come in when the guest first touches a register.
"""
