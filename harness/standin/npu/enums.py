"""Names of field values (reference section 2, enumerations).

The same table names operands in a disassembly and selects what an operation does.
"""

from __future__ import annotations

from functools import cache

_BOTH = """
activation_format NHWC=0 NHCWB16=1
activation_precision B8=0 B16=1 B32=2 B64=3
activation_type UNSIGNED=0 SIGNED=1
dma_region_mode EXTERNAL=0 INTERNAL=1
dma_stride_mode D1=0 D2=1 D3=2
ifm_upscale_mode NONE=0 NEAREST=1 ZEROS=2
kernel_decomposition D8X8=0 D4X4=1
kernel_dilation NONE=0 X2=1
ofm_scale_mode PER_CHANNEL=0 GLOBAL=1
weight_order DEPTH_FIRST=0 PART_KERNEL_FIRST=1
"""

_U55 = """
acc_format I32=0 I40=1 F16=2
activation_clip_range OFM_PRECISION=0 FORCE_UINT8=2 FORCE_INT8=3 FORCE_INT16=5
activation_function RELU=0 TANH=3 SIGMOID=4 TABLE_0=16 TABLE_1=17 TABLE_2=18 TABLE_3=19 TABLE_4=20
    TABLE_5=21 TABLE_6=22 TABLE_7=23
broadcast_mode DISABLE=0 ENABLE=1
elementwise_mode MUL=0 ADD=1 SUB=2 MIN=3 MAX=4 LRELU=5 ABS=6 CLZ=7 SHR=8 SHL=9
ifm2_operand_order ORDER_B=0 ORDER_A=1
ifm_scale_mode OPA_OPB_16=0 OPA_32=1 OPB_32=2
parallel_mode SINGLE_CORE=0 DUAL_CORE_DEPTH=1
pooling_mode MAX=0 AVERAGE=1 REDUCE_SUM=2
round_mode DBL=0 TRUNCATE=1 NATURAL=2
"""

_U85 = """
acc_format I32=0 I48=1
acc_input RESET=0 KEEP=1 IFM2=2
acc_output ENABLE=0 DISABLE=1
activation_clip_range B16=0 NONE=1
activation_function LUT_NONE=0 LUT_U8_U8=1 LUT_S8_S8=4 LUT_S8_S16=5 LUT_S8_S32=7 LUT_S16_S16=8
    LUT_S16_S32=9 LUT_TANH=10 LUT_SIGMOID=11
activation_reverse NONE=0 H=1 W=2 C=3
activation_storage TILE2X2=0 TILE3X1=1 CHAINED=2 NONE=3
activation_transpose HWC=0 WHC=1 HCW=2 WCH=3 CHW=6 CWH=7
branch_cond ALWAYS=0 RF_TRUE=1
broadcast_mode NONE=0 H=1 W=2 HW=3 C=4 CH=5 CW=6 CWH=7 SCALAR=8
dma_idx_mode DISABLED=0 ENABLED=1
elementwise_mode MUL=0 ADD=1 SUB=2 MIN=3 MAX=4 LRELU=5 ABS=6 CLZ=7 SHR=8 SHL=9 LSR=10 DIV=11 CMP_EQ=16
    CMP_NE=17 CMP_GE=18 CMP_GT=19 AND=33 OR=34 XOR=35 NOT=36 AND_NOT=42
microblock U1X1=0 U1X2=1 U1X4=2 U2X2=3 U2X4=4 U4X4=5
pooling_mode MAX=0 AVERAGE=1 REDUCE_SUM=2 SUM=3 NONE=4 MIN=5 ARGMAX_X=6 ARGMAX_Y=7
resize_mode BILINEAR=0 REPLICATE=1 NEAREST=2
round_mode_ifm DOUBLE_SYMMETRIC=0 NATURAL=1
round_mode_ofm DOUBLE_SYMMETRIC=0 NATURAL=1 DOUBLE_ASYMMETRIC=2 SYMMETRIC=3 TRUNCATE_TO_ZERO=4
    TRUNCATE_TO_LOWER=5
weight_format SWD=0 FWD=1
weight_sparsity NONE=0 SPARSE_2_4=1
"""

# Which enumeration a field holds, where its name alone does not say so.
_BY_REGISTER = {
    ("IFM_PRECISION", "scale_mode"): "ifm_scale_mode",
    ("OFM_PRECISION", "scale_mode"): "ofm_scale_mode",
    ("IFM_UPSCALE", "mode"): "ifm_upscale_mode",
    ("OFM_SCALE", "round_mode"): "round_mode_ofm",
    ("IFM_SCALE", "round_mode"): "round_mode_ifm",
    ("IFM2_SCALE", "round_mode"): "round_mode_ifm",
}
_BY_FIELD = {
    "broadcast_h": "broadcast_mode",
    "broadcast_w": "broadcast_mode",
    "broadcast_c": "broadcast_mode",
    "broadcast_constant": "broadcast_mode",
    "operand_order": "ifm2_operand_order",
    "region_mode": "dma_region_mode",
    "stride_mode": "dma_stride_mode",
    "idx_mode": "dma_idx_mode",
    "decomposition": "kernel_decomposition",
    "dilation_x": "kernel_dilation",
    "dilation_y": "kernel_dilation",
}


def value_names(product: str, register: str, field: str) -> dict[int, str]:
    """Names of a field's values; empty if the field holds a number."""
    enumeration = _BY_REGISTER.get((register, field)) or _BY_FIELD.get(field, field)
    return _tables(product == "u85").get(enumeration, {})


@cache
def _tables(u85: bool) -> dict[str, dict[int, str]]:
    text = _BOTH + (_U85 if u85 else _U55)
    tables = {}
    for row in text.replace("\n    ", " ").split("\n"):
        if row:
            name, *values = row.split()
            pairs = [value.split("=") for value in values]
            tables[name] = {int(number): label for label, number in pairs}
    return tables
