"""A dataset of the Hugging Face Hub, by the real `datasets.load_dataset`."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from sftui.errors import SourceError
from sftui.model import Row
from sftui.sources.files import choose_split, unknown
from sftui.sources.records import row_of
from sftui.sources.source import CountedSource, Loading, SourceSpec


class HubSource(CountedSource):
    """Rows of a loaded `datasets.Dataset`, which is memory-mapped from the cache."""

    loading = Loading("hub", None, "datasets.load_dataset(paths[0], **DATASET)")

    def __init__(self, dataset: Any, title: str, *, row_limit: int, notes: tuple[str, ...] = ()) -> None:
        self.title = title
        self._dataset, self._count = dataset, len(dataset)
        self._notes = notes
        self._row_limit = row_limit

    def columns(self) -> tuple[str, ...]:
        return tuple(self._dataset.column_names)

    def _read(self, index: int, where: str) -> Row:
        try:
            data = dict(self._dataset[index])
        except Exception as error:  # a feature decoder (image, audio) may raise anything
            return Row(index, None, "", where, 0, f"{where} cannot be decoded: {error}")
        return row_of(data, index, where, self._row_limit)

    @property
    def cached(self) -> tuple[str, ...]:
        return tuple(str(entry["filename"]) for entry in getattr(self._dataset, "cache_files", None) or ())

    def close(self) -> None:
        super().close()
        self._dataset = ()


def open_hub(name: str, spec: SourceSpec, said: tuple[str, ...] = ()) -> HubSource:
    """Load a Hub dataset, or a cloned one; every way it can fail is a SourceError with what to do.

    Code of the dataset repository is never run: `datasets` 4 and later cannot. Without a split it
    is train, or the first there is. `said`: notes on what it requests.
    """
    from sftui.hub import trouble

    found = None if os.path.exists(name) else trouble(name, spec.revision, "datasets")
    if found is not None and not _cached(name):  # the client would look for long, and loading it takes seconds
        raise _refused(name, spec, found.kind, found.why, found.fix)
    import datasets

    logged: list[str] = []
    try:
        with _quiet(datasets, logged), _offline(datasets) if found is not None and found.silent else nullcontext():
            loaded = datasets.load_dataset(name, spec.subset, split=spec.split, revision=spec.revision)
    except Exception as error:  # distinguished by type below; anything unknown is shown as it is
        if found is not None:
            raise _refused(name, spec, found.kind, found.why, found.fix) from error
        raise explain(error, name, spec) from error
    notes = [*said]
    if any("cached version" in line for line in logged):
        doubt = f", so it may not be revision {spec.revision}" if spec.revision else ""
        notes.append(f"{name} is the copy in the local cache, because the Hub did not return it{doubt}")
    split = spec.split
    if isinstance(loaded, dict):
        splits = tuple(map(str, loaded))
        split = choose_split(splits, None, name)
        if len(splits) > 1:
            notes.append(f"split {split} of {', '.join(splits)}")
        loaded = loaded[split]
    if not len(loaded):
        raise SourceError(f"split {split} has no rows", where=name)
    subset = f" ({spec.subset})" if spec.subset else ""
    return HubSource(loaded, f"{name}{subset} {split}", row_limit=spec.row_limit, notes=tuple(notes))


def _refused(name: str, spec: SourceSpec, kind: str, why: str = "", fix: str = "") -> SourceError:
    """What the Hub said, or did not, as an error; `kind` as of `Trouble`."""
    if kind == "missing":
        why = "no local path has this name, and the Hub has no such dataset, or it is private"
        return SourceError("cannot be found", where=name, why=why, fix="check the spelling, or run `hf auth login`")
    if kind == "revision":
        return SourceError(f"has no revision {spec.revision}", where=name, fix="name a branch, a tag or a commit")
    what = "is a gated dataset" if kind == "gated" else "is not a local path and cannot be opened as a Hub dataset"
    return SourceError(what, where=name, why=why, fix=fix)


def _cached(name: str) -> bool:
    """Whether anything of a dataset may be in the local caches."""
    from huggingface_hub import constants

    made = os.environ.get("HF_DATASETS_CACHE") or os.path.join(constants.HF_HOME, "datasets")
    folders = (
        os.path.join(constants.HF_HUB_CACHE, f"datasets--{name.replace('/', '--')}"),
        os.path.join(made, name.replace("/", "___")),
        os.path.join(made, name.replace("/", "___").lower()),
    )
    return os.path.exists(name) or any(map(os.path.isdir, folders))


@contextmanager
def _quiet(datasets: Any, said: list[str]) -> Iterator[None]:
    """Keep progress bars and log lines off the terminal; what is logged goes to `said`."""
    from huggingface_hub import constants, utils

    logger = logging.getLogger("datasets")
    handlers, propagate = logger.handlers[:], logger.propagate
    collector = logging.Handler()
    collector.emit = lambda record: said.append(" ".join(record.getMessage().split()))  # type: ignore[method-assign]
    hub = logging.getLogger("huggingface_hub")
    hub_level = hub.level
    shown = [] if datasets.are_progress_bars_disabled() else [datasets]
    if constants.HF_HUB_DISABLE_PROGRESS_BARS is None and not utils.are_progress_bars_disabled():
        shown.append(utils)
    for package in shown:
        package.disable_progress_bars()
    logger.handlers, logger.propagate = [collector], False
    hub.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.handlers, logger.propagate = handlers, propagate
        hub.setLevel(hub_level)
        for package in shown:
            package.enable_progress_bars()


@contextmanager
def _offline(datasets: Any) -> Iterator[None]:
    """The local cache alone: where the Hub does not answer its client tries for 24 s and more."""
    from huggingface_hub import constants

    before = (constants.HF_HUB_OFFLINE, datasets.config.HF_HUB_OFFLINE)
    constants.HF_HUB_OFFLINE = datasets.config.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE, datasets.config.HF_HUB_OFFLINE = before


def explain(error: Exception, name: str, spec: SourceSpec) -> SourceError:
    """What `load_dataset` raised, as one sentence with what to do.

    The types overlap (DatasetNotFoundError is raised for a gated, a missing and a wrong-revision
    dataset alike), so the wording of datasets/load.py decides between them.
    """
    if type(error).__name__ == "DatasetGenerationError" and isinstance(error.__cause__, Exception):
        error = error.__cause__  # the outer one says only that something went wrong
    text = " ".join(str(error).split())
    if isinstance(error, ValueError) and "nknown split" in text:
        if not (splits := _listed(text)):
            return SourceError(f"has no split {spec.split}", where=name, why=text)
        return unknown("split", spec.split, splits, name)
    if isinstance(error, ValueError) and "BuilderConfig" in text and "not found" in text:
        return unknown("subset", spec.subset, _listed(text.partition("vailable")[2]), name)
    if isinstance(error, ValueError) and "Config name is missing" in text:
        subsets = _listed(text)
        return SourceError("has several subsets", where=name, fix=f"name one with --subset: {', '.join(subsets)}")
    if "scripts are no longer supported" in text or "trust_remote_code" in text:
        why = "it is a loading script, and sftui runs no code from a dataset repository"
        return SourceError("cannot be opened", where=name, why=why, fix="use a version converted to Parquet")
    if isinstance(error, ConnectionError) or "ffline" in type(error).__name__ or "offline mode" in text.lower():
        why = "the Hub cannot be reached (offline?) and it is not in the local cache"
        return _refused(name, spec, "silent", why, "go online, or give a local file or folder")
    if "gated" in text:
        fix = f"request access at https://huggingface.co/datasets/{name} and run `hf auth login`"
        return _refused(name, spec, "gated", "access must be granted first", fix)
    if "Revision" in text and "exist" in text:
        return _refused(name, spec, "revision")
    if isinstance(error, FileNotFoundError):
        if "data file" in text and "exist on the Hub" not in text:
            return SourceError("has no data files that datasets can read", where=name, why=text)
        return _refused(name, spec, "missing")
    return SourceError("cannot be loaded", where=name, why=f"{type(error).__name__}: {text[:300]}".rstrip("."))


def _listed(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"'([^']+)'", text.partition("[")[2].partition("]")[0]))
