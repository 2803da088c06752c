"""Training the embedding from shards: what it learns from, and what it must not see."""

from pathlib import Path

import duckdb
import pytest

import optdb
from perfembed.embedding.network.checkpoint import load_model
from perfembed.errors import UsageError
from perfembed.retrieval.donors import SEED, read_donors
from perfembed.retrieval.space_training import train_embedding_model

DATA = Path(optdb.__file__).with_name("data")


def part(source: Path, target: Path, rows: int) -> Path:
    """The first rows of a shipped shard."""
    with duckdb.connect(":memory:") as connection:
        connection.execute(
            f"COPY (FROM read_parquet('{source}') ORDER BY nest_id LIMIT {rows}) TO '{target}' (FORMAT parquet)"
        )
    return target


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("shards")
    return (
        part(DATA / "profiles" / "generated-7a.parquet", folder / "profiles.parquet", 48),
        part(SEED / "beam-1.parquet", folder / "donors.parquet", 24),
    )


@pytest.mark.campaign
def test_donors_whose_schedules_are_alike_change_the_model(shards: tuple[Path, Path], tmp_path: Path) -> None:
    profiles, donors = shards
    said: list[str] = []
    plain = load_model(train_embedding_model([profiles], 0, 1, tmp_path / "a", said.append))
    pulled = load_model(train_embedding_model([profiles], 0, 1, tmp_path / "b", said.append, [donors], 0.5))
    assert plain.model_id != pulled.model_id and len(said) == 2
    assert not plain.card["similarity"] and pulled.card["similarity"]
    more = pulled.card["examples"] - plain.card["examples"]
    assert 0 < more <= len(read_donors([donors]))
    assert [p.name for p in (tmp_path / "b").iterdir() if "unfinished" in p.name] == []


def test_nothing_to_train_on(tmp_path: Path) -> None:
    kernels = part(DATA / "profiles" / "kernels-11a.parquet", tmp_path / "kernels.parquet", 5)
    with pytest.raises(UsageError, match="no profiles to train on"):
        train_embedding_model([kernels], 0, 1, tmp_path, lambda text: None)
