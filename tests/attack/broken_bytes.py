"""Real kernels, damaged: cut off, bytes flipped, lines and tokens exchanged."""

from __future__ import annotations

import re
from random import Random

from tests.attack.registry import ANY, case, generator, kernel

_KERNELS = ("gemm", "spmm", "lu", "jacobi-2d", "harris", "covariance", "nussinov", "deriche", "mlp", "adi")

_KINDS = (
    (b"+", b"-", b"*", b"/"),
    (b"<", b">", b"<=", b">="),
    (b"+=", b"-=", b"*=", b"/="),
    (b"i", b"j", b"k"),
    (b"0", b"1", b"-1", b"2147483647", b"4294967296", b"7"),  # whatever else
)


def register() -> None:
    for number in range(30):
        name = f"cut-{number:02d}"
        random, text = generator(name), kernel(_KERNELS[number % len(_KERNELS)])
        case(name, text[: random.randrange(1, len(text))], ANY, slow=number >= 6)
    for number in range(25):
        name = f"flipped-{number:02d}"
        random, damaged = generator(name), bytearray(kernel(_KERNELS[number % len(_KERNELS)]))
        for _ in range(random.choice((1, 1, 2, 5, 20))):
            damaged[random.randrange(len(damaged))] ^= 1 << random.randrange(8)
        case(name, bytes(damaged), ANY, slow=number >= 6)
    for number in range(15):
        name = f"lines-{number:02d}"
        random, lines = generator(name), kernel(_KERNELS[number % len(_KERNELS)]).split(b"\n")
        for _ in range(random.choice((1, 2, 4))):
            a, b = random.randrange(len(lines)), random.randrange(len(lines))
            match random.randrange(3):
                case 0:
                    del lines[a]
                case 1:
                    lines.insert(a, lines[b])
                case _:
                    lines[a], lines[b] = lines[b], lines[a]
        case(name, b"\n".join(lines), ANY, slow=number >= 3)
    for number in range(30):
        name = f"tokens-{number:02d}"
        random, text = generator(name), kernel(_KERNELS[number % len(_KERNELS)])
        case(name, _other_tokens(text, random), ANY, slow=number >= 6)
    case("cut-in-comment", kernel("gemm")[:40], ANY)
    case("twice", kernel("gemm") * 2, frozenset((4,)), said="redefinition")
    case("reversed", kernel("gemm")[::-1], frozenset((4,)))
    case("sorted", b"\n".join(sorted(kernel("gemm").split(b"\n"))), frozenset((4,)))


def _other_tokens(text: bytes, random: Random) -> bytes:
    """Operators, numbers and loop variables replaced by others of their kind: mostly still C, and mostly nonsense."""
    head = text.index(b"static")
    pieces = re.split(rb"(\b\d+\b|(?<=[\w)\]] )[-+*/%<>]=?(?= )|\b[ijk]\b)", text[head:])
    for _ in range(random.choice((1, 3, 8))):
        position = random.randrange(1, len(pieces), 2)
        kind = next(kind for kind in _KINDS if pieces[position] in kind or kind is _KINDS[-1])
        pieces[position] = random.choice(kind)
    return text[:head] + b"".join(pieces)
