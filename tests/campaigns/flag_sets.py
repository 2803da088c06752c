"""Flags that change what C means, for campaigns: programs are read, written and compiled under one of these sets.

`scheduler.frontend.clang.dialect` says what each means.
"""

from __future__ import annotations

FLAG_SETS: tuple[tuple[str, ...], ...] = (
    ("-fwrapv",),
    ("-fwrapv", "-fwrapv-pointer", "-O2"),
    ("-fno-strict-overflow", "-fno-strict-aliasing", "-fno-delete-null-pointer-checks"),
    ("-fwrapv", "-fno-wrapv"),
    ("-ftrapv",),
    ("-fsanitize=signed-integer-overflow", "-fno-sanitize-recover"),
    ("-fno-strict-aliasing", "-O2"),
    ("-frounding-math", "-fsignaling-nans"),
    ("-fno-trapping-math", "-fno-math-errno"),
    ("-funsigned-char", "-fshort-enums"),
    ("-fpack-struct",),
    ("-fpack-struct=2", "-fshort-wchar"),
    ("-fno-builtin",),
    ("-fno-builtin-sqrt", "-fno-builtin-fabs"),
    ("-std=c99",),
    ("-std=gnu11", "-fexcess-precision=standard"),
    ("-std=gnu2x", "-fexceptions", "-fnon-call-exceptions"),
    ("-O3", "-fPIC", "-funroll-loops", "-fno-semantic-interposition"),
    ("-Ofast", "-fno-fast-math"),
    ("-O0", "-fno-signed-zeros", "-fcx-limited-range"),
    ("-ftrivial-auto-var-init=pattern",),
    ("-fsingle-precision-constant",),
)
