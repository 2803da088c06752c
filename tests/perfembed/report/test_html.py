"""Escaping, and the pieces of pages."""

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
