"""C text of affine expressions of iterators and extents."""

from __future__ import annotations

from scheduler.ir.affine import Affine


def format_affine(affine: Affine | int, lower: bool = False) -> str:
    """Positive terms first. `lower`: extents are parameters of the function (`ni`), not macros (`NI`)."""
    if isinstance(affine, int):
        return str(affine)
    text = ""
    for atom, coefficient in sorted(affine.terms, key=lambda term: (term[1] < 0, str(term[0]).isupper())):
        name = str(atom).lower() if lower and str(atom)[:1].isupper() else str(atom)
        body = name if abs(coefficient) == 1 else f"{abs(coefficient)} * {name}"
        text += (f" {'-' if coefficient < 0 else '+'} " if text else "-" * (coefficient < 0)) + body
    if affine.const or not text:
        sign = "-" if affine.const < 0 else "+"
        text = f"{text} {sign} {abs(affine.const)}" if text else str(affine.const)
    return text
