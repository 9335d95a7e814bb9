"""The recorder of `sftui capture`: takes the first batches of a run as its model receives them, and ends the run there.

It runs inside the user's own processes, from Python 3.9 on, with nothing but the standard library and the torch that
is there; it imports nothing of sftui. What it finds goes as JSON into the private folder that SFTUI_CAPTURE names:

    wanted.json         what to take: batches, no_model, clip
    pids/PID            each Python of the run, with the time when it started; marks of how far it came
    batch-0000.json …   one batch each, in order
    head.json           the tokenizer and the versions
    done                written last: there is nothing more to come, and why

A batch is taken where a module is called in train mode, with gradients, on integer ids, and counts where a backward
pass then goes through what the module gave: a warm-up, a look at one batch or a teacher trains nothing. Optimizer.step
is never run: the step before which all ends is the first one. To end is `os._exit`, which no `except` and no `finally`
of the run can catch; what else belongs to the run is ended by whoever waits for it (`sftui.capture.running`).
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib.metadata
import itertools
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

STOPPED = 86
"""The exit code of a process that the recorder ends."""
PATIENCE = 600.0
"""Seconds after which a process of another rank no longer waits for the one that records."""
LEFT_ALONE = 10.0
"""Seconds after which a process that nobody ends does so itself."""
SLOW = 60.0
"""Seconds for which a data loader is waited for, where further batches are drawn from it."""
UNTRAINED = 4
"""How many times the batches that are wanted are held while no backward pass has shown which of them are trained."""

IDS = ("input_ids", "tokens", "idx", "token_ids")
LABELS = ("labels", "targets", "target", "target_ids", "target_tokens", "label_ids")
"""What ids and labels are called, as arguments of a model and as columns of a batch."""
LOSSES = ("cross_entropy", "nll_loss")
"""The functions of torch that take a loss of logits and targets, both with the same order of arguments."""
LENGTHS = ("seq_lens", "seq_lengths", "cu_seq_lens_q", "cu_seqlens")
"""What goes with a batch and is not along its ids: where the documents of a pack end."""
LIBRARIES = ("torch", "transformers", "tokenizers", "datasets", "accelerate", "peft", "deepspeed", "lightning")
"""Packages whose versions are reported where they were imported; those of trainers are named in what is wanted."""
RANKS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "LOCAL_RANK")
CONFIG_KEYS = ("revision", "trust_remote_code", "cache_dir", "token", "subfolder", "local_files_only")
"""What says where a model's config is."""
NOT_TRAINING = frozenset({"evaluation_loop", "prediction_loop", "evaluate", "predict"})
"""Functions of transformers' Trainer inside which a loader's batches are not those that are trained on."""


class CaptureOptions(NamedTuple):
    """What is to be taken: so many batches, from the model or from the data loader, each sequence cut to `clip`.
    `packages` are those of trainers; `goes_on`: the run trains, and is only looked at."""

    batches: int = 8
    no_model: bool = False
    clip: int | None = None
    packages: Sequence[str] = ()
    goes_on: bool = False


class LoaderState:
    """A data loader's iterator and the first batches that it gave, in order. `names` are its own names of what the
    model got, learned from a batch that both had; `targets` its name of what the loss took, and what that ignores."""

    def __init__(self, iterator: Any) -> None:
        self.iterator = iterator
        self.batches: list[dict[str, Any]] = []
        self.given = 0
        self.names: dict[str, str] = {}
        self.targets: tuple[str, int] | None = None


class TakenBatch:
    """A batch, where a loader gave it, whether a table of embeddings alone was called on it, and whether a backward
    pass went through what was made of it, or is over and did not."""

    def __init__(self, batch: dict[str, Any], place: tuple[LoaderState, int] | None, table: bool = False) -> None:
        self.batch = batch
        self.place = place
        self.table = table
        self.trained = False
        self.passed = False


