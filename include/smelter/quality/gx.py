"""Great Expectations as this room uses it: loaded at the least cost, with a context that is quiet and in memory."""

from __future__ import annotations

import gc
import importlib
import os
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

_UNUSED = ("scipy.stats", "altair")  # imported for expectations and pictures that are not ours: 0.9 of 2.1 CPU-s


def great_expectations() -> Any:
    """The library. Loading it costs 1.2 CPU-seconds beside Spark and PyIceberg, and nothing the second time."""
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    # Said while it is imported, perhaps in a thread: filters that are put back are not for threads.
    warnings.filterwarnings("ignore", message="module 'sre_", category=DeprecationWarning)
    with _no_collection(), _later(*_UNUSED):
        import great_expectations as library
        import great_expectations.expectations

    return library


def warm_up() -> threading.Thread:
    """Import Great Expectations beside whatever else is to be done, such as starting Spark; nobody need wait for it."""
    thread = threading.Thread(target=great_expectations, name="great-expectations", daemon=True)
    thread.start()
    return thread


def new_context() -> Any:
    """A context in memory that asks nobody, counts nothing and draws no bar."""
    gx = great_expectations()
    from great_expectations.data_context.types.base import (
        DataContextConfig,
        InMemoryStoreBackendDefaults,
        ProgressBarsConfig,
    )

    defaults = InMemoryStoreBackendDefaults(init_temp_docs_sites=False)  # no report but the lake's
    bars = ProgressBarsConfig(globally=False, metric_calculations=False)
    words = DataContextConfig(store_backend_defaults=defaults, progress_bars=bars, analytics_enabled=False)
    return gx.get_context(mode="ephemeral", project_config=words)


@contextmanager
def quiet() -> Iterator[None]:
    """Its own warnings are about itself: they must not reach whoever reads about data."""
    with warnings.catch_warnings(action="ignore"):
        yield


class _Later(ModuleType):
    """Stands for a module that nobody may need, and becomes it when one of its names is asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what the import itself looks at
            raise AttributeError(name)
        self.give_way()
        return getattr(importlib.import_module(self.__name__), name)

    def give_way(self) -> None:
        """From now on an import finds the real one."""
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]


@contextmanager
def _later(*modules: str) -> Iterator[None]:
    """Whoever imports one of these meanwhile gets it when it is used; afterwards imports are as they were."""
    waiting = [_Later(name) for name in modules if name not in sys.modules]
    sys.modules.update({one.__name__: one for one in waiting})
    try:
        yield
    finally:
        for one in waiting:
            one.give_way()


@contextmanager
def _no_collection() -> Iterator[None]:
    """What an import makes, stays: looking for garbage in it is a sixth of the cost (1.55 CPU-s, and 1.26 without)."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
