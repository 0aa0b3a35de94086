"""ExecuTorch's own suites, as the installed wheel ships them, against our runner and engine."""

from harness.upstream.session import SuiteRun, run_suite

__all__ = ["SuiteRun", "run_suite"]
