"""Opcodes and register fields of Ethos-U55/U65 and Ethos-U85 (reference section 2).

A row holds the key of a command (opcode in bits 0-9, bit 14 set for a command of two words), its name, and
its fields as `name:lsb:width` over the 48-bit value `par | data << 16`. `address` is a 40-bit address, stride
or length, `(par & 0xff) << 32 | data`. A row that starts with a blank continues the one before.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

BOTH = """
0000 OP_STOP mask:0:16
0001 OP_IRQ mask:0:16
0003 OP_DEPTHWISE
0005 OP_POOL pooling_mode:0:3
0006 OP_ELEMENTWISE elementwise_mode:0:6
0010 OP_DMA_START
0013 OP_PMU_MASK enable:0:1
0100 IFM_PAD_TOP pad:0:7
0101 IFM_PAD_LEFT pad:0:7
0102 IFM_PAD_RIGHT pad:0:8
0103 IFM_PAD_BOTTOM pad:0:8
0104 IFM_DEPTH_M1 depth_m1:0:16
0107 IFM_UPSCALE mode:0:2
0109 IFM_ZERO_POINT zero_point:0:16
010a IFM_WIDTH0_M1 width_m1:0:16
010b IFM_HEIGHT0_M1 height_m1:0:16
010c IFM_HEIGHT1_M1 height_m1:0:16
010f IFM_REGION region:0:3
0111 OFM_WIDTH_M1 width_m1:0:16
0112 OFM_HEIGHT_M1 height_m1:0:16
0113 OFM_DEPTH_M1 depth_m1:0:16
0118 OFM_ZERO_POINT zero_point:0:16
011a OFM_WIDTH0_M1 width_m1:0:16
011b OFM_HEIGHT0_M1 height_m1:0:16
011c OFM_HEIGHT1_M1 height_m1:0:16
011f OFM_REGION region:0:3
0120 KERNEL_WIDTH_M1 width_m1:0:16
0121 KERNEL_HEIGHT_M1 height_m1:0:16
0122 KERNEL_STRIDE stride_x_lsb:0:1 stride_y_lsb:1:1 weight_order:2:1 dilation_x:3:1 dilation_y:4:1
    decomposition:5:1 stride_x_msb:6:1 stride_y_msb:9:1
0126 ACTIVATION_MIN clip_boundary:0:16
0127 ACTIVATION_MAX clip_boundary:0:16
0128 WEIGHT_REGION region:0:3
0129 SCALE_REGION region:0:3
0132 DMA0_SIZE0 size:0:16
0133 DMA0_SIZE1 size:0:16
0189 IFM2_ZERO_POINT zero_point:0:16
018a IFM2_WIDTH0_M1 width_m1:0:16
018b IFM2_HEIGHT0_M1 height_m1:0:16
018c IFM2_HEIGHT1_M1 height_m1:0:16
018f IFM2_REGION region:0:3
4000 IFM_BASE0 address
4001 IFM_BASE1 address
4002 IFM_BASE2 address
4003 IFM_BASE3 address
4004 IFM_STRIDE_X address
4005 IFM_STRIDE_Y address
4006 IFM_STRIDE_C address
4010 OFM_BASE0 address
4011 OFM_BASE1 address
4012 OFM_BASE2 address
4013 OFM_BASE3 address
4014 OFM_STRIDE_X address
4015 OFM_STRIDE_Y address
4016 OFM_STRIDE_C address
4020 WEIGHT_BASE address
4021 WEIGHT_LENGTH length:16:32
4022 SCALE_BASE address
4023 SCALE_LENGTH length:16:20
4030 DMA0_SRC address
4031 DMA0_DST address
4032 DMA0_LEN address
4080 IFM2_BASE0 address
4081 IFM2_BASE1 address
4082 IFM2_BASE2 address
4083 IFM2_BASE3 address
4084 IFM2_STRIDE_X address
4085 IFM2_STRIDE_Y address
4086 IFM2_STRIDE_C address
4090 WEIGHT1_BASE address
4091 WEIGHT1_LENGTH length:16:32
"""

U55_ONLY = """
0002 OP_CONV
0011 OP_DMA_WAIT k:0:1
0012 OP_KERNEL_WAIT n:0:2
0105 IFM_PRECISION activation_type:0:1 activation_precision:2:2 activation_format:6:2 scale_mode:8:2
    round_mode:14:2
010d IFM_IB_END ib_end:0:6
0114 OFM_PRECISION activation_type:0:1 activation_precision:1:2 activation_format:6:2 scale_mode:8:1
    round_mode:14:2
0115 OFM_BLK_WIDTH_M1 width_m1:0:6
0116 OFM_BLK_HEIGHT_M1 height_m1:0:5
0117 OFM_BLK_DEPTH_M1 depth_m1:0:7
0123 PARALLEL_MODE parallel_mode:0:1
0124 ACC_FORMAT acc_format:0:2
0125 ACTIVATION activation_function:0:5 activation_clip_range:12:3
012d AB_START ab_start:0:6
012f BLOCKDEP blockdep:0:2
0130 DMA0_SRC_REGION region:0:3 region_mode:8:1 stride_mode:9:2
0131 DMA0_DST_REGION region:0:3 region_mode:8:1 stride_mode:9:2
0180 IFM2_BROADCAST broadcast_h:0:1 broadcast_w:1:1 broadcast_c:2:1 operand_order:6:1 broadcast_constant:7:1
0181 IFM2_SCALAR scalar:0:16
0185 IFM2_PRECISION activation_type:0:1 activation_precision:2:2 activation_format:6:2
018d IFM2_IB_START ib_start:0:6
4024 OFM_SCALE shift:0:6 scale:16:32
4025 OPA_SCALE shift:0:6 scale:16:32
4026 OPB_SCALE scale:16:16
4033 DMA0_SKIP0 address
4034 DMA0_SKIP1 address
4092 SCALE1_BASE address
4093 SCALE1_LENGTH length:16:20
"""

U85_ONLY = """
0002 OP_CONV weights_ifm2:0:1
0007 OP_RESIZE resize_mode:0:2
0011 OP_DMA_WAIT k:0:2
0012 OP_KERNEL_WAIT n:0:1
0105 IFM_PRECISION activation_type:0:1 activation_precision:2:2 activation_format:6:2
    activation_storage:14:2
