"""Every source is asked everything: its rows, and how a script and the config of each trainer load the same ones.

A class of source that no file here opens fails the first test, so that a new format cannot leave exports out.
"""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import numpy as np
import pyarrow as pa
import pytest

import sftui.sources
from sftui.cli.loading import loaded_session
from sftui.conversations import Detection
from sftui.errors import ExportError
from sftui.exports.plan import ExportPlan, facts_of, plan_export
from sftui.exports.prepared import ExportInput
from sftui.recipe import changed
from sftui.session.arguments import Arguments
from sftui.session.opened import source_spec
from sftui.session.options import OpenOptions
from sftui.sources import Loading, Source, open_source
from sftui.sources.formats.token_files import TokenFileSource
from sftui.sources.indexed import IndexedSource
from sftui.sources.memory import source_in_memory
from sftui.sources.shards import PieceReader, ShardedSource
from sftui.sources.slices import SlicedSource
from sftui.sources.source import CountedSource
from sftui.trainers import TRAINERS, preset, traits_of
from sftui.trainers.own_config import write_config

TEXTS = [{"text": "hi there"}, {"text": "you"}, {"text": "and you"}]
IDS = [{"input_ids": [5, 6, 7, 8]}, {"input_ids": [9, 10, 11, 12]}]


def as_lines(path: Path, rows: list[Any] = TEXTS, end: str = "\n") -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + end for row in rows))
    return path


