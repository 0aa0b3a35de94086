"""The classifier: one ordered table of rules from evidence to an outcome. Pure.

The order is that of causes: what the machine lacks, what the request contradicts, what crashed, what ran
out of time, what the runner says, and last what the outputs show. The first rule that applies decides. A run
that no rule objects to is a pass, because the rules together demand its evidence: one end marker with
status 0, exit status 0, every output written in this run and compared within limits, a complete verdict of
the device for a bundle, and no crash behind the marker.
"""

from __future__ import annotations

from collections.abc import Callable

from harness.console import rules_machine, rules_npu, rules_outputs, rules_program
from harness.console.evidence import Evidence
from harness.outcomes import Outcome

Rule = Callable[[Evidence], Outcome | None]

RULES: tuple[Rule, ...] = (
    rules_machine.environment,
    rules_machine.absent,
    rules_machine.refused,
    rules_machine.semihosting,
    rules_program.missing_operators,
    rules_program.other_schema,
    rules_program.memory,
    rules_program.strides,
    rules_machine.late_crash,
    rules_machine.crash,
    rules_program.usage,
    rules_program.inputs,
    rules_npu.unsuitable,
    rules_npu.failed,
    rules_program.load_failed,
    rules_program.run_failed,
    rules_machine.own_limit,
    rules_machine.simulator_lost,
    rules_machine.host_limit,
    rules_machine.killed,
    rules_program.malformed,
    rules_program.gave_up,
    rules_program.no_verdict,
    rules_outputs.missing,
    rules_outputs.not_comparable,
    rules_outputs.untouched,
    rules_outputs.wrong,
    rules_outputs.not_compared,
    rules_outputs.device_verdict,
    rules_outputs.exit_status,
)


def classify(evidence: Evidence) -> Outcome:
    """Phase and class of the attempt that left `evidence`."""
    for rule in RULES:
        if outcome := rule(evidence):
            return outcome
    return rules_outputs.passed(evidence)