0108 IFM_BROADCAST broadcast_mode:0:4
0114 OFM_PRECISION activation_type:0:1 activation_precision:1:2 activation_format:6:2 scale_mode:8:1
    activation_reverse:9:2 activation_transpose:11:3 activation_storage:14:2
0115 OFM_BLK_WIDTH_M1 width_m1:0:7
0116 OFM_BLK_HEIGHT_M1 height_m1:0:7
0117 OFM_BLK_DEPTH_M1 depth_m1:0:10
0124 ACC_FORMAT acc_format:0:2 acc_input:4:2 acc_output:6:1 microblock:8:3
0125 ACTIVATION activation_function:0:5 table:5:3 activation_clip_range:12:1
012a RESIZE_X_SCALE_N_M1 resize_x_scale_n_m1:0:11
012b RESIZE_Y_SCALE_N_M1 resize_y_scale_n_m1:0:11
012c RESIZE_X_OFFSET resize_x_offset:0:12
012d RESIZE_Y_OFFSET resize_y_offset:0:12
012e WEIGHT_FORMAT weight_format:0:1 weight_sparsity:4:1
012f BLOCKDEP blockdep:0:3
0130 DMA0_SRC_REGION region:0:3 region_mode:8:1 stride_mode:9:2 idx_mode:11:1
0131 DMA0_DST_REGION region:0:3 region_mode:8:1 idx_mode:11:1
0134 DMA0_IDX_REGION region:0:3
0180 IFM2_BROADCAST broadcast_mode:0:4
0185 IFM2_PRECISION activation_type:0:1 activation_precision:2:2 activation_format:6:2
    activation_storage:14:2
4024 OFM_SCALE shift:0:6 dbl_rnd:6:5 round_mode:13:3 scale:16:31
4025 IFM_SCALE shift:0:6 dbl_rnd:6:5 round_mode:13:1 scale:16:31
4026 IFM2_SCALE shift:0:6 dbl_rnd:6:5 round_mode:13:1 scale:16:31
4027 OP_SCALAR scalar:16:32
4033 DMA0_SRC_STRIDE0 address
4034 DMA0_SRC_STRIDE1 address
4035 DMA0_DST_STRIDE0 address
4036 DMA0_DST_STRIDE1 address
4037 DMA0_IDX address
4038 DMA0_IDX_MAX idx_max:16:31
4039 DMA0_IDX_SKIP1 address
4092 WEIGHT2_BASE address
4093 WEIGHT2_LENGTH length:16:32
4094 WEIGHT3_BASE address
4095 WEIGHT3_LENGTH length:16:32
4096 RESIZE_X one_step_int:0:4 blk_step_int:4:11 one_step_mod:16:11 blk_step_mod:32:11
4097 RESIZE_Y one_step_int:0:4 blk_step_int:4:11 one_step_mod:16:11 blk_step_mod:32:11
4100 OP_BRANCH branch_cond:0:1 branch_target:16:32
"""


@dataclass(frozen=True)
class Field:
    """A bit field of a command: `lsb` and `width` count over `par | data << 16`."""

    name: str
    lsb: int
    width: int

    def of(self, value: int) -> int:
        """The field's unsigned content in a command's value."""
        return (value >> self.lsb) & ((1 << self.width) - 1)


@dataclass(frozen=True)
class Command:
    """An operation or a register write.

    Attributes:
        key: see the tables.
        name: as in the reference, without `SET_`.
        fields: none if `address`.
        address: True if it holds one 40-bit number.
        operation: True for a command that does something, False for a register write.
        words: length in the stream, in words of 32 bits.
    """

    key: int
    name: str
    fields: tuple[Field, ...]
    address: bool
    operation: bool
    words: int


def _parse(table: str) -> list[Command]:
    rows = table.replace("\n    ", " ").strip().split("\n")
    commands = []
    for row in rows:
        key, name, *rest = row.split()
        address = rest == ["address"]
        parts = [] if address else [text.split(":") for text in rest]
        fields = tuple(Field(field, int(lsb), int(width)) for field, lsb, width in parts)
        operation = name.startswith("OP_") and name != "OP_SCALAR"
        words = 2 if int(key, 16) & 0x4000 else 1
        commands.append(Command(int(key, 16), name, fields, address, operation, words))
    return commands


@cache
def commands_by_key(product: str) -> dict[int, Command]:
    """The commands that "u55", "u65" or "u85" knows, by key."""
    own = U85_ONLY if product == "u85" else U55_ONLY
    return {command.key: command for command in _parse(BOTH) + _parse(own)}


@cache
def commands_by_name(product: str) -> dict[str, Command]:
    """The commands that "u55", "u65" or "u85" knows, by name."""
    return {command.name: command for command in commands_by_key(product).values()}
