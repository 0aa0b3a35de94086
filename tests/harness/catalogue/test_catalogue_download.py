"""Row A9: what is downloaded, a version of Vela, comes from a server that first sends error pages."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from harness.repro import vela

VERSION = "4.99.0"
FILE = f"ethos_u_vela-{VERSION}-py3-none-any.whl"


def wheel() -> bytes:
    """A package of one empty module."""
    info = f"ethos_u_vela-{VERSION}.dist-info"
    files = {
        "ethosu_made_here.py": "",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: ethos-u-vela\nVersion: {VERSION}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD"))
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


@contextmanager
def index(error_pages: int) -> Iterator[str]:
    """A package index whose first answers for the archive are short pages with a status of success."""
    archive = wheel()
    link = f"/files/{FILE}#sha256={hashlib.sha256(archive).hexdigest()}"
    left = [b"<html>Service busy, try again.</html>".ljust(300)] * error_pages

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.startswith("/files/"):
                kind, content = "application/zip", left.pop() if left else archive
            else:
                kind, content = "text/html", f'<!DOCTYPE html><a href="{link}">{FILE}</a>'.encode()
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/simple"
        server.shutdown()


@pytest.mark.parametrize("error_pages", [0, 2, 4])
def test_catalogue_A9_a_broken_download_is_repeated(
    error_pages: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vela, "BACK_OFF", 0.0)
    said: list[str] = []
    with index(error_pages) as url:
        for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("PIP_INDEX_URL", url)
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
        if error_pages < 4:
            tool = vela.environment(VERSION, tmp_path, said.append)
            assert tool.version == VERSION
            assert list(Path(tool.python).parents[1].rglob("ethosu_made_here.py"))
        else:
            with pytest.raises(vela.NotTestableError, match="cannot be installed"):
                vela.environment(VERSION, tmp_path, said.append)
    events = [line for line in said if line.startswith("INFRA/DOWNLOAD: ")]
    assert len(events) == min(error_pages, 3)
