"""A Slurm job array of shards, as a script for `sbatch`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

_TEMPLATE = """\
#!/bin/bash
#SBATCH --job-name=perfembed
#SBATCH --array=1-{shards}
#SBATCH --exclusive
#SBATCH --nodes=1
#SBATCH --ntasks=1
# sbatch THIS-FILE        fills a database in each task; sent again, they go on where they were
# bash THIS-FILE merge    afterwards: makes one of them
set -u
cd {directory} || exit 1
if [ "${{1-}}" = merge ]; then
    exec perfembed db import --db {database} {folder}/shard-*.duckdb
fi
SHARD="${{SLURM_ARRAY_TASK_ID:?start this script with sbatch}}"
mkdir -p {folder} || exit 1
exec {command} --shard "$SHARD/{shards}" --db {folder}/shard-"$SHARD".duckdb{files}
"""


def sbatch_script(
    command: Sequence[str], files: Sequence[str], shards: int, folder: str, database: str, directory: str
) -> str:
    """`command` with `files` in `shards` tasks, started in `directory`; each has a database in `folder`."""
    return _TEMPLATE.format(
        shards=shards,
        folder=shlex.quote(folder),
        database=shlex.quote(database),
        directory=shlex.quote(directory),
        command=shlex.join(command),
        files=f" -- {shlex.join(files)}" if files else "",
    )
