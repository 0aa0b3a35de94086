"""`harness ops FILE…`: the operators that programs need, as names or in upstream's own format."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from harness import pte


def operators_of(files: Sequence[Path]) -> tuple[str, ...]:
    """Union of the operators that programs and bundles need, sorted.

    Raises:
        HarnessError: CONFIG/INPUT, BUNDLE_INVALID.
    """
    return tuple(sorted({name for program in _programs(files) for name in program.operators}))


def delegates_of(files: Sequence[Path]) -> tuple[str, ...]:
    """Union of the backends that programs and bundles delegate to, sorted.

    Raises:
        HarnessError: as `operators_of`.
    """
    return tuple(sorted({name for program in _programs(files) for name in program.delegates}))


def _programs(files: Sequence[Path]) -> Iterator[pte.ProgramFile]:
    for content in map(pte.read_file, files):
        yield content.program if isinstance(content, pte.BundleFile) else content


def selected_operators(files: Sequence[Path]) -> str:
    """The same union as upstream's `selected_operators.yaml`, made and merged by ExecuTorch's own tools.

    It also lists for every operator the types and dim orders that the programs call it with; `debug_info`
    names the programs.

    Raises:
        HarnessError: CONFIG/INPUT, BUNDLE_INVALID.
    """
    # The package's merge_yaml.py merges lists of functions; for selected operators it is gen_all_oplist.
    from executorch.codegen.tools import gen_all_oplist, gen_oplist

    with tempfile.TemporaryDirectory(prefix="harness-ops-") as temporary, redirect_stdout(io.StringIO()):
        # The tool resolves links before it records where an operator comes from.
        folder = Path(temporary).resolve()
        sources: dict[str, str] = {}
        for number, file in enumerate(dict.fromkeys(files)):
            program = folder / f"{number}.pte"
            program.write_bytes(_program_bytes(file))
            single = folder / f"{number}.yaml"
            gen_oplist.main(["--model_file_path", str(program), "--output_path", str(single)])
            sources[str(single)] = str(file)
        names = folder / "names"
        names.write_text("\n".join(sources))
        gen_all_oplist.main(["--output_dir", str(folder), "--model_file_list_path", f"@{names}"])
        merged = yaml.safe_load((folder / "selected_operators.yaml").read_text())
    return _named_after(merged, sources)


def _named_after(merged: dict[str, Any], sources: dict[str, str]) -> str:
    for entry in merged["operators"].values():
        entry["debug_info"] = sorted(sources[name] for name in entry["debug_info"])
    return str(yaml.safe_dump(merged, default_flow_style=False))


def _program_bytes(file: Path) -> bytes:
    """The bytes of a program that was read and found well-formed: the tool would crash on another."""
    content = pte.read_file(file)
    return content.program_bytes if isinstance(content, pte.BundleFile) else file.read_bytes()


def ops(
    files: Annotated[list[Path], typer.Argument(help="programs (.pte) and bundles (.bpte)")],
    yaml_file: Annotated[
        Path | None,
        typer.Option("--yaml", help="write upstream's selected_operators.yaml here; - is standard output"),
    ] = None,
) -> None:
    """Print the operators that programs need, merged: what one runner for all of them registers."""
    if yaml_file is None:
        typer.echo("\n".join(operators_of(files)))
        return
    text = selected_operators(files)
    if str(yaml_file) == "-":
        typer.echo(text, nl=False)
    else:
        yaml_file.write_text(text)