class Recorder:
    """What one process sees of its run. `folder` is where it writes; `leave` ends the process."""

    def __init__(self, folder: str, wanted: CaptureOptions, leave: Callable[[], None] | None = None) -> None:
        self.folder = folder
        self.wanted = wanted
        self.leave = leave or _leave
        self.torch: Any = None
        self.taken: list[TakenBatch] = []
        self.loaded: list[LoaderState] = []
        self.trainer: str | None = None
        self.collators: list[Any] = []
        self.formatting: str | None = None
        self._mine: bool | None = None
        self._process = os.getpid()
        self._weights: dict[int, Any] = {}
        self._files: dict[int, tuple[int, bool]] = {}
        self.over = False  # there is nothing more to come
        self._ending = threading.Lock()
        self._inside = threading.local()
        self._undo: list[Callable[[], None]] = []
        self._guard: Callable[[], None] = lambda: None

    # --- which process records ----------------------------------------------------------------

    def records(self) -> bool:
        """Whether this process is the one that records: of rank 0, and the first to have a batch."""
        if self._mine is None:
            if self.rank() != 0:
                return False
            try:
                handle = os.open(os.path.join(self.folder, "recording"), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
                os.write(handle, str(os.getpid()).encode())
                os.close(handle)
                self._mine = True
                if not self.wanted.goes_on:
                    atexit.register(self.ended)
            except OSError:
                self._mine = False
        return self._mine

    def forked(self) -> None:
        """This process is a copy of the one that watched so far: it may become the one that records."""
        self._mine = None
        self._process = os.getpid()
        self.mark(f"python {started(self._process)}" + ("\ntorch" if self.torch is not None else ""))

    def rank(self) -> int:
        """The rank of this process in its run."""
        distributed = getattr(self.torch, "distributed", None)
        with contextlib.suppress(RuntimeError, ValueError, AttributeError):
            if distributed is not None and distributed.is_available() and distributed.is_initialized():
                return int(distributed.get_rank())
        for name in RANKS:
            value = os.environ.get(name, "")
            if value.isdigit():
                return int(value)
        return 0

    def watch_trainers(self, module: Any) -> None:
        """Note the function that makes texts of a dataset's rows: TRL's trainers and Unsloth's are given one
        (`formatting_func`), use it before transformers' Trainer begins, and keep it nowhere."""
        before = module.Trainer.__init__

        @functools.wraps(before)
        def begun(own: Any, *given: Any, **named: Any) -> None:
            functions = (frame.f_locals.get("formatting_func") for frame in _frames())
            found = next((one for one in functions if callable(one)), None)
            self.formatting = _kind(found) if found is not None else self.formatting
            before(own, *given, **named)

        module.Trainer.__init__ = begun

    # --- what is watched ----------------------------------------------------------------------

    def watch(self, torch: Any) -> None:
        """Put the hooks into a torch that has just been imported."""
        import torch.nn.functional as functional
        import torch.optim.optimizer as optimizer
        import torch.utils.data.dataloader as dataloader

        self.torch = torch
        self.mark("torch")
        self._watch_modules(torch.nn.Module)
        self._watch_loaders(dataloader._BaseDataLoaderIter)
        if not self.wanted.goes_on:
            self._watch_steps(optimizer.Optimizer)
        self._watch_loss(functional)
        if hasattr(torch, "compile") and not self.wanted.goes_on:
            self._watch_compile(torch)
        if self.wanted.no_model:
            when_imported("transformers.modeling_utils", self.leave_weights_out)

    def unwatch(self) -> None:
        """Take every hook out again."""
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()

    def _put(self, owner: Any, name: str, made: Any) -> Any:
        """Another attribute of a class or module, and how it goes back; what stood there."""
        original = getattr(owner, name)
        setattr(owner, name, made)
        self._undo.append(lambda: setattr(owner, name, original))
        return original

    def _compiling(self) -> Callable[[], bool]:
        """What tells whether torch.compile traces the code that runs, where this torch has it."""
        is_compiling = getattr(getattr(self.torch, "compiler", None), "is_compiling", None)
        return is_compiling if is_compiling is not None else bool  # `bool()` is False

    def _watch_modules(self, module_class: Any) -> None:
        original, compiling = module_class.__call__, self._compiling()

        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            if compiling():  # this very function is then traced, and must come to nothing
                return original(module, *args, **kwargs)
            taken: Any = False
            if not self.over and module.training and not getattr(self._inside, "model", False):
                taken = self.torch.is_grad_enabled() and self._surely(self.called, module, args, kwargs)
            if not taken:
                return original(module, *args, **kwargs)
            # While the model runs, no call of its parts goes through here: compilers trace them as they are.
            self._inside.model = True
            module_class.__call__ = original
            try:
                given = original(module, *args, **kwargs)
            finally:
                self._inside.model = False
                if not self.over:
                    module_class.__call__ = call
            if taken is not True and not self.over:
                self._surely(self.returned, module, taken, given)
            return given

        self._put(module_class, "__call__", call)

    def _watch_compile(self, torch: Any) -> None:
        """A training step that is compiled calls no model: its graph does. Functions that are compiled run as they are
        written, but for those that a model calls."""
        original, compiling = torch.compile, self._compiling()

        def compile_(model: Any = None, *args: Any, **kwargs: Any) -> Any:
            compiled = original(model, *args, **kwargs)
            if model is None or isinstance(model, torch.nn.Module) or not callable(compiled):
                return compiled

            @functools.wraps(compiled)
            def run(*given: Any, **named: Any) -> Any:
                if compiling() or getattr(self._inside, "model", False):
                    return compiled(*given, **named)
                return model(*given, **named)

            return run

        self._put(torch, "compile", compile_)

    def _watch_loaders(self, iterator_class: Any) -> None:
        original = iterator_class.__next__

        def following(iterator: Any) -> Any:
            batch = original(iterator)
            if not self.over:
                self._surely(self.gave, iterator, batch)
            return batch

        self._next = original
        self._put(iterator_class, "__next__", following)

    def _watch_steps(self, optimizer_class: Any) -> None:
        """Before any step of any optimizer. Each class whose optimizer is made gets its `step` guarded, also one that
        has a `step` of its own; and at each call of the model those that are there then, since a class need not run
        the `__init__` of torch's."""
        guarded: dict[Any, Any] = {}

        def guard(kind: Any) -> None:
            for one in kind.__mro__:
                step = one.__dict__.get("step")
                if step is None or step is guarded.get(one) or not callable(step):
                    continue

                def stop(optimizer: Any, *args: Any, _step: Any = step, **kwargs: Any) -> Any:
                    if self.over:  # another thread, or a handler at the end
                        self.leave()
                    if _wraps(optimizer, optimizer_class):
                        return _step(optimizer, *args, **kwargs)
                    closure = kwargs.get("closure", args[0] if args else None)
                    if callable(closure):  # the training step is made in it, and changes no weight by itself
                        self._inside.closure = True
                        with self.torch.enable_grad():
                            closure()
                    self._surely(self.stepping)
                    return _step(optimizer, *args, **kwargs)

                for name, value in getattr(step, "__dict__", {}).items():
                    setattr(stop, name, value)
                one.step = guarded[one] = stop
                self._undo.append(lambda one=one, step=step: setattr(one, "step", step))  # type: ignore[misc]

        def guard_all() -> None:
            kinds = [optimizer_class]
            while kinds:
                kind = kinds.pop()
                guard(kind)
                kinds += type.__subclasses__(kind)

        made = optimizer_class.__init__

        def init(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            made(optimizer, *args, **kwargs)
            guard(type(optimizer))

        self._put(optimizer_class, "__init__", init)
        self._guard = guard_all

    def _watch_loss(self, functional: Any) -> None:
        compiling = self._compiling()

        def watched(original: Any) -> Any:
            def loss(*args: Any, **kwargs: Any) -> Any:
                if not compiling() and not self.over and self.taken:
                    target = kwargs.get("target", args[1] if len(args) > 1 else None)
                    ignore = kwargs.get("ignore_index", args[4] if len(args) > 4 else -100)
                    self._surely(self.compared, target, ignore)
                return original(*args, **kwargs)

            return loss

        for name in LOSSES:
            if hasattr(functional, name):
                self._put(functional, name, watched(getattr(functional, name)))

    def leave_weights_out(self, modeling: Any) -> None:
        """Models of transformers are made from their config alone: of their weights only the shapes are there, which
        is enough for a run that never calls them."""
        torch = self.torch

        def from_pretrained(cls: Any, /, name: Any = None, *args: Any, config: Any = None, **kwargs: Any) -> Any:
            if config is None or isinstance(config, (str, os.PathLike)):
                named = {key: kwargs[key] for key in CONFIG_KEYS if key in kwargs}
                config = cls.config_class.from_pretrained(config or name, **named)
            dtype = kwargs.get("dtype", kwargs.get("torch_dtype"))
            settings = {"attn_implementation": kwargs.get("attn_implementation"), "dtype": dtype}
            given = {key: value for key, value in settings.items() if value not in (None, "auto")}
            with torch.device("meta"):
                model = cls._from_config(config, **given)
            model.name_or_path = str(name or "")
            return model

        self._put(modeling.PreTrainedModel, "from_pretrained", classmethod(from_pretrained))
        moved = torch.nn.Module._apply

        def apply(module: Any, *args: Any, **kwargs: Any) -> Any:
            if any(one.is_meta for one in module.parameters()):
                return module
            return moved(module, *args, **kwargs)

        self._put(torch.nn.Module, "_apply", apply)

    # --- what is seen -------------------------------------------------------------------------

    def called(self, module: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> TakenBatch | bool:
        """A module is called in train mode; whether it is the model, on ids, and the batch where it is a new one."""
        given = self._arguments(module, args, kwargs)
        name = self._ids_of(given)
        # What takes a loss is called on labels, too, and has no weights.
        if name is None or self.wanted.no_model or next(iter(module.parameters()), None) is None:
            return False
        table = isinstance(module, (self.torch.nn.Embedding, getattr(self.torch.nn, "EmbeddingBag", ())))
        batch = self._batch(given, name, "model")
        batch["module"] = type(_inner(module)).__name__
        if self._again(batch):
            return True
        place = self._place(batch)
        if table and place is None:  # positions, types, or whatever else is looked up
            return False
        if not self.records():
            return not table
        trained = [number for number, one in enumerate(self.taken) if one.trained]
        for number, one in enumerate(self.taken):
            self._complete(one)
            one.passed = not one.trained and bool(trained) and number < trained[-1]
        if self._enough():
            self.finish("enough")
            return True
        if not self.wanted.goes_on:
            self._guard()
            if self._changed(module):
                self.mark("updated")
                self.finish("updated")
                return True
        if len(self.taken) >= UNTRAINED * self.wanted.batches and not self._let_go():
            return True
        self.mark("forward")
        if self.trainer is None:
            self.trainer = _caller()
        taken = TakenBatch(batch, place, table)
        self.taken.append(taken)
        if len(self.taken) <= self.wanted.batches:
            self._write_all()  # whatever ends this process before anything more is known
        return taken

    def _again(self, batch: Mapping[str, Any]) -> bool:
        """Whether the model is only called again on the last batch: where a backward pass makes it anew, as activation
        checkpointing does, or a closure after the pass that the loop made by itself."""
        in_backward = getattr(self.torch._C, "_current_graph_task_id", None) if hasattr(self.torch, "_C") else None
        if not getattr(self._inside, "closure", False) and (in_backward is None or in_backward() == -1):
            return False
        ids = batch["tensors"]["input_ids"]
        return any(_equal(self.torch, one.batch["tensors"]["input_ids"], ids) for one in self.taken[-1:])

    def _let_go(self) -> bool:
        """There are many batches that no backward pass went through: where there are no others, they are the ones, and
        the run ends; whether it goes on."""
        if not any(one.trained for one in self.taken):
            self.finish("enough")
            return False
        self.taken = [one for one in self.taken if one.trained]
        return True

    def returned(self, module: Any, taken: TakenBatch, given: Any) -> None:
        """The model gave something: whatever goes back through it trains its batch."""

        def went_back(gradient: Any) -> None:
            if not self.over and not taken.trained:
                self._surely(self.trained, module, taken)

        for one in _tensors(self.torch, given):
            with contextlib.suppress(RuntimeError):  # one that needs no gradient, or that a transform of torch holds
                one.register_hook(went_back)

    def trained(self, module: Any, taken: TakenBatch) -> None:
        """A backward pass has begun to go through a batch. The last one that is wanted ends the run here."""
        taken.trained = True
        self._complete(taken)
        self._weights.setdefault(id(module), self._sampled(module))
        self._write_all()
        if self._enough():
            self.finish("enough")

    def _enough(self) -> bool:
        """Whether as many batches as are wanted are trained, and none before them may still be."""
        kept = [one for one in self.taken if not one.table and not one.passed][: self.wanted.batches]
        return len(kept) == self.wanted.batches and all(one.trained for one in kept)

    def _kept(self) -> list[TakenBatch]:
        """The batches that are trained, at most as many as are wanted; all, where no backward pass was seen."""
        ways = (
            [one for one in self.taken if one.trained and not one.table],
            [one for one in self.taken if one.trained],
            [one for one in self.taken if not one.table],
            self.taken,
        )
        return next((way for way in ways if way), [])[: self.wanted.batches]

    def _sampled(self, module: Any) -> Any:
        """What tells that weights were written to: how often, and the first number of each, since what is written by
        way of `.data` is not counted."""
        weights = [one for one in module.parameters() if getattr(one, "requires_grad", True)]
        counted = sum(getattr(one, "_version", 0) for one in weights)
        kinds = (self.torch.Tensor, getattr(self.torch.nn, "Parameter", None))
        by_device: dict[Any, list[Any]] = {}
        for one in weights:
            if type(one) in kinds and not one.is_meta and one.numel() and one.is_floating_point():
                by_device.setdefault(one.device, []).append(one.detach()[(0,) * one.dim()].float())
        return counted, [self.torch.stack(some).tolist() for some in by_device.values()]

    def _changed(self, module: Any) -> bool:
        """Whether the model's weights were written to since a backward pass first went through it, by something that is
        no torch optimizer."""
        before = self._weights.get(id(module))
        return before is not None and repr(before) != repr(self._sampled(module))

    def gave(self, iterator: Any, given: Any) -> None:
        """A data loader gave a batch."""
        held = next((one for one in self.loaded if one.iterator is iterator), None)
        if held is None:
            held = LoaderState(iterator)
            self.loaded.append(held)
            collator = getattr(iterator, "_collate_fn", None)
            for _ in range(8):  # transformers' Trainer puts one around it that leaves columns out
                collator = getattr(collator, "data_collator", None) or collator
            if collator is not None:
                self.collators.append(collator)
        held.given += 1
        named = self._columns(given)
        if len(held.batches) < held.given - 1 or len(held.batches) > self.wanted.batches + 1:
            return
        held.batches.append(named)
        inside = any(frame.f_code.co_name in NOT_TRAINING for frame in _frames())
        evaluating = not self.torch.is_grad_enabled() or inside
        if self.wanted.no_model and self._ids_of(named) is not None and not evaluating:
            if not self.records():
                self.wait()
            self.trainer = _caller()
            self.mark("loader")
            self._draw(held, 0)
            self.finish("loader")

    def stepping(self) -> None:
        """An optimizer is about to make its first step, which it never does."""
        if not self.records():
            self.wait()
        self.mark("step")
        self.finish("step")

    def compared(self, target: Any, ignore: Any) -> None:
        """A loss is taken of the last batch: its targets are the labels, where the model got none; else they say
        whether the loss moves the labels by one."""
        batch = self.taken[-1].batch
        if batch["from"] != "model" or "targets" in batch or "labels_from" in batch or not _whole(self.torch, target):
            return
        rows, length = batch["shapes"]["input_ids"]
        count = target.numel()
        if rows and count in (rows * length, rows * (length - 1)):
            batch["targets"] = target.detach().reshape(rows, count // rows).tolist()
            batch["ignore_index"] = int(ignore)

    # --- batches ------------------------------------------------------------------------------

    def _arguments(self, module: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """What a module is called with, by name."""
        if not args:
            return _opened(self.torch, kwargs)
        import inspect

        names: list[str] = []
        with contextlib.suppress(TypeError, ValueError, AttributeError):
            names = [*inspect.signature(_inner(module).forward).parameters]
        given = {names[i] if i < len(names) else f"argument {i}": value for i, value in enumerate(args)}
        return _opened(self.torch, {**given, **kwargs})

    def _ids_of(self, given: Mapping[str, Any]) -> str | None:
        """Which of some tensors are the ids: by name, else the first one of two dimensions that holds whole numbers."""
        for name in IDS:
            if name in given and _whole(self.torch, given[name]) and given[name].dim() in (1, 2):
                return name
        if any(name in given for name in ("hidden_states", "inputs_embeds")):
            return None
        first = next(iter(given.items()), None)
        if first is None or first[0] in LABELS or "mask" in first[0] or "position" in first[0]:
            return None
        return first[0] if _whole(self.torch, first[1]) and first[1].dim() == 2 else None

    def _batch(self, given: Mapping[str, Any], name: str, source: str) -> dict[str, Any]:
        """A batch as it is kept: its tensors along the ids as lists, by the names that sftui has for them."""
        ids = given[name]
        shape = [*ids.shape] if ids.dim() == 2 else [1, ids.shape[0]]
        tensors: dict[str, Any] = {}
        shapes: dict[str, list[int]] = {}
        names: dict[str, str] = {}
        for key, value in given.items():
            if not isinstance(value, self.torch.Tensor):
                continue
            ours = "input_ids" if key == name else "labels" if key in LABELS and "labels" not in names else key
            shapes[ours] = [*value.shape]
            if ours != key:
                names[ours] = key
            if ours in LENGTHS or [*value.shape] == [*ids.shape]:
                tensors[ours] = value.detach().to("cpu")
            elif "mask" in key and (numbers := self._documents(value.detach(), shape)) is not None:
                tensors["attention_mask"] = numbers
                names.update({"attention_mask": key} if key != "attention_mask" else {})
        shapes["input_ids"] = shape
        return {"from": source, "names": names, "shapes": shapes, "tensors": tensors}

    def _documents(self, mask: Any, shape: list[int]) -> Any:
        """Of a mask of each position against each other, in which one sees what is before it of its document, the
        number of the document at each position, 0 where it sees nothing; None for another tensor."""
        if mask.dim() not in (3, 4) or [mask.shape[0], *mask.shape[-2:]] != [shape[0], shape[1], shape[1]]:
            return None
        seen = self.torch.eq(mask, 0) if mask.is_floating_point() else self.torch.ne(mask, 0)
        seen = seen[:, 0] if mask.dim() == 4 else seen
        own, before = seen.diagonal(0, 1, 2).tolist(), seen.diagonal(-1, 1, 2).tolist()
        found: list[list[int]] = []
        for one, joined, count in zip(own, before, seen.sum((1, 2)).tolist()):
            starts = [bool(sees) and not (at and joined[at - 1]) for at, sees in enumerate(one)]
            numbers = [number if sees else 0 for number, sees in zip(itertools.accumulate(starts), one)]
            lengths = [numbers.count(number) for number in range(1, sum(starts) + 1)]
            if count != sum(length * (length + 1) // 2 for length in lengths):
                return None
            found.append(numbers)
        return self.torch.tensor(found)

    def _place(self, batch: Mapping[str, Any]) -> tuple[LoaderState, int] | None:
        """Which batch of which loader this is: the one of the same ids, or of ids that go one further; what the loader
        calls them is kept."""
        ids = batch["tensors"]["input_ids"]
        taken = [one.place for one in self.taken if one.place is not None]
        again = None
        for held in reversed(self.loaded):
            for number, given in enumerate(held.batches):
                first = self._ids_of(given)
                for name in dict.fromkeys((*([first] if first is not None else ()), *given)):
                    if not _whole(self.torch, given[name]):
                        continue
                    theirs = given[name].detach().to("cpu")
                    if _equal(self.torch, theirs, ids) or (
                        theirs.dim() == 2 and ids.dim() == 2 and _equal(self.torch, theirs[:, :-1], ids)
                    ):
                        held.names["input_ids"] = name
                        if (held, number) not in taken:
                            return held, number
                        again = again or (held, number)
        return again  # another model had it, too

    def _complete(self, taken: TakenBatch) -> None:
        """Give a batch the labels that only its loss, or only its loader, had."""
        batch, place = taken.batch, taken.place
        if batch["from"] != "model" or "labels_from" in batch:
            return
        tensors = batch["tensors"]
        targets = batch.pop("targets", None)
        if place is not None:
            self._learn(place, batch, targets)
        theirs = self._given(*place) if place is not None and "labels" not in tensors else None
        labels = (tensors if theirs is None else theirs["tensors"]).get("labels")
        if labels is not None and targets is not None:
            batch["loss_takes"] = _taken(labels.tolist(), targets, batch["ignore_index"])
        if "labels" in tensors:
            batch["labels_from"] = "model"
        elif labels is not None and theirs is not None:
            batch["labels_from"] = "loader"
            batch["names"].update({k: v for k, v in theirs["names"].items() if k == "labels"})
            for key, value in theirs["tensors"].items():
                if key == "input_ids" and [*value.shape] != [*tensors[key].shape]:
                    batch["shapes"]["model_input_ids"] = batch["shapes"]["input_ids"]
                    batch["shapes"][key] = [*value.shape]
                    tensors[key] = value
                else:
                    tensors.setdefault(key, value)
        elif targets is not None:
            batch["labels_from"] = "loss"
            batch["targets"] = targets
        else:
            batch["labels_from"] = None

    def _learn(self, place: tuple[LoaderState, int], batch: Mapping[str, Any], targets: Any) -> None:
        """What the loader calls the labels: a batch that is a tuple has no names, but what the model, or the loss, got
        of it is equal to one of its tensors."""
        held, given = place[0], place[0].batches[place[1]]
        labels, ids = batch["tensors"].get("labels"), held.names["input_ids"]
        tensors = {key: one for key, one in given.items() if isinstance(one, self.torch.Tensor)}
        nameless = {key: one for key, one in tensors.items() if key.replace(" ", "").isdigit()}
        for ours, value in batch["tensors"].items():
            same = [key for key, one in nameless.items() if _equal(self.torch, one, value)]
            if ours not in ("input_ids", "labels") and len(same) == 1:
                held.names[ours] = same[0]
        if any(name in given for name in LABELS):
            return
        for name, value in given.items():
            if not _whole(self.torch, value) or value.dim() != 2:
                continue
            theirs = value.detach().to("cpu")
            if labels is not None:
                if name != ids and _equal(self.torch, theirs, labels):
                    held.names["labels"] = name
            elif targets is not None and theirs[:, 1:].tolist() == targets:
                held.names["labels"] = name
            elif targets is not None and name != ids and theirs.tolist() == targets:
                held.targets = name, batch["ignore_index"]

    def _given(self, held: LoaderState, number: int) -> dict[str, Any] | None:
        """A batch as the loader gave it, by the names that the model has for its tensors; None where it has no ids."""
        given = held.batches[number]
        named = {ours: given[theirs] for ours, theirs in held.names.items() if theirs in given}
        used = {*held.names.values(), held.targets[0] if held.targets is not None else ""}
        named.update({key: value for key, value in given.items() if key not in used})
        name = self._ids_of(named)
        if name is None:
            return None
        batch = self._batch(named, name, "loader")
        batch["names"].update({ours: theirs for ours, theirs in held.names.items() if ours != theirs})
        if held.targets is not None and "labels" not in batch["tensors"] and held.targets[0] in given:
            batch["targets"] = given[held.targets[0]].detach().to("cpu").tolist()
            batch["ignore_index"] = held.targets[1]
        return batch

    def _draw(self, held: LoaderState, number: int) -> None:
        """Further batches of a loader, from this number on, until there are enough."""
        while len(self.taken) < self.wanted.batches:
            if number >= len(held.batches):
                try:
                    held.batches.append(self._columns(self._next(held.iterator)))
                except StopIteration:
                    return
                except Exception as error:  # the user's own collator
                    self.mark(f"loader raised {type(error).__name__}")
                    return
            batch = self._given(held, number)
            if batch is None:
                return
            seen = "labels" in batch["tensors"] or "targets" in batch
            batch["labels_from"] = "loader" if seen else None
            self.taken.append(TakenBatch(batch, (held, number)))
            number += 1

    def _columns(self, given: Any) -> dict[str, Any]:
        """A loader's batch by names, also where it is a dict or a tuple inside of another."""
        return _opened(self.torch, _named(given))

    # --- the end ------------------------------------------------------------------------------

    def finish(self, why: str) -> None:
        """Write everything and leave."""
        if not self.over:
            self._settle()
            last = self.taken[-1] if self.taken else None
            drawn = last is None or last.batch["from"] == "loader" or self.wanted.goes_on
            if last is not None and last.place is not None and not drawn:
                self._write_all()
                slow = threading.Timer(SLOW, self._end, (why, f"loader gave nothing for {SLOW:g} s"))
                slow.daemon = True
                slow.start()
                self._draw(last.place[0], last.place[1] + 1)
                slow.cancel()
            self._end(why)
        self.leave()

    def _settle(self) -> None:
        """Of what was taken so far the batches that are kept, and no more of them."""
        for one in self.taken:
            self._complete(one)
        self.taken = self._kept()
        self.over = True  # no other thread takes anything more

    def _end(self, why: str, mark: str = "") -> None:
        """There is nothing more to come: by whom it is said first."""
        with self._ending:
            self.over = True
            if not os.path.exists(os.path.join(self.folder, "done")):
                if mark:
                    self.mark(mark)
                self._write_all()
                self._write("done", {"why": why, "error": ""})

    def _write_all(self) -> None:
        """Write the batches that are kept so far, and the head: those that are written already stay."""
        kept = self.taken if self.over else self._kept()
        for number, one in enumerate(kept):
            state = id(one), "labels_from" in one.batch
            if self._files.get(number) != state:
                self._write(f"batch-{number:04d}.json", _plain(one.batch, self.wanted.clip))
                self._files[number] = state
        for number in [number for number in self._files if number >= len(kept)]:
            del self._files[number]
            with contextlib.suppress(OSError):
                os.remove(os.path.join(self.folder, f"batch-{number:04d}.json"))
        if self.over or not os.path.exists(os.path.join(self.folder, "head.json")):
            self._write("head.json", self.head())

    def ended(self) -> None:
        """The run ends by itself: what there is of it is written."""
        if not self.over and self.taken and self._process == os.getpid():
            self._settle()
            self._write_all()

    def _surely(self, look: Callable[..., Any], *given: Any) -> Any:
        """What a hook does; where it fails, the run ends there: nothing of the run may catch that and go on."""
        try:
            return look(*given)
        except Exception as error:
            self.over = True
            trace = error.__traceback__
            while trace is not None and trace.tb_next is not None:
                trace = trace.tb_next
            line = trace.tb_lineno if trace is not None else 0
            self._write("done", {"why": "failed", "error": f"{type(error).__name__} at line {line}: {error}"[:400]})
            self.leave()

    def head(self) -> dict[str, Any]:
        """What is known of the run besides its batches: no arguments, no environment."""
        return {
            "python": ".".join(map(str, sys.version_info[:3])),
            "versions": _versions((*LIBRARIES, *self.wanted.packages)),
            "trainer": self.trainer,
            "formatting": self.formatting,
            "collator": next((_kind(one) for one in self.collators), None),
            "tokenizer": _tokenizer(self.collators),
            "clip": self.wanted.clip,
        }

    def wait(self) -> None:
        """This process is of another rank: it does nothing more, until the one that records is done."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and os.path.isdir(self.folder):
            if os.path.exists(os.path.join(self.folder, "done")):
                break
            time.sleep(0.05)
        self.over = True
        self.leave()

    def mark(self, what: str) -> None:
        """Note how far this process came, for whoever has to say why nothing was captured."""
        path = os.path.join(self.folder, "pids", str(os.getpid()))
        with contextlib.suppress(OSError), open(path, "a", encoding="utf-8") as file:
            file.write(what + "\n")

    def _write(self, name: str, content: Any) -> None:
        """A file, whole or not at all, for nobody else to read."""
        path = os.path.join(self.folder, name)
        handle = os.open(path + ".part", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(content, file, ensure_ascii=True)
        os.replace(path + ".part", path)


# --- tensors ----------------------------------------------------------------------------------


def _whole(torch: Any, value: Any) -> bool:
    """Whether it is a tensor of whole numbers."""
    return isinstance(value, torch.Tensor) and value.dtype in (torch.int64, torch.int32)


def _equal(torch: Any, one: Any, other: Any) -> bool:
    return [*one.shape] == [*other.shape] and bool(torch.equal(one, other))


def _named(given: Any) -> dict[str, Any]:
    """A loader's batch by names: of a mapping its keys, of a tuple the places."""
    if isinstance(given, Mapping):
        return {str(key): value for key, value in given.items()}
    if hasattr(given, "_asdict"):
        return dict(given._asdict())
    if isinstance(given, (list, tuple)):
        return {str(number): value for number, value in enumerate(given)}
    if hasattr(given, "__dict__") and not hasattr(given, "dim"):
        return dict(vars(given))
    return {"0": given}


def _inner(module: Any) -> Any:
    """The model inside what distributes or compiles it."""
    for _ in range(8):
        inner = getattr(module, "_orig_mod", None) or getattr(module, "module", None)
        if inner is None or not hasattr(inner, "forward"):
            return module
        module = inner
    return module


def _wraps(optimizer: Any, optimizer_class: Any) -> bool:
    """Whether an optimizer was not made by torch's and holds one that was: it may let batches gather before that steps,
    as accelerate's does."""
    held = getattr(optimizer, "__dict__", {})
    return "param_groups" not in held and any(isinstance(one, optimizer_class) for one in held.values())


def _opened(torch: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments or columns, and what stands in those that are no tensors: a dict, a tuple, an object with ids."""
    opened: dict[str, Any] = {}
    for key, value in given.items():
        inner: Any = None
        if isinstance(value, Mapping) or hasattr(value, "_asdict"):
            inner = _named(value)
        elif isinstance(value, (list, tuple)) and any(isinstance(one, torch.Tensor) for one in value):
            inner = {f"{key} {number}": one for number, one in enumerate(value)}
        elif not isinstance(value, torch.Tensor) and any(name in IDS for name in getattr(value, "__dict__", ())):
            inner = dict(vars(value))
        for name, one in (inner if inner is not None else {key: value}).items():
            opened.setdefault(name, one)
    return opened


def _tensors(torch: Any, given: Any, depth: int = 2) -> Iterator[Any]:
    """The tensors that a model gave and that need a gradient."""
    if isinstance(given, torch.Tensor):
        if getattr(given, "requires_grad", False):
            yield given
        return
    if depth:
        inner = given.values() if isinstance(given, Mapping) else given if isinstance(given, (list, tuple)) else None
        for one in inner if inner is not None else getattr(given, "__dict__", {}).values():
            yield from _tensors(torch, one, depth - 1)


def _taken(labels: list[list[int]], targets: list[list[int]], ignore: int) -> str | None:
    """How the targets of a loss stand to the labels of the batch: the `next` label at each position, or the `same`."""
    rows = [*zip(labels, targets)]
    if all(target[: len(label) - 1] == label[1:] for label, target in rows):
        last = [target[len(label) - 1 :] for label, target in rows]
        if all(one in ([], [ignore]) for one in last):
            return "next"
    return "same" if labels == targets else None


def _plain(batch: Mapping[str, Any], clip: int | None) -> dict[str, Any]:
    """A batch with lists instead of tensors, each sequence cut to `clip`."""
    made, tensors = dict(batch), {}
    for name, value in batch["tensors"].items():
        rows = value.tolist()
        tensors[name] = [rows] if rows and not isinstance(rows[0], list) and name not in LENGTHS else rows
    if "targets" in made:
        tensors["targets"] = made.pop("targets")
    if clip is not None:
        tensors = {name: rows if name in LENGTHS else [row[:clip] for row in rows] for name, rows in tensors.items()}
    return {**made, "tensors": tensors}


# --- the run ----------------------------------------------------------------------------------


def _frames() -> Iterator[Any]:
    frame = sys._getframe(2)
    while frame is not None:
        yield frame
        frame = frame.f_back  # type: ignore[assignment]


def _caller() -> str | None:
    """The class whose training step this is, with its module; None for a loop written by hand."""
    found = None
    for frame in _frames():
        own = frame.f_locals.get("self")
        if own is not None and callable(getattr(type(own), "training_step", None)):
            found = own
    return _kind(found) if found is not None else None


def _kind(value: Any) -> str:
    kind = value if isinstance(value, type) or hasattr(value, "__code__") else type(value)
    return f"{getattr(kind, '__module__', '')}.{getattr(kind, '__qualname__', '')}".strip(".")


def _versions(names: Sequence[str]) -> dict[str, str]:
    """The versions of those packages that were imported."""
    found = {}
    for name in names:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            package = importlib.metadata.distribution(name)
            own = name.replace("-", "_")
            # As `swift` of ms-swift: a package may be imported by another name than it is installed by.
            listed = (package.read_text("top_level.txt") or own).split()
            if any(module in sys.modules for module in ([own] if own in listed else listed)):
                found[name] = package.version
    return found


def _tokenizer(collators: list[Any]) -> dict[str, Any] | None:
    """The tokenizer of the run: that of the collator, else the only one there is; None where that is not known."""
    base = getattr(sys.modules.get("transformers.tokenization_utils_base"), "PreTrainedTokenizerBase", None)
    if base is None:
        return None
    for collator in collators:
        for name in ("tokenizer", "processing_class", "processor"):
            own = getattr(collator, name, None)
            own = getattr(own, "tokenizer", own)
            if isinstance(own, base):
                return _about(own)
    import gc

    known: dict[Any, Any] = {}
    for one in gc.get_objects():
        try:
            if issubclass(type(one), base):  # isinstance asks the object, and some of torch warn when they are asked
                known.setdefault(getattr(one, "name_or_path", ""), one)
        except Exception:  # objects of others may raise at being looked at
            continue
    return _about(next(iter(known.values()))) if len(known) == 1 else None


def _about(tokenizer: Any) -> dict[str, Any]:
    template = getattr(tokenizer, "chat_template", None)
    return {
        "name": str(getattr(tokenizer, "name_or_path", "") or ""),
        "class": type(tokenizer).__name__,
        "length": len(tokenizer),
        "pad_id": getattr(tokenizer, "pad_token_id", None),
        "eos_id": getattr(tokenizer, "eos_token_id", None),
        "bos_id": getattr(tokenizer, "bos_token_id", None),
        "padding_side": getattr(tokenizer, "padding_side", None),
        "chat_template": template if isinstance(template, str) else None,
    }


def _leave() -> None:
    """Do nothing more until whoever waits for the run ends it: a launcher that saw this process end would go on, too.
    Where nobody does, end this process; no handler of the run is called."""
    until = time.monotonic() + LEFT_ALONE
    flushed = False
    while time.monotonic() < until:
        try:
            if not flushed:
                flushed = True
                for stream in (sys.stdout, sys.stderr):
                    with contextlib.suppress(Exception):  # a stream that is closed or full
                        stream.flush()
            time.sleep(until - time.monotonic())
        except BaseException:  # a handler of a signal raised: the run must not get it
            continue
    os._exit(STOPPED)


# --- how it starts ----------------------------------------------------------------------------


class _ImportHook:
    """Finds a module as ever, and tells when it has been imported."""

    def __init__(self, name: str, then: Callable[[Any], None]) -> None:
        self.name = name
        self.then = then
        self._looking = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self.name or self._looking:
            return None
        import importlib.util

        self._looking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._looking = False
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return spec
        loader = spec.loader
        execute = loader.exec_module

        def exec_module(module: Any) -> None:
            with contextlib.suppress(AttributeError):
                del loader.exec_module
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            execute(module)
            self.then(module)

        loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def when_imported(name: str, then: Callable[[Any], None]) -> None:
    """Call `then` with a module as soon as it is there: now, or right after it was imported."""
    if name in sys.modules:
        then(sys.modules[name])
    else:
        sys.meta_path.insert(0, _ImportHook(name, then))


def begin(folder: str) -> Recorder | None:
    """Watch this process from its start on; None where the folder is gone. A run that is over goes no further."""
    try:
        with open(os.path.join(folder, "wanted.json"), encoding="utf-8") as file:
            wanted = CaptureOptions(**json.load(file))
    except (OSError, ValueError, TypeError):
        return None
    if os.path.exists(os.path.join(folder, "done")):
        os._exit(STOPPED)
    recorder = Recorder(folder, wanted)
    recorder.mark(f"python {started(os.getpid())}")
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=recorder.forked)
    when_imported("torch", lambda torch: recorder._surely(recorder.watch, torch))
    when_imported("transformers.trainer", lambda module: recorder._surely(recorder.watch_trainers, module))
    return recorder


def started(pid: int) -> str:
    """When a process started, as Linux counts it, so that its number alone is not believed; empty for one that has
    ended, and elsewhere."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return "" if fields[0] in ("Z", "X") else fields[19]
    except (OSError, IndexError):
        return ""
