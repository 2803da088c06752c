"""What searches of a nest came to, here or on the nearest other machine."""

from pathlib import Path

from tests.campaigns.database.synthetic import nest
from tests.evaluation.long_searches import LongSearch, SearchEffort, long_search
from tests.optdb.support import BASE, MACHINE, empty, measurement, one, replace, store

SOURCE, NEST, CONDITIONS, RUN = BASE


def test_the_winners_and_what_a_search_spent_on_each_of_its_nests(tmp_path: Path) -> None:
    source, second, conditions, _ = nest(1)
    schedules = [measurement(NEST, CONDITIONS, RUN, i)[0] for i in range(8)]
    verified = [one(i, samples=(9.0 - i, 10.0), baseline=(8.0,)) for i in range(6)]
    unverified = one(6, samples=(1.0, 2.0), baseline=(8.0,), verified=False, verified_on=())
    wrong = one(7, outcome="wrong_result", samples=(), verified=False, verified_on=())
    later = [measurement(second, conditions, RUN, i) for i in range(3)]
    with empty(tmp_path / "a.db") as database:
        assert long_search(database, NEST.nest_id, CONDITIONS, MACHINE.cpu_model) is None
        store(database, MACHINE, *BASE, *schedules, *verified, unverified, wrong)
        store(database, source, second, conditions)
        late = (replace(m, measured_at=RUN.started_at + 100 + i) for i, (_, m) in enumerate(later))
        store(database, *(s for s, _ in later), *late)
        first = long_search(database, NEST.nest_id, CONDITIONS, MACHINE.cpu_model)
        fastest = tuple(schedules[i].text for i in (5, 4, 3, 2, 1))
        assert first == LongSearch(MACHINE.machine, SearchEffort(7.0, 8), fastest)
        other = long_search(database, second.nest_id, conditions, MACHINE.cpu_model)
        assert other is not None and other.effort == SearchEffort(95.0, 3)
        assert long_search(database, second.nest_id, replace(conditions, threads=77), MACHINE.cpu_model) is None


def test_another_machine_stands_in_and_one_of_the_same_cpu_first(tmp_path: Path) -> None:
    found = {}
    with empty(tmp_path / "a.db") as database:
        store(database, MACHINE, *BASE)
        for letter, cpu, candidates in (("a", "that", 1), ("b", "another", 3)):
            machine = replace(MACHINE, machine=letter * 16, cpu_model=cpu)
            elsewhere = replace(CONDITIONS, machine=machine.machine, compiler_version="gcc 99")
            measured = [measurement(NEST, elsewhere, RUN, i) for i in range(candidates)]
            store(database, machine, elsewhere, *(record for pair in measured for record in pair))
        for cpu in ("that", "a third"):
            search = long_search(database, NEST.nest_id, CONDITIONS, cpu)
            found[cpu] = search and search.machine[0]
        assert found == {"that": "a", "a third": "b"}
        store(database, *measurement(NEST, CONDITIONS, RUN, 0))
        here = long_search(database, NEST.nest_id, CONDITIONS, "that")
        assert here is not None and here.machine == CONDITIONS.machine
