"""The register file that a command stream writes and operations read (reference section 2).

Register names are those of the reference without `SET_`. Single-valued registers are attributes:
`state.IFM_DEPTH_M1` is an unsigned number, `state.WEIGHT_BASE` an address, `state.OFM_STRIDE_Y` a signed
stride.
Registers of several fields are read with `state.field("KERNEL_STRIDE", "weight_order")`.
"""

from __future__ import annotations

from harness.standin.npu.config import NpuConfig
from harness.standin.npu.enums import value_names
from harness.standin.npu.errors import NpuError, parse_error
from harness.standin.npu.opcodes import Command, commands_by_name


class RegisterState:
    """Registers keep their value until they are rewritten; reading one that was never written is an error."""

    def __init__(self, config: NpuConfig) -> None:
        self.config = config
        self._commands = commands_by_name(config.product)
        self._raw: dict[str, int] = {}
        self._values: dict[str, int] = {}

    def write(self, command: Command, par: int, data: int = 0) -> None:
        """Execute a register write: `par` is the upper half of word 0, `data` is word 1 of a long command."""
        raw = par | data << 16
        self._raw[command.name] = raw
        if command.address:
            self._values[command.name] = address(command.name, par, data)
        elif len(command.fields) == 1:
            self._values[command.name] = command.fields[0].of(raw)

    def set(self, name: str, value: int = 0, **fields: int) -> None:
        """Write a register by name: its single value, or some of its fields and zero for the others."""
        command = self._command(name)
        if command.address:
            self.write(command, value >> 32 & 0xFF, value & 0xFFFFFFFF)
            return
        values = fields or {command.fields[0].name: value}
        lsb = {field.name: field.lsb for field in command.fields}
        raw = sum(content << lsb[field] for field, content in values.items())
        self.write(command, raw & 0xFFFF, raw >> 16)

    def has(self, name: str) -> bool:
        """True if the register was written."""
        return name in self._raw

    def __getattr__(self, name: str) -> int:
        try:
            return self.__dict__["_values"][name]  # type: ignore[no-any-return]
        except KeyError:
            pass
        if name.startswith("_") or not name.isupper():
            raise AttributeError(name)
        raise self._missing(name)

    def field(self, register: str, name: str) -> int:
        """A field of a register, unsigned.

        Raises:
            NpuError: the register was never written, or this product has no such register or field.
        """
        command = self._command(register)
        if register not in self._raw:
            raise self._missing(register)
        for field in command.fields:
            if field.name == name:
                return field.of(self._raw[register])
        raise parse_error(f"{register} has no field {name} on {self.config.name}")

    def choice(self, register: str, name: str) -> str:
        """The name of an enumerated field's value, e.g. `choice("OFM_PRECISION", "activation_format")`.

        Raises:
            NpuError: as for `field`, or the value has no name.
        """
        value = self.field(register, name)
        label = value_names(self.config.product, register, name).get(value)
        if label is None:
            raise parse_error(f"{register} has {name} {value}, which means nothing on {self.config.name}")
        return label

    def dump(self) -> dict[str, int]:
        """All written registers: name to value (`par | data << 16` for those of several fields)."""
        return {**self._raw, **self._values}

    def _command(self, name: str) -> Command:
        command = self._commands.get(name)
        if command is None:
            raise parse_error(f"{self.config.name} has no register {name}")
        return command

    def _missing(self, name: str) -> NpuError:
        command = self._command(name)
        if name in self._raw:
            return parse_error(
                f"{name} has several fields: {', '.join(field.name for field in command.fields)}"
            )
        return parse_error(f"{name} is used but was never written")


def address(name: str, par: int, data: int) -> int:
    """The 40-bit number in a long command; strides and skips are signed."""
    value = (par & 0xFF) << 32 | data
    signed = "STRIDE" in name or "SKIP" in name
    return value - (1 << 40) if signed and value >> 39 else value
