"""Training the embedding from shards: what it learns from, and what it must not see."""

from pathlib import Path

import duckdb
import pytest

import optdb
from perfembed.embedding.network.checkpoint import load_model
from perfembed.errors import UsageError
from perfembed.retrieval.space_training import train_embedding_model

DATA = Path(optdb.__file__).with_name("data")


def part(source: Path, target: Path, rows: int) -> Path:
    """The first rows of a shipped shard."""
    with duckdb.connect(":memory:") as connection:
        connection.execute(
            f"COPY (FROM read_parquet('{source}') ORDER BY nest_id LIMIT {rows}) TO '{target}' (FORMAT parquet)"
        )
    return target


@pytest.mark.campaign
def test_what_is_unfinished_goes_when_it_is_done(tmp_path: Path) -> None:
    profiles = part(DATA / "profiles" / "generated-7a.parquet", tmp_path / "profiles.parquet", 48)
    said: list[str] = []
    trained = load_model(train_embedding_model([profiles], 0, 1, tmp_path / "a", said.append))
    assert len(said) == 1 and trained.card["examples"] + trained.card["validation_examples"] <= 48
    assert [p.name for p in (tmp_path / "a").iterdir() if "unfinished" in p.name] == []


def test_nothing_to_train_on(tmp_path: Path) -> None:
    kernels = part(DATA / "profiles" / "kernels-11a.parquet", tmp_path / "kernels.parquet", 5)
    with pytest.raises(UsageError, match="no profiles to train on"):
        train_embedding_model([kernels], 0, 1, tmp_path, lambda text: None)
