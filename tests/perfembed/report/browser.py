"""A page as a browser that is installed here has it."""

import html
import re
import shutil
import subprocess
from pathlib import Path

import pytest

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no browser is installed")
_SCHEMES = {"dark": "0", "light": "1"}


def opened(page: str, folder: Path, scheme: str = "light") -> tuple[str, list[str]]:
    """(the document after it was loaded, what the console said)."""
    assert BROWSER is not None
    path = folder / "page.html"
    path.write_text(page, encoding="utf-8")
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile"]
    command += ["--enable-logging=stderr", f"--blink-settings=preferredColorScheme={_SCHEMES[scheme]}"]
    done = subprocess.run([*command, "--dump-dom", path.as_uri()], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def asked(page: str, folder: Path, expression: str, width: int, scheme: str = "light") -> str:
    """What a JavaScript expression over the page's document `d` gives, in a frame of so many pixels."""
    frame = (
        f'<!doctype html><iframe id="f" style="width:{width}px;height:700px;border:0" srcdoc="{html.escape(page)}">'
        f'</iframe><pre id="answer"></pre><script>f.onload = () => {{ const d = f.contentDocument; '
        f"answer.textContent = String({expression}); }}</script>"
    )
    dom, _ = opened(frame, folder, scheme)
    found = re.search(r'<pre id="answer">(.*?)</pre>', dom, re.DOTALL)
    assert found is not None
    return html.unescape(found[1])