def as_text(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def as_parquet(path: Path) -> Path:
    datasets.Dataset.from_list(TEXTS).to_parquet(path)
    return path


def as_arrow(path: Path) -> Path:
    table = pa.Table.from_pylist(TEXTS)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    return path


def saved(folder: Path) -> Path:
    datasets.Dataset.from_list(TEXTS).save_to_disk(folder)
    return folder


def saved_splits(folder: Path) -> Path:
    datasets.DatasetDict({"train": datasets.Dataset.from_list(TEXTS)}).save_to_disk(folder)
    return folder


def repository(folder: Path) -> Path:
    as_lines(folder / "rows.jsonl")
    as_text(folder / "README.md", "---\nconfigs:\n- config_name: default\n  data_files: rows.jsonl\n---\n")
    return folder


def as_npy(path: Path) -> Path:
    np.save(path, np.array([row["input_ids"] for row in IDS]))
    return path


def megatron(path: Path) -> Path:
    recorded = Path(__file__).parents[2] / "golden" / "sources"
    for ending in (".bin", ".idx"):
        path.with_suffix(ending).write_bytes((recorded / f"megatron_uint16{ending}").read_bytes())
    return path


def datatrove(path: Path) -> Path:
    path.write_bytes(np.array([row["input_ids"] for row in IDS], "<u2").tobytes())
    Path(f"{path}.index").write_bytes(np.array([4, 8], "<u8").tobytes())
    return path


class Asked(NamedTuple):
    """A small file or folder, by its name and who writes it; the rows, where they are not `TEXTS`; `options` with which
    it is opened."""

    name: str
    write: Callable[[Path], Path]
    rows: list[dict[str, Any]] | None = TEXTS
    options: Mapping[str, Any] = {}


LIST = json.dumps(TEXTS)
FILES = [
    Asked("rows.jsonl", as_lines),
    Asked("lines.txt", as_lines),
    Asked("turns.jsonl", lambda path: as_lines(path, [[{"role": "user", "content": "a"}]] * 3), None),
    Asked("rows.json", lambda path: as_text(path, LIST)),
    Asked("values.json", lambda path: as_text(path, json.dumps([row["text"] for row in TEXTS]))),
    Asked("over_lines.json", lambda path: as_text(path, "".join(json.dumps(row, indent=1) + "\n" for row in TEXTS))),
    Asked("inside.json", lambda path: as_text(path, f'{{"version": 1, "rows": {LIST}}}'), TEXTS, {"rows_in": "rows"}),
    Asked("table.json", lambda path: as_text(path, json.dumps(dict(enumerate(TEXTS))))),
    Asked("rows.csv", lambda path: as_text(path, "text\n" + "".join(f"{row['text']}\n" for row in TEXTS))),
    Asked("rows.tsv", lambda path: as_text(path, "text\tn\n" + "".join(f"{row['text']}\t1\n" for row in TEXTS)), None),
    Asked("rows.txt", lambda path: as_text(path, "".join(f"{row['text']}\n" for row in TEXTS))),
    Asked("rows.parquet", as_parquet),
    Asked("rows.arrow", as_arrow),
    Asked("saved", saved),
    Asked("saved_splits", saved_splits),
    Asked("a.repository", repository),
    Asked("ids.npy", as_npy, IDS),
    Asked("ids.bin", megatron, None),
    Asked("ids.ds", datatrove, IDS),
]
IN_MEMORY = [TEXTS, pa.Table.from_pylist(TEXTS)]
OVER_OTHERS = {ShardedSource, SlicedSource, IndexedSource, CountedSource, TokenFileSource}
"""Sources of several kinds, which say of each what it says of itself."""


def classes(base: type[Source] = Source) -> Iterator[type[Source]]:
    for one in base.__subclasses__():
        yield from (one, *classes(one))


def opened(asked: Asked, folder: Path) -> Source:
    options = Arguments(data=(str(asked.write(folder / asked.name)),), **asked.options).options()[0]
    return open_source(source_spec(options))


def test_every_source_is_asked(tmp_path: Path) -> None:
    for module in pkgutil.walk_packages(sftui.sources.__path__, "sftui.sources."):
        import_module(module.name)
    here = {one for one in classes() if one.__module__.startswith("sftui.sources.")} - OVER_OTHERS
    sources = [opened(one, tmp_path) for one in FILES]
    sources += [source_in_memory(one, source_spec(OpenOptions(()))) for one in IN_MEMORY]
    assert {type(one) for one in sources} == here
    assert all(isinstance(one.loading, Loading) and one.loading.kind == one.kind != "" for one in sources)
    assert not any(one.loading.script or one.loading.loader for one in sources[-len(IN_MEMORY) :])


each_file = pytest.mark.parametrize("asked", FILES, ids=lambda one: one.name)


@each_file
def test_rows_columns_counts_and_notes(asked: Asked, tmp_path: Path) -> None:
    source = opened(asked, tmp_path)
    source.read_through()
    rows = list(source.rows())
    count = source.count()
    assert count.exact and count.fraction == 1.0 and count.rows == len(rows) > 1
    assert asked.rows is None or [row.data for row in rows] == asked.rows
    assert [row.index for row in rows] == list(range(len(rows))) and source.row(1) == rows[1]
    assert set(source.columns()) == {name for row in rows for name in row.data or ()}
    assert all(asked.name in note or note.startswith("split ") for note in source.notes), source.notes
    assert not source.damage and source.change() is None and source.outgrown() is None and source.near(1)
    assert source.title and all(source.title in row.where or asked.name in row.where for row in rows)
    reader = PieceReader()
    assert [row for piece in source.pieces(1) for row in reader.rows(piece)] == rows
    reader.close()
    with pytest.raises(IndexError):
        source.row(len(rows))
    assert {file.kind for file in source.files()} <= {source.loading.loader}
    source.close()


def planned(asked: Asked, folder: Path, to: str) -> ExportPlan:
    """The export of such rows, under a recipe that reads them."""
    recipe = changed(changed(preset(), "tokenizer.name", "builtin:chatml"), "mask.rule", "all")
    session = loaded_session(Arguments(data=(str(folder / asked.name),), recipe=recipe, **asked.options).options()[0])
    return plan_export(to, str(folder / "export"), recipe, recipe, session.prepared())


@each_file
def test_a_script_reads_the_same_rows(asked: Asked, tmp_path: Path) -> None:
    """By the lines of the script, which know nothing of sftui; or it says that none can."""
    source = opened(asked, tmp_path)
    if not source.loading.script:
        with pytest.raises(ExportError, match=f"preprocess.py cannot (read {source.kind} data|express)"):
            planned(asked, tmp_path, "preprocess")
        return
    names: dict[str, Any] = {"__name__": "preprocess"}
    exec(planned(asked, tmp_path, "preprocess").files[0].content, names)
    assert list(names["read_rows"](names["DATA"])) == [row.data for row in source.rows()]


BY_LOADER = {
    "trl": "- path: {loader}\n    data_files: {path}\n",
    "axolotl": "- path: {path}\n    ds_type: {loader}\n",
    "torchtune": "source: {loader}\n  data_files: {path}\n",
    "unsloth": 'load_dataset({loader!r}, data_files={path!r}, split="train")',
}
"""How the trainers that ask `datasets` name a file; the others find its format themselves."""
BY_PATH = {
    "trl": "dataset_name: {path}\n",
    "axolotl": "- path: {path}\n    type",
    "torchtune": "source: {path}\n  conversation_column",
    "unsloth": 'load_dataset({path!r}, split="train")',
    "mlx-lm": "data: {path}\n",
}


@each_file
@pytest.mark.parametrize("trainer", [name for name in TRAINERS if traits_of(name).config])
def test_a_config_names_the_same_data(trainer: str, asked: Asked, tmp_path: Path) -> None:
    source, path, recipe = opened(asked, tmp_path), str(tmp_path / asked.name), preset(trainer)
    facts = facts_of(recipe, ExportInput((path,), loading=source.loading, detected=Detection("messages")))
    written = write_config(recipe, None, facts)
    loader, text = source.loading.loader, "".join(file.content for file in written.files)
    named = (BY_LOADER if loader else BY_PATH).get(trainer, "{path}")
    if trainer == "mlx-lm" and loader is not None:
        path = str(tmp_path)
    assert named.format(loader=loader, path=path) in text
    notes = {"verl": ("verl reads only Parquet", (None, "parquet")), "mlx-lm": ("mlx-lm reads train.jsonl", (None,))}
    if trainer in notes:
        note, understood = notes[trainer]
        assert any(one.startswith(note) for one in written.notes) == (loader not in understood)


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("inside.json", "not exported: the data is loaded with field='rows'; add that to the config by hand"),
        ("rows.tsv", r"not exported: the data is loaded with sep='\t'; add that to the config by hand"),
        (
            "ids.npy",
            "`datasets` has no loader for arrays data: write the rows with `sftui encode DATA -o OUT.parquet`",
        ),
    ],
)
def test_what_a_config_cannot_say_of_the_data(name: str, note: str, tmp_path: Path) -> None:
    asked = next(one for one in FILES if one.name == name)
    opened(asked, tmp_path)
    assert any(one.startswith(note) for one in planned(asked, tmp_path, "trl").notes)
    opened(FILES[0], tmp_path)
    assert not any("the data is" in one or "no loader" in one for one in planned(FILES[0], tmp_path, "trl").notes)
