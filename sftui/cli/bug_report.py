"""`sftui bug-report`: what a maintainer asks for first, as Markdown to paste; no row of the data is read for it."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sftui.errors import SftuiError
from sftui.exports.redacted import redacted_sentence, redacted_value

if TYPE_CHECKING:
    from sftui.recipe import Recipe
    from sftui.session.options import OpenOptions
    from sftui.trainers.config import OpenedConfig

HEAD = "<!-- Written by `sftui bug-report`. It contains no row of your data; read it before you paste it. -->"
OPTIONAL = ("gigatoken", "orjson", "sentencepiece", "tiktoken", "protobuf", "mistral-common", "torch")
"""Packages that are not required and change what sftui does."""
TERMINAL = ("TERM", "COLORTERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "LANG", "LC_ALL")
"""Variables that say what the terminal is."""
NAMED = re.compile(r"HF_\w+|SFTUI_\w+|TOKENIZERS_PARALLELISM|NO_COLOR|TMUX|STY|SSH_CONNECTION|WSL_DISTRO_NAME|CI")
"""Variables of which the name alone is printed."""


def bug_report(**given: Any) -> int:
    """Print the report; whatever of it is not known says why in its place. The Hub is not queried."""
    named = sorted(name for name in os.environ if NAMED.fullmatch(name))
    os.environ["HF_HUB_OFFLINE"] = "1"  # before anything is imported that reads it
    from sftui.cli.opening import arguments

    words = tuple(_words(given))
    options: OpenOptions | None = None

    def opened() -> Iterator[str]:
        nonlocal options
        options = arguments(given).options()[0]
        yield from _recipe(options)

    sections: dict[str, Callable[[], Iterable[str]]] = {
        "Versions": _versions,
        "Terminal and environment": lambda: _terminal(named),
        "Settings": _settings,
        "Recipe": opened,
        "Tokenizer and engine": lambda: _engine(options),
    }
    click.echo(HEAD)
    for title, lines in sections.items():
        # Each by itself and at once, so that what comes before a crash is there.
        click.echo(f"\n### {title}\n")
        for line in _guarded(lines, words):
            click.echo(line)
        sys.stdout.flush()
    return 0


def _guarded(lines: Callable[[], Iterable[str]], words: Iterable[str]) -> Iterator[str]:
    """The lines, and behind them what stopped them."""
    try:
        yield from lines()
    except SftuiError as error:
        yield f"- fails with {type(error).__name__}: {redacted_sentence(str(error), words)}"
    except Exception as error:
        # Without its message, which may quote anything.
        yield f"- fails with {type(error).__name__} at {_innermost(error)}"


def _innermost(error: BaseException) -> str:
    """Where an error was raised: the last places in sftui, and beyond them."""
    package = Path(__file__).resolve().parents[1]
    places = []
    for frame in traceback.extract_tb(error.__traceback__):
        file = Path(frame.filename)
        name = str(file.relative_to(package.parent)) if file.is_relative_to(package) else file.name
        places.append(f"{name}:{frame.lineno} {frame.name}")
    return " ← ".join(reversed(places[-4:]))


def _words(given: Mapping[str, Any]) -> Iterator[str]:
    """Every text of the command line, which may be a path."""
    for value in given.values():
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, str):
                yield one
                yield one.partition("=")[2]


def _versions() -> Iterator[str]:
    import sftui
    from sftui.trainers import traits_of
    from sftui.trainers.verify.session import verified

    trainers = (traits_of(name).package or name for name in verified())
    kind = "virtual environment" if sys.prefix != sys.base_prefix else "no virtual environment"
    conda = ", conda" if os.environ.get("CONDA_PREFIX") else ""
    yield f"- sftui {sftui.__version__}"
    yield f"- {platform.python_implementation()} {platform.python_version()}, {kind}{conda}"
    yield f"- {platform.platform()}, {os.cpu_count()} processors"
    yield f"- required: {', '.join(_found(_required()))}"
    yield f"- optional: {', '.join(_found(OPTIONAL))}"
    yield f"- trainers here: {', '.join(_found(trainers))}"


def _required() -> list[str]:
    """The packages that sftui says it needs."""
    with contextlib.suppress(metadata.PackageNotFoundError):
        needed = [one for one in metadata.requires("sftui") or () if "extra ==" not in one]
        return list(dict.fromkeys(name[0] for one in needed if (name := re.match(r"[\w.-]+", one)) is not None))
    return ["textual", "transformers", "datasets", "tokenizers", "pyarrow", "numpy"]


def _found(packages: Iterable[str]) -> Iterator[str]:
    for package in packages:
        try:
            yield f"{package} {metadata.version(package)}"
        except metadata.PackageNotFoundError:
            yield f"{package} none"


def _terminal(named: Iterable[str]) -> Iterator[str]:
    yield from (f"- {name}={redacted_value(os.environ[name])}" for name in TERMINAL if name in os.environ)
    columns, lines = shutil.get_terminal_size((0, 0))
    seen = [name for name in ("stdin", "stdout", "stderr") if (stream := getattr(sys, name)) and stream.isatty()]
    size = f"{columns}x{lines}" if columns else "size unknown"
    yield f"- {size}, {', '.join(seen) or 'nothing'} on a terminal, encoding {sys.stdout.encoding}"
    yield f"- set: {', '.join(named) or 'none that matter'}"


def _settings() -> Iterator[str]:
    from dataclasses import fields

    from sftui.settings import UserSettings, load_settings, settings_file

    if not settings_file().exists():
        yield "- none"
        return
    found, usual = load_settings(), UserSettings()
    changed = [field.name for field in fields(found) if getattr(found, field.name) != getattr(usual, field.name)]
    yield f"- changed: {', '.join(changed) or 'nothing'}"


def _recipe(options: OpenOptions) -> Iterator[str]:
    from sftui.recipe import diff
    from sftui.trainers import preset

    recipe = options.recipe
    kinds = ", ".join(sorted({_kind(path) for path in options.paths}))
    yield f"- data: {len(options.paths)} given ({kinds}), not read" if kinds else "- data: none given"
    if options.config is not None:
        yield f"- a {options.config.trainer} config with {len(options.config.datasets)} datasets"
        yield from _keys(options.config)
    yield f"- preset {recipe.preset}; settings that differ from it:"
    yield ""
    yield "```yaml"
    yield from (f"{one.path}: {redacted_value(one.after)}" for one in diff(preset(recipe.preset), recipe))
    if recipe.waivers:
        yield f"waivers: {len(recipe.waivers)}"
    yield "```"


def _kind(path: str) -> str:
    """What a path names, without its name."""
    if os.path.isdir(path):
        return "a folder"
    suffixes = "".join(Path(path).suffixes[-2:])
    known = re.fullmatch(r"\.(?:jsonl?|csv|parquet|arrow)(?:\.gz|\.zst)?", suffixes)
    return known[0] if known else "a Hub dataset or another file"


def _keys(config: OpenedConfig) -> Iterator[str]:
    """What became of a config's keys: counts, and by name what sftui does not follow."""
    from sftui.trainers.config import KeyUse

    for use in KeyUse:
        keys = [note.path for note in config.keys if note.use is use]
        if keys and use in (KeyUse.USED, KeyUse.PASSED):
            yield f"- {len(keys)} keys {use.value}"
        elif keys:
            yield f"- {use.value}: {', '.join(map(redacted_value, keys))}"


