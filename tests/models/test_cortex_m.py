"""Whole networks on Cortex-M: every output equals that of the quantized reference, 0 LSB."""

from __future__ import annotations

from harness import Case, Check, cases
from harness.aot.models import model_case
from harness.targets import target_named

NAMES = ("lstm", "mlp", "autoencoder", "ds_cnn", "resnet8", "mobilenet_v2_small")
MODELS = {name: model_case(name, target_named("m55")) for name in NAMES}


@cases("m55 m85", **MODELS)
def test_model(case: Case, check: Check) -> None:
    check(case, bundled=True)
