"""corstone-harness: lower, build, boot, compare and judge ExecuTorch programs for Arm's Corstone boards."""
