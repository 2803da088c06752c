"""Nearest neighbours among the embeddings of a database: FAISS, with a cache file beside the database.

The database is the truth. The cache says which model and which state of the database it was made of and carries a
checksum (a FAISS file has none: flipped bits give other neighbours without a word); where anything differs it is made
again. Up to `EXACT` vectors every distance is computed, beyond that a graph is searched (Malkov and Yashunin 2018,
HNSW).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profilers.contained.scratch import unfinished_file

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from optdb.database import Database

    Vectors = npt.NDArray[np.float32]

EXACT = 100_000
_MAGIC = b"perfembed-index-1\n"
_LINKS, _BUILD_EFFORT, _EFFORT = 32, 80, 160  # of HNSW: M, efConstruction, efSearch
_FEW = 0.2  # share of accepted vectors below which scanning those beats walking the graph
_MAX_HEADER = 1 << 16


@dataclass(frozen=True, slots=True)
class Neighbour:
    """`distance`: Euclidean."""

    id: str
    distance: float


class VectorIndex:
    """Immutable. `ids[i]` belongs to row i of the vectors it was made of."""

    def __init__(self, ids: Sequence[str], index: Any, model_id: str) -> None:
        self.ids = tuple(ids)
        self.model_id = model_id
        self._index = index
        self._rows: dict[str, int] | None = None

    @staticmethod
    def build(ids: Sequence[str], vectors: Vectors, model_id: str, exact: bool | None = None) -> VectorIndex:
        """`vectors` float32 [n, d]; `exact` by default for up to `EXACT`. Raises ValueError."""
        import numpy as np

        faiss = _faiss()
        if vectors.ndim != 2 or len(ids) != len(vectors) or len(set(ids)) != len(ids):
            raise ValueError(f"{len(ids)} ids, all different, for vectors of shape {vectors.shape}")
        if not np.isfinite(vectors).all():
            raise ValueError("a vector is not finite")
        if len(ids) <= EXACT if exact is None else exact:
            index = faiss.IndexFlatL2(max(1, vectors.shape[1]))  # no vectors: no dimension either
        else:
            index = faiss.IndexHNSWFlat(vectors.shape[1], _LINKS)
            index.hnsw.efConstruction = _BUILD_EFFORT
        if len(ids):
            index.add(np.ascontiguousarray(vectors, dtype=np.float32))
        return VectorIndex(ids, index, model_id)

    @property
    def is_exact(self) -> bool:
        return not hasattr(self._index, "hnsw")

    @property
    def bytes(self) -> int:
        """Of vectors and links, as stored."""
        vectors: int = len(self.ids) * self._index.d * 4
        if self.is_exact:
            return vectors
        hnsw = self._index.hnsw
        return vectors + 4 * hnsw.neighbors.size() + 8 * hnsw.offsets.size() + 4 * hnsw.levels.size()  # type: ignore[no-any-return]

    def vector(self, id_: str) -> Vectors | None:
        """[d]; None for an id that is not there."""
        row = self._row_of().get(id_)
        return None if row is None else self._index.reconstruct(row)

    def _row_of(self) -> dict[str, int]:
        if self._rows is None:
            self._rows = {i: row for row, i in enumerate(self.ids)}
        return self._rows

    def mask(self, accept: Callable[[str], bool] | Collection[str]) -> npt.NDArray[np.bool_]:
        """[n]: the rows with these ids, or whose ids satisfy the predicate; to use in many searches."""
        import numpy as np

        if callable(accept):
            return np.fromiter((bool(accept(i)) for i in self.ids), dtype=bool, count=len(self.ids))
        rows = self._row_of()
        found = np.zeros(len(self.ids), dtype=bool)
        found[[rows[i] for i in accept if i in rows]] = True
        return found

    def search(
        self,
        vector: Vectors,
        k: int,
        *,
        exclude: Callable[[str], bool] | Collection[str] = (),
        only: npt.NDArray[np.bool_] | None = None,
    ) -> tuple[Neighbour, ...]:
        """The k nearest to `vector` [d], nearest first; of those in the mask `only` and not in `exclude`.

        Fewer than k only where fewer are allowed. Raises ValueError for a vector of another length.
        """
        import numpy as np

        if not self.ids:
            return ()
        if vector.shape != (self._index.d,) or k < 0:
            raise ValueError(f"a vector of {self._index.d} numbers and k >= 0 expected, not {vector.shape} and {k}")
        allowed = only
        if callable(exclude) or len(exclude):
            allowed = ~self.mask(exclude) if only is None else only & ~self.mask(exclude)
        count = len(self.ids) if allowed is None else int(allowed.sum())
        k = min(k, count)
        if k == 0:
            return ()
        query = np.ascontiguousarray(vector, dtype=np.float32)[None]
        squares, rows = self._query(query, k, allowed, count)
        order = sorted((max(0.0, float(s)), self.ids[int(r)]) for s, r in zip(squares, rows, strict=True))
        return tuple(Neighbour(i, s**0.5) for s, i in order)

    def _query(
        self, query: Vectors, k: int, allowed: npt.NDArray[np.bool_] | None, count: int
    ) -> tuple[Vectors, npt.NDArray[np.int64]]:
        """(squared distances, rows), k of each."""
        import numpy as np

        faiss = _faiss()
        bits = None if allowed is None else np.packbits(allowed, bitorder="little")
        selector = None if bits is None else faiss.IDSelectorBitmap(len(self.ids), faiss.swig_ptr(bits))
        threads = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)  # starting threads costs more than one query
        try:
            if not self.is_exact and (allowed is None or count > _FEW * len(self.ids)):
                parameters = faiss.SearchParametersHNSW(sel=selector, efSearch=max(_EFFORT, 2 * k))
                squares, rows = self._index.search(query, k, params=parameters)
                if (rows[0] >= 0).all():
                    return squares[0], rows[0]
            flat = self._index if self.is_exact else faiss.downcast_index(self._index.storage)
            squares, rows = flat.search(query, k, params=faiss.SearchParameters(sel=selector) if selector else None)
            return squares[0], rows[0]
        finally:
            faiss.omp_set_num_threads(threads)

    # ----------------------------------------------------------------------------------- file

    def save(self, path: Path, stamp: str) -> None:
        """Replaces the file at once or not at all. Raises OSError."""
        faiss = _faiss()
        payload = faiss.serialize_index(self._index).tobytes()
        names = json.dumps(self.ids).encode()
        header = {"model_id": self.model_id, "stamp": stamp, "count": len(self.ids), "names": len(names)}
        head = json.dumps(header).encode() + b"\n"
        digest = hashlib.sha256(head)
        digest.update(names)
        digest.update(payload)
        with unfinished_file(path.parent) as unfinished:
            with unfinished.open("wb") as file:
                for part in (_MAGIC, digest.hexdigest().encode() + b"\n", head, names, payload):
                    file.write(part)
            os.replace(unfinished, path)

    @staticmethod
    def load(path: Path, model_id: str, stamp: str) -> VectorIndex | None:
        """None where the file is missing, damaged, or of another model or state of the database."""
        import numpy as np

        faiss = _faiss()
        try:
            with path.open("rb") as file:
                if file.read(len(_MAGIC)) != _MAGIC:
                    return None
                checksum = file.read(65)
                head = file.readline(_MAX_HEADER)
                rest = file.read()
        except OSError:
            return None
        digest = hashlib.sha256(head)
        digest.update(rest)
        if checksum != digest.hexdigest().encode() + b"\n":
            return None
        header = json.loads(head)
        if (header["model_id"], header["stamp"]) != (model_id, stamp):
            return None
        view = memoryview(rest)
        ids = json.loads(bytes(view[: header["names"]]))
        index = faiss.deserialize_index(np.frombuffer(view[header["names"] :], dtype=np.uint8))
        return VectorIndex(ids, index, model_id)


def database_index(database: Database, model_id: str, *, static_only: bool = False) -> VectorIndex:
    """The nests of a database by the vectors of a model; the cache is a file beside the database.

    With `static_only` by the vectors made without profiles. Raises optdb.errors.OptdbError.
    """
    from optdb.record_queries import embeddings

    def vectors() -> tuple[Sequence[str], Vectors]:
        found = embeddings(database, model_id, static_only=static_only)
        return found.nest_ids, found.vectors

    # Ids of embeddings are made of nest, model and profile, which determine the vector.
    count, state = database.rows(
        "SELECT count(*), bit_xor(hash(embedding_id)) FROM _store.embeddings WHERE model_id = ?", [model_id]
    )[0]
    path = database.path.with_name(f"{database.path.name}.{'static' if static_only else 'profiled'}.index")
    return open_index(path, model_id, f"{count}-{state}", vectors)


def open_index(
    path: Path, model_id: str, stamp: str, vectors: Callable[[], tuple[Sequence[str], Vectors]]
) -> VectorIndex:
    """The cached index, or, where it is stale or damaged, one made of `vectors()` (ids, float32 [n, d]) and cached.

    `stamp` names the state of the database the vectors come from. A folder that cannot be written costs time only.
    """
    known = VectorIndex.load(path, model_id, stamp)
    if known is not None:
        return known
    ids, matrix = vectors()
    built = VectorIndex.build(ids, matrix, model_id)
    with contextlib.suppress(OSError):
        built.save(path, stamp)
    return built


def _faiss() -> Any:
    """Its type hints lag behind its functions."""
    import faiss

    return faiss
