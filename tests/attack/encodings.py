"""Bytes that are not quite text, and texts that are written in an unusual way."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

from tests.attack.registry import CASES, REJECTED, UNDERSTOOD, case, generator, kernel, loops, mark_slow

_NONE = frozenset((3,))
_NEST = frozenset((0,))


_SLOW = """
one-byte ebcdic mixed-line-ends form-feeds no-last-newline utf-32 utf-16-be surrogates overlong-utf-8 high-bytes
random-ascii random-brackets gzip tabs-before-caret c1-controls universal-names utf-8-function trigraphs-in-gnu
latin-1-comment long-line megabytes-of-newlines split-for nul-in-comment
"""


def register() -> None:
    before = set(CASES)
    _register()
    mark_slow(before, frozenset(_SLOW.split()))


def _register() -> None:
    gemm = kernel("gemm")
    text = gemm.decode()
    case("empty", b"", _NONE, said="empty")
    case("white-space", b" \n\t\r\n\f\v ", _NONE, said="empty")
    case("one-byte", b"x", REJECTED | _NONE)
    case("only-comments", b"/* a */\n// b\n/* c\n d */\n", _NONE)
    case("open-comment", b"int x; /* for (int i = 0; i < n; i++)", REJECTED, said="comment")
    case("open-string", b'char *s = "abc;\nint f(void) { return 0; }\n', REJECTED)
    case("open-conditional", gemm + b"\n#if 1\n", REJECTED)
    case("only-directives", b"#define A\n#undef A\n#pragma once\n#\n", _NONE)
    case("only-bom", b"\xef\xbb\xbf", _NONE)
    case("bom", b"\xef\xbb\xbf" + gemm, _NEST)
    case("two-boms", b"\xef\xbb\xbf" * 2 + gemm, UNDERSTOOD | REJECTED)
    case("utf-16-le", b"\xff\xfe" + text.encode("utf-16-le"), REJECTED)
    case("utf-16-be", b"\xfe\xff" + text.encode("utf-16-be"), REJECTED)
    case("utf-32", text.encode("utf-32"), REJECTED)
    case("ebcdic", text.encode("cp500"), REJECTED)
    case("nul-at-end", gemm + b"\0", REJECTED)
    case("nul-in-comment", gemm.replace(b"General", b"Gen\0ral"), REJECTED)
    case("crlf", gemm.replace(b"\n", b"\r\n"), _NEST)
    case("cr-only", gemm.replace(b"\n", b"\r"), UNDERSTOOD | REJECTED)
    case("mixed-line-ends", gemm.replace(b"\n", b"\r\n", 40), _NEST)
    case("tabs", gemm.replace(b"    ", b"\t"), _NEST)
    case("form-feeds", gemm.replace(b"    ", b"\f\v"), _NEST)
    case("no-last-newline", gemm.rstrip(), _NEST)
    case("backslash-at-end", gemm + b"\\", UNDERSTOOD | REJECTED)
    case("one-line", _one_line(text), _NEST)
    case("split-tokens", _split_tokens(loops("A[i] = B[i] + 1.5;")), UNDERSTOOD)
    case("split-for", loops("A[i] = 1;").replace("for (", "fo\\\nr ("), UNDERSTOOD)
    case("digraphs", "%:define N 8\nvoid f(double A<:N:>) <% for (int i = 0; i < N; i++) <% A<:i:> = 1; %> %>\n", _NEST)
    case(
        "trigraphs",
        "void f(double A??(8??)) ??< for (int i = 0; i < 8; i++) ??< A??(i??) = 1; ??> ??>\n",
        _NEST,
        options=("-std=c99",),
    )
    case("trigraphs-in-gnu", "void f(double A??(8??)) ??< ??>\n", REJECTED | _NONE)
    case("utf-8-identifiers", loops("A[i] = größe * π;", "double größe, π;"), UNDERSTOOD)
    case("utf-8-iterator", "void f(double *Ä) { for (int ı = 0; ı < 9; ı++) Ä[ı] = ı; }\n", UNDERSTOOD)
    case(
        "utf-8-function",
        "void 计算(double *A) { for (int i = 0; i < 9; i++) { A[i] = 1; g(); } }\n",
        UNDERSTOOD | REJECTED,
    )
    case("universal-names", "void f(double *\\u00e4) { for (int i = 0; i < 9; i++) \\u00e4[i] = i; }\n", UNDERSTOOD)
    case("emoji", loops("A[i] = 🦀;", "double 🦀;"), UNDERSTOOD | REJECTED)
    case("latin-1-comment", b"/* gr\xf6\xdfe */\n" + gemm, _NEST)
    case("latin-1-identifier", b"int gr\xf6sse;\nvoid f(void) { for (;;) { } }\n", REJECTED)
    case("latin-1-before-refusal", loops("/* \xe4\xf6 */ g(i);", "void g(int);").encode("latin-1"), UNDERSTOOD)
    case("overlong-utf-8", b"int \xc0\xaf;\n", REJECTED)
    case("surrogates", b"/* \xed\xa0\x80 */ int \xed\xa0\x80;\n", REJECTED)
    case("right-to-left", loops("/* \u202e } \u2066 */ g(i); /* \u2069 */", "void g(int);"), UNDERSTOOD)
    case("escape-sequences", loops("/* \033[2J\033]0;x\a */ g(i);", "void g(int);"), UNDERSTOOD)
    case("escape-in-error", "int \033[31mred;\n", REJECTED)
    case("c1-controls", loops("/* \u009b31m */ g(i);", "void g(int);"), UNDERSTOOD)
    case("tabs-before-caret", loops("\t\t/*\t*/\tg(i);", "void g(int);"), UNDERSTOOD)
    case("long-line", loops("g(i);" + " " * 100_000 + "g(i);", "void g(int);"), UNDERSTOOD)
    case("elf", Path(sys.executable).read_bytes()[:50_000], REJECTED)
    case("gzip", gzip.compress(gemm), REJECTED)
    case("random", generator("random").randbytes(5_000).replace(b"\0", b"\1"), REJECTED)
    case("random-ascii", bytes(generator("ascii").choices(range(32, 127), k=5_000)), REJECTED)
    case("random-brackets", bytes(generator("brackets").choices(b"(){}[];#\n\"'", k=5_000)), REJECTED)
    case("high-bytes", bytes(range(128, 256)) * 20, REJECTED)
    case("megabytes-of-newlines", b"\n" * 5_000_000 + gemm, _NEST)
    case("megabytes-of-comment", b"/*" + b"*" * 5_000_000 + b"*/" + gemm, _NEST)
    case("too-large", b"int x;\n" * 2_000_000, REJECTED | _NONE)


def _one_line(text: str) -> str:
    lines = text.split("\n")
    code = lines.index("static double A[NI][NK];")
    return "\n".join((*lines[1:code], " ".join(lines[code:]).replace("/*", " /*")))


def _split_tokens(text: str) -> str:
    """A line continuation inside every word."""
    import re

    return re.sub(r"\b([A-Za-z]\w+)\b", lambda m: m[1][:1] + "\\\n" + m[1][1:], text)
