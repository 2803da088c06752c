"""What tuning a file needs besides the file: the machine's rates, models and donors; each loaded once, when needed."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perfembed.errors import PerfembedError
from perfembed.measuring.target import compiled_target, known_rates, last_cache_bytes, measured_rates
from perfembed.tuning.inputs import NestInputs
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.result import Event, Message
from profilers.build import CompilerConfig
from profilers.contained.errors import ProfilersError
from profilers.machine import Machine
from profilers.rates import StreamRates
from scheduler.frontend import SourceFile

if TYPE_CHECKING:
    from perfembed.retrieval.retrieve import Retrieval
    from perfembed.tuning.profiled import Profiler
    from perfembed.tuning.recorder import Recorder
    from scheduler.cost.problem import CostModel
    from scheduler.cost.surrogate import SurrogateClassifier
    from scheduler.machine.target import Target

_RATES_S = 15.0  # of the budget have to be left for measuring the machine's rates


class Resources:
    """Of one run of `tune`."""

    def __init__(
        self,
        options: TuneOptions,
        machine: Machine,
        compiler: CompilerConfig,
        environment: Mapping[str, str],
        scratch: Path,
        progress: Callable[[Event], None],
    ) -> None:
        self.options = options
        self.machine = machine
        self.compiler = compiler
        self.environment = environment
        self.scratch = scratch
        self.progress = progress
        self.rates: StreamRates | None = None
        self._model: CostModel | None = None
        self._retrieval: Retrieval | None = None
        self._retrieving = threading.Lock()
        self._loading: threading.Thread | None = None

    def learn_rates(self, found: Sequence[NestInputs], version: str, left_s: float) -> None:
        """What is known of the machine's memory; measured the first time that a nest's data are in no cache.

        Here nothing else of ours runs: the lock is held, the program has run, no candidate compiles yet. It takes a
        second, once for a machine, a compiler and a number of threads; only what it is needed for waits for it.
        """
        folder, threads = self.options.cache, self.options.threads
        self.rates = known_rates(folder, self.machine, version, threads)
        large = any(inputs.captured.total_bytes > last_cache_bytes(self.machine) for inputs in found)
        if self.rates is None and folder is not None and large and left_s > _RATES_S:
            if self._loading is not None:
                self._loading.join()  # it would count as a slower machine
            self.rates = measured_rates(
                folder,
                self.machine,
                self.options.cc,
                self.environment,
                self.scratch / "rates",
                threads,
                lambda text: self.progress(Message(text)),
            )

    def recorder(self, sources: Sequence[SourceFile]) -> Recorder | None:
        """Where measurements go; that others have the database open is no reason not to tune.

        Raises DatabaseProblem where it is damaged, or none.
        """
        if self.options.database is None:
            return None
        from perfembed.tuning.recorder import Recorder  # here, not above: only runs with a database need DuckDB

        recorder = Recorder(self.options, sources, self.machine)
        if recorder.problem:
            self.progress(Message(f"warning: what is measured is not stored: {recorder.problem}", loud=True))
            return None
        return recorder

    def target(self, compiler: CompilerConfig | None = None) -> Target:
        """For what is compiled so (None: like most)."""
        compiler = compiler or self.compiler
        return compiled_target(self.machine, self.options.threads, compiler, self.environment, self.rates)

    def model(self) -> CostModel:
        """Loaded once, where it is needed. Raises EnvironmentMissing without weights."""
        if self._model is None:
            from perfembed.learning.cost_models import load_cost_model, own_weights  # here, not above: a slow import

            self._model = load_cost_model(folder=own_weights(self.options.weights))
        return self._model

    def classifier(self) -> SurrogateClassifier:
        """Loaded where it is needed. Raises EnvironmentMissing without weights."""
        from perfembed.learning.surrogate import load_classifier, own_classifier

        return load_classifier(own_classifier(self.options.weights))

    def profiler(self) -> Profiler | None:
        """What tells whether a nest is profiled before donors are looked for; None where nothing is."""
        if self.options.search != "transfer" or self.options.profiling == "never":
            return None
        from perfembed.tuning.profiled import Profiler  # here, not above: a slow import
        from profilers.backends import choose

        return Profiler(self.options.profiling, choose("auto", self.environment), self.machine, self.environment)

    def prepare(self) -> None:
        """Begins to load what candidates come from; what is wrong with it is said where it is needed."""

        def load() -> None:
            with contextlib.suppress(PerfembedError, OSError, ProfilersError, RuntimeError, MemoryError):
                self.retrieval()  # RuntimeError: nobody needed it, and the interpreter ends

        if self.options.search == "transfer":
            self._loading = threading.Thread(target=load)
            self._loading.start()

    def retrieval(self) -> Retrieval:
        """Opened once, where it is needed. Raises EnvironmentMissing without weights or donors."""
        with self._retrieving:
            return self._opened()

    def _opened(self) -> Retrieval:
        if self._retrieval is None:
            from perfembed.retrieval.families import LeftOut
            from perfembed.retrieval.retrieve import open_retrieval  # here, not above: a slow import

            options = self.options
            database = Path(options.database) if options.database is not None else None
            self._retrieval = open_retrieval(
                self.target(),
                database,
                k=options.neighbours,
                without_algorithms=LeftOut(options.without),
                same=options.same,
                weights=options.weights,
            )
        return self._retrieval