def _engine(options: OpenOptions | None) -> Iterator[str]:
    if options is None:
        yield "- unknown without a recipe"
        return
    recipe: Recipe = options.recipe
    if recipe.tokenizer.name is None:
        yield "- no tokenizer was given"
        return
    from sftui.exports.report_model import counted_word
    from sftui.session.versions import load
    from sftui.tokens.shortcuts.bulk import Bulk

    loaded = load(recipe, options)
    facts = loaded.facts
    yield f"- {redacted_value(facts.name)}: {facts.class_name}, {'fast' if facts.is_fast else 'slow'}, {facts.state}"
    templates = counted_word(len(facts.chat_templates), "chat template")
    yield f"- {facts.vocab_size:,} tokens, {templates}, {facts.probes} probes equal"
    by = f"loaded by transformers {facts.transformers}" if facts.transformers else "loaded directly from its files"
    yield f"- {by}; the recipe asks for {_version(recipe, options)}"
    yield from (f"- {redacted_sentence(note, (facts.name,))}" for note in facts.notes)
    bulk = Bulk()
    bulk.faster(loaded, ())
    many = f"{bulk.engine} for whole datasets" if bulk.engine != facts.engine else "for whole datasets too"
    yield f"- {facts.engine} encodes one row; {many}"


def _version(recipe: Recipe, options: OpenOptions) -> str:
    version = redacted_value(recipe.tokenizer.transformers) if recipe.tokenizer.transformers else "that of its preset"
    return f"{version}{', with --env' if options.env else ''}"
