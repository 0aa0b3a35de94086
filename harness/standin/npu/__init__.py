"""A functional model of Arm's Ethos-U55, U65 and U85: it executes command streams bit-exactly, without time.

The modules follow the sections of the command-stream reference: `container` (1), `stream`, `opcodes`, `enums`
and `registers` (2), `machine` (3), `feature_maps` (4), `numerics` (5), `output` and `lut` (6); for section 7
`weighted` around `conv`, `pooling`, `elementwise`, `resize`, with `window`, `windowed` and `accumulate` for
what they share; `scale_stream` (8), `weights` (9), `context` with the chain buffers (10), `dma` (11).
"""
