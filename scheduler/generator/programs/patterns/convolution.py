"""Convolutions of signals, images and channels, with strides and dilation; separable filters and pooling."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scheduler.generator.programs.kernel import Kernel
from scheduler.generator.programs.values import Array, literal, maximum
from scheduler.ir.affine import Affine

Term = Callable[[Sequence[Affine], Sequence[Affine]], str]


def convolution(k: Kernel) -> None:
    depth = k.settings.depth
    forms = [_signal] * 2 * (depth >= 2) + [_image] * 4 * (depth >= 4) + [_channels] * 5 * (depth >= 6)
    forms += [_pooling] * 2 * (depth >= 4) + [_separable] * 2 * (depth >= 3)
    k.rng.choice(forms or [_window])(k)


def _window(k: Kernel) -> None:
    source = k.source(1, least=4)
    target = k.input(*source.shape)
    with k.loop(0, source.shape[0] - 2) as i:
        terms = " + ".join(k.read(source, i + d) for d in range(3))
        k.store(k.ref(target, i), "=", terms, 64)


def _signal(k: Kernel) -> None:
    """A finite impulse response."""
    taps = k.rng.choice((3, 5, 8, 16, 64))
    source, weights = k.source(1, k.share / taps, taps + 1), k.operand(taps)
    n = source.shape[0] - (taps - 1)
    target = k.input(n)
    _accumulated(
        k, [n], [taps], target, lambda out, inner: f"{k.read(source, out[0] + inner[0])} * {k.read(weights, inner[0])}"
    )


def _accumulated(
    k: Kernel, outs: Sequence[Affine | int], inners: Sequence[Affine | int], target: Array, term: Term
) -> None:
    """target[outs] = sum over inners of a term: in memory, with or without clearing first, or in a local."""
    rng = k.rng
    length = 256.0
    for extent in inners:
        length *= k.at(extent)
    form = rng.choice(("update", "inside", "local", "free"))
    if form == "free":
        with k.loops(*outs, *inners, order=k.order(len(outs) + len(inners), 0.4)) as at:
            k.store(k.ref(target, *at[: len(outs)]), "+=", term(at[: len(outs)], at[len(outs) :]), length)
        return
    with k.loops(*outs) as out:
        if form == "local":
            total = k.local("acc", literal(0, k.ctype))
            with k.loops(*inners) as inner:
                k.line(f"{total} += {term(out, inner)};")
            k.store(k.ref(target, *out), "=", total, length)
            return
        if form == "inside":
            k.store(k.ref(target, *out), "=", literal(0, k.ctype), 0)
        with k.loops(*inners) as inner:
            k.store(k.ref(target, *out), "+=", term(out, inner), length)


def _image(k: Kernel) -> None:
    """One image, one filter, with stride and dilation."""
    rng = k.rng
    size = rng.choice((3, 3, 5, 7))
    stride, dilation = rng.choice((1, 1, 1, 2)), rng.choice((1, 1, 1, 2))
    border = (size - 1) * dilation + 1
    if stride == 1:
        source = k.source(2, k.share / size**2, border + 1)
        rows, columns = (extent - (border - 1) for extent in source.shape)
    else:
        rows, columns = k.extents(2, k.share / size**2)
        source = k.input(*((extent - 1) * stride + border for extent in (rows, columns)))
    weights, target = k.operand(size, size), k.input(rows, columns)

    def term(out: Sequence[Affine], inner: Sequence[Affine]) -> str:
        places = [o * stride + i * dilation for o, i in zip(out, inner, strict=True)]
        return f"{k.read(source, *places)} * {k.read(weights, *inner)}"

    _accumulated(k, [rows, columns], [size, size], target, term)


def _channels(k: Kernel) -> None:
    """A layer of a neural network: channels in and out, or each on its own; perhaps a batch; channels last or first."""
    rng = k.rng
    size = rng.choice((1, 3, 3, 5))
    stride = rng.choice((1, 1, 2))
    depthwise, batched, last = (
        size > 1 and rng.random() < 0.25,
        k.settings.depth >= 7 and rng.random() < 0.5,
        rng.random() < 0.4,
    )
    rest = k.share / size**2
    batch = [k.extent(rng.randint(2, 4))] if batched else []
    rest /= k.at(batch[0]) if batched else 1
    count = rng.choice((3, 8, 16, 32, 64)) if rest > 4e5 else 4
    channels = k.extent(count)
    filters = channels if depthwise else k.extent(rng.choice((8, 16, 32)) if rest > 4e5 else 3)
    rows, columns = k.extents(2, max(16.0, rest / count / (1 if depthwise else k.at(filters))), most=256)
    high, wide = ((extent - 1) * stride + size for extent in (rows, columns))

    def layout(channel: Affine, row: Affine, column: Affine) -> list[Affine]:
        return [row, column, channel] if last else [channel, row, column]

    source, target = k.input(*batch, *layout(channels, high, wide)), k.input(*batch, *layout(filters, rows, columns))
    window = (size, size) if size > 1 else ()
    weights = k.operand(filters, *window) if depthwise else k.operand(filters, channels, *window)

    def term(out: Sequence[Affine], inner: Sequence[Affine]) -> str:
        *images, f, y, x = out if not last else (*out[:-3], out[-1], out[-3], out[-2])
        *c, dy, dx = inner if window else (*inner, Affine(), Affine())
        where = layout(c[0] if c else f, y * stride + dy, x * stride + dx)
        return f"{k.read(source, *images, *where)} * {k.read(weights, f, *inner)}"

    inners: list[Affine | int] = [*window] if depthwise else [channels, *window]
    _accumulated(k, [*batch, *layout(filters, rows, columns)], inners, target, term)


def _pooling(k: Kernel) -> None:
    """The mean or the maximum of windows that may overlap."""
    rng = k.rng
    size, stride = rng.choice(((2, 2), (3, 2), (3, 3), (3, 1)))
    planes = list(k.extents(1, 8.0, most=32)) if k.settings.depth >= 5 and rng.random() < 0.6 else []
    rows, columns = k.extents(2, k.share / size**2 / (k.at(planes[0]) if planes else 1))
    source = k.input(*planes, *((extent - 1) * stride + size for extent in (rows, columns)))
    target = k.input(*planes, rows, columns)
    largest = rng.random() < 0.5
    with k.loops(*planes, rows, columns) as (*plane, y, x):
        value = k.local("pooled", k.read(source, *plane, y * stride, x * stride) if largest else literal(0, k.ctype))
        with k.loops(size, size) as (dy, dx):
            element = k.read(source, *plane, y * stride + dy, x * stride + dx)
            k.line(f"{value} = {maximum(rng, value, element, k.ctype)};" if largest else f"{value} += {element};")
        k.store(k.ref(target, *plane, y, x), "=", value if largest else f"{value} / {size**2}", 16)


def _separable(k: Kernel) -> None:
    """A filter along the rows, then along the columns of what that gave."""
    taps = k.rng.choice((3, 5, 7))
    rows, columns = k.extents(2, k.share / taps / 2)
    source, between, target = (
        k.input(rows + (taps - 1), columns + (taps - 1)),
        k.input(rows + (taps - 1), columns),
        k.input(rows, columns),
    )
    weights = k.operand(taps)
    with k.loops(rows + (taps - 1), columns) as (y, x):
        total = k.local("acc", literal(0, k.ctype))
        with k.loop(0, taps) as d:
            k.line(f"{total} += {k.read(source, y, x + d)} * {k.read(weights, d)};")
        k.store(k.ref(between, y, x), "=", total, 256.0 * taps)
    order = k.order(2, 0.7)
    with k.loops(rows, columns, order=order) as (y, x):
        total = k.local("acc", literal(0, k.ctype))
        with k.loop(0, taps) as d:
            k.line(f"{total} += {k.read(between, y + d, x)} * {k.read(weights, d)};")
        k.store(k.ref(target, y, x), "=", total, 256.0 * taps)
