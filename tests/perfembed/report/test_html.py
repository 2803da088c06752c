"""Escaping, and the pieces of pages."""

import re

import pytest

from perfembed.report.charts import COLORS
from perfembed.report.html import details, facts, page, row, table, text


def test_text() -> None:
    assert text("a < b & \"c\" 'd'") == "a &lt; b &amp; &quot;c&quot; &#x27;d&#x27;"
    assert text("tab\tline\nä → µ\u00a0") == "tab\tline\nä → µ\u00a0"
    assert text("\x00\x1b[31m\u202e\ud800\ufeff") == "\ufffd\ufffd[31m\ufffd\ufffd\ufffd" and text("a\r\nb") == "a\nb"


def test_pieces() -> None:
    shown = table(["name", "#value"], [row("<td>1</td>", kind="chosen")], "a & b")
    assert '<th scope="col">name</th><th scope="col" class="number">value</th>' in shown
    assert '<caption class="hidden">a &amp; b</caption>' in shown and '<tr class="chosen"><td>1</td></tr>' in shown
    assert "empty" not in facts([("empty", ""), ("full", "x")]) and "<dt>full</dt><dd>x</dd>" in facts([("full", "x")])
    assert details("<s>", "x", opened=True).startswith("<details open><summary>&lt;s&gt;</summary>")
    whole = page("<t>", ["<p>x</p>"])
    assert "<title>&lt;t&gt;</title>" in whole and "prefers-color-scheme: dark" in whole and whole.isascii()


def luminance(color: str) -> float:
    """Source: WCAG 2.1, relative luminance."""
    parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_texts_can_be_read(scheme: int) -> None:
    """A contrast of 4.5 at least (WCAG 2.1, AA): of texts with the paper, of white with the bars' colours."""
    style = page("t", ())
    colors = dict(re.findall(r"--([\w-]+): (#\w{6})", style.split(":root {")[scheme + 1].split("}")[0]))
    pairs = [(colors[name], colors["paper"]) for name in ("ink", "soft", "accent", "good", "bad", "mark")]
    pairs += [("#ffffff", colors[f"c{k}"]) for k in range(COLORS)]
    pairs += [(colors["ink"], colors["good-paper"]), (colors["soft"], colors["faint"])]
    for pair in pairs:
        dark, light = sorted(map(luminance, pair))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, pair
