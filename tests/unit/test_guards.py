"""Bounds on what files and rows may take, each lowered by a factor and gone beyond by a little.

A bound that is taken away, or raised a hundredfold, lets through what its test holds to be too much. Bounds of one
module alone are tried next to its other tests: tests/README.md.
"""

from __future__ import annotations

import importlib
import io
import json
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sftui import bound, crew
from sftui.audit.tallies import OTHERS, Tallies
from sftui.cli import supervising
from sftui.errors import ExportError, RecipeError, SftuiError, TokenizerError
from sftui.exports.typed_rows import write_typed
from sftui.recipe import Render
from sftui.session import at_hand
from sftui.session.marks import RowMarks, read_marks
from sftui.session.options import OpenOptions
from sftui.session.ready import open_data
from sftui.sources import SourceSpec, captured, open_source
from sftui.templates import compile_template
from sftui.templates.rendering.limits import Lost
from sftui.templates.shortcuts.skeletons import RenderRequest
from sftui.templates.shortcuts.tracing import Recording
from sftui.tokens.loading import process
from sftui.tokens.loading.environments import Environment
from sftui.tokens.loading.locate import fingerprint, locate, read_json
from sftui.trainers import preset
from sftui.trainers.loading import LoadResult, load
from sftui.trainers.reading import Reader
from sftui.trainers.recognise import is_config
from sftui.trainers.torchtune import special
from sftui.trainers.versions import parse
from sftui.tui.commands.copying import copy_out
from sftui.workspace.marks import MarksFile

Lower = Callable[[str, int], int]


@pytest.fixture
def lower(monkeypatch: pytest.MonkeyPatch) -> Lower:
    """`lower("sftui.module.NAME", 100)`: the bound by so much lower, and what it is then."""

    def lowered(name: str, by: int) -> int:
        module, _, constant = name.rpartition(".")
        value: int = getattr(importlib.import_module(module), constant) // by
        monkeypatch.setattr(name, value)
        return value

    return lowered


def test_a_json_list_too_long_to_be_read_whole_is_not_tried(lower: Lower, tmp_path: Path) -> None:
    rows = [{"a": 1}, {"a": "x"}]
    (tmp_path / "a.json").write_text(json.dumps([*rows, {"a": "y" * 2_000}]))
    source = open_source(SourceSpec((str(tmp_path / "a.json"),)))
    reader = Reader("datasets", "5.2.0", True, (3, 1, 1))
    assert load(source.files, reader, "TRL") != LoadResult(None)
    assert lower("sftui.trainers.loading.LISTED", 1 << 18) == 1024
    assert load(source.files, reader, "TRL") == LoadResult(None)
    source.close()


def test_a_row_that_nests_too_deeply_is_left_to_its_own_reading(lower: Lower, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"x": ' + "[" * 12 + "]" * 12 + "}\n")
    source = open_source(SourceSpec((str(tmp_path / "a.jsonl"),)))
    reader = Reader("datasets", "5.2.0", True, (3, 1, 1))
    assert load(source.files, reader, "TRL") != LoadResult(None)
    assert lower("sftui.trainers.loading.DEEPEST", 50) == 10
    assert load(source.files, reader, "TRL") == LoadResult(None)
    source.close()


def test_a_large_json_file_is_taken_for_no_config(lower: Lower, tmp_path: Path) -> None:
    config = {"base_model": "x", "datasets": [{"path": "a", "type": "chat_template"}], "sequence_len": 64}
    (tmp_path / "c.json").write_text(json.dumps(config).ljust(2048))
    assert is_config(str(tmp_path / "c.json"))
    assert lower("sftui.trainers.recognise.LARGEST_JSON", 256) == 1024
    assert not is_config(str(tmp_path / "c.json"))


def test_a_large_yaml_file_is_offered_without_a_trainer(lower: Lower, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("base_model: x\nsequence_len: 64\n" + "#" * 2048)
    assert at_hand._trainer_of(tmp_path / "c.yaml") == "Axolotl"
    assert lower("sftui.session.at_hand.LARGEST_CONFIG", 256) == 1024
    assert at_hand._trainer_of(tmp_path / "c.yaml") == ""


def test_a_folder_of_many_names_is_looked_at_no_further_than_the_bound(lower: Lower, tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"{number}.jsonl").write_text("{}\n")
    assert len(at_hand.data_in(tmp_path)) == 40
    assert lower("sftui.session.at_hand.MOST", 10) == 20
    assert len(at_hand.data_in(tmp_path)) == 20
    assert lower("sftui.session.at_hand.MOST_LOOKED_AT", 500) == 10
    assert len(at_hand.data_in(tmp_path)) == 10


def test_a_large_file_next_to_a_tokenizer_is_neither_hashed_nor_read(lower: Lower, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    (tmp_path / "tokenizer_config.json").write_text("{}".ljust(2048))
    place = locate(str(tmp_path))
    assert len(fingerprint(place)["tokenizer_config.json"]) == 64
    assert read_json(tmp_path / "tokenizer_config.json") == {}
    assert lower("sftui.tokens.loading.locate.LARGEST_FILE", 1 << 17) == 1024
    assert fingerprint(place)["tokenizer_config.json"].startswith("2048:")
    with pytest.raises(OSError, match="more than 1,024 bytes"):
        read_json(tmp_path / "tokenizer_config.json")


def test_no_more_of_a_special_tokens_path_is_read_than_the_bound(lower: Lower, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({"more": "x" * 2_000, "added_tokens": [{"content": "<s>", "id": 1}]}))
    assert special._read(path) == {"<s>": 1}
    assert lower("sftui.trainers.torchtune.special.LARGEST", 1 << 16) == 1024
    with pytest.raises(RecipeError, match="special_tokens_path cannot be read"):
        special._read(path)


def test_a_version_of_many_digits_is_none() -> None:
    """As many as nobody counts to; Python reads no integer of thousands."""
    assert parse("1.123456789", "trl") == (1, 123456789)
    with pytest.raises(RecipeError, match="is not a version of trl"):
        parse("1.1234567890", "trl")


def test_marks_are_read_and_kept_within_bounds(lower: Lower, tmp_path: Path) -> None:
    assert lower("sftui.session.marks.LONGEST_NOTE", 100) == 20
    assert RowMarks().noted(1, "x" * 50).get(1).note == "x" * 20
    assert read_marks(json.dumps({"row": 1, "note": "x" * 50}), "m").get(1).note == "x" * 20
    (tmp_path / "data.jsonl").write_text("{}\n")
    marks = MarksFile(OpenOptions((str(tmp_path / "data.jsonl"),)), lambda said: None, tmp_path / "marks")
    assert marks.path is not None
    marks.path.parent.mkdir()
    marks.path.write_text(json.dumps({"row": 1, "mark": "keep"}).ljust(2048) + "\n")
    marks.load()
    lower("sftui.session.marks.MOST_MARKS", 1 << 18)
    with pytest.raises(ExportError, match="more than 1,024 bytes"):
        marks.load()


def test_names_beyond_the_bound_are_counted_together(lower: Lower) -> None:
    assert lower("sftui.audit.tallies.MOST_NAMES", 100) == 20
    tallies = Tallies()
    for number in range(30):
        tallies.add(f"name {number}", number)
    assert len(tallies.counts) == 21 and tallies.counts[OTHERS] == 10


def test_a_table_of_many_keys_or_levels_is_not_written(lower: Lower) -> None:
    def written(row: dict[str, Any]) -> bytes:
        file = io.BytesIO()
        for _ in write_typed(io.BytesIO(json.dumps(row).encode() + b"\n"), file, range(1)):
            pass
        return file.getvalue()

    many, deep = {f"k{number}": 1 for number in range(12)}, {"a": [[[[[[1]]]]]]}
    assert written(many) and written(deep)
    assert lower("sftui.exports.typed_rows.MOST_FIELDS", 1000) == 10
    with pytest.raises(ExportError, match="more than 10 keys in total"):
        written(many)
    assert lower("sftui.exports.typed_rows.MOST_LEVELS", 9) == 10
    with pytest.raises(ExportError, match="nested too deeply for Parquet"):
        written(deep)


def test_what_is_too_much_for_a_clipboard_is_not_sent(lower: Lower) -> None:
    sent: list[str] = []
    lower("sftui.tui.commands.copying.OSC52_LIMIT", 70)
    assert "too large for the clipboard" in copy_out("x" * 2_000, sent.append, {}) and sent == []
    copy_out("x" * 1_000, sent.append, {})
    assert len(sent) == 1


@pytest.mark.parametrize(
    ("name", "by", "what"),
    [("MOST_STEPS", 2_000, "too many steps"), ("MOST_CHARACTERS", 400_000, "too long"), ("MOST_WORK", 30_000, "work")],
)
def test_a_template_that_takes_too_much_to_follow_is_not_followed(lower: Lower, name: str, by: int, what: str) -> None:
    """It is rendered instead, within the bound of a render."""
    template = compile_template("{% for i in range(20) %}{{ messages[0].content ~ i ~ 'xxxx' }}{% endfor %}", "t")

    def followed() -> None:
        recording = Recording(("hello",), at_noon())
        message = {"role": "user", "content": recording.texts[0]}
        request = RenderRequest([message], None, {}, {}, Render(), None, False, False, at_noon())
        template.follow(request, [message], recording)
        for number in range(20):
            recording.step(str.__add__, recording.texts[0], "x" * number)
        recording.worked(20)

    followed()
    assert lower(f"sftui.templates.shortcuts.tracing.{name}", by) == 10
    with pytest.raises(Lost, match=what):
        followed()


def at_noon() -> Any:
    from datetime import datetime

    return datetime(2026, 1, 2, 12)


def test_a_row_over_the_usual_limit_is_clipped(lower: Lower, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit that holds where no other is asked for."""
    assert SourceSpec(("x",)).row_limit == 16 << 20
    (tmp_path / "a.jsonl").write_text(json.dumps({"a": "x" * 2_000}) + "\n" + json.dumps({"a": "y"}) + "\n")
    lower("sftui.sources.records.RAW_LIMIT", 10_000)
    session = open_data(OpenOptions((str(tmp_path / "a.jsonl"),), row_limit=1024), preset())
    assert session.row(0).data is None and "over the limit of 1,024 per row" in (session.row(0).problem or "")
    assert len(session.row(0).raw) == 100 and session.row(1).data == {"a": "y"}
    session.close()


class Dying:
    """Stands in for a process that a piece of work ends each time it is started."""

    started = 0

    def __init__(self, *given: object) -> None:
        Dying.started += 1
        self.pieces: Any = deque()

    def overrun(self) -> bound.Overrun:
        return bound.Overrun(b"recipe--" + Dying.started.to_bytes(8, "little"), "rendered", "it needs too much")


def test_a_process_is_started_again_no_more_often_than_the_bound(lower: Lower, monkeypatch: pytest.MonkeyPatch) -> None:
    assert lower("sftui.bound.MOST_DEATHS", 8) == 3
    monkeypatch.setattr(crew, "_CrewProcess", Dying)
    Dying.started = 0
    working: crew.Crew[int, int] = crew.Crew(None, 1)  # type: ignore[arg-type]
    with pytest.raises(SftuiError, match="like 3 tasks before it, so sftui is giving up"):
        for _ in range(50):
            working._replace(working._hands[0])
    assert Dying.started == 4


def test_a_command_is_started_again_no_more_often_than_the_bound(
    lower: Lower, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process: what would be its children are stand-ins that end at once."""
    assert lower("sftui.bound.MOST_DEATHS", 8) == 3
    ended: list[bound.Overrun] = []

    class Child:
        def __init__(self, *given: object) -> None:
            pass

        def fork(self) -> bool:
            return False

        def wait(self) -> bound.Overrun | int:
            if len(ended) == 50:
                return 0
            number = len(ended).to_bytes(8, "little")
            ended.append(bound.Overrun(b"recipe--" + number, "rendered", "the chat template needs too much"))
            return ended[-1]

    monkeypatch.setattr(supervising, "_Child", Child)
    assert supervising.supervised(lambda: None, False) == 2
    assert len(ended) == 4 and "like 3 tasks before it" in capsys.readouterr().err


def test_every_bound_of_a_row_is_what_design_says() -> None:
    """Where a bound is a sum or a product of others, that it has not slipped: seconds, bytes, and how often."""
    assert (bound.SECONDS, bound.LEAST_SECONDS, bound.SECONDS_PER_MB, bound.WALL) == (2.0, 0.5, 20.0, 20.0)
    assert (bound.MEMORY, bound.MEMORY_PER_BYTE, bound.LEFT_BEHIND) == (400 << 20, 200, 32 << 20)
    assert (bound.MOST, bound.MOST_STARTS, bound.MOST_DEATHS) == (3, 12, 24)
    assert (bound.UNCOUNTED, bound.UNCOUNTED_ROW) == (0.01, 0.1)


def test_no_more_of_a_large_row_group_is_unpacked_than_the_bound(lower: Lower, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"n": [*range(4_000)], "text": ["x" * 100] * 4_000}), path)
    lower("sftui.sources.formats.parquet.LARGE_GROUP", 1 << 16)
    lower("sftui.sources.formats.parquet.BATCH_BYTES", 1 << 8)

    def unpacked() -> int:
        source: Any = open_source(SourceSpec((str(path),)))
        while not source.index_more(1):
            pass
        assert source.row(3_999).data == {"n": 3_999, "text": "x" * 100}
        size = source._spool.size if source._spool is not None else 0
        source.close()
        return int(size)

    assert unpacked() > 300_000
    assert lower("sftui.sources.formats.parquet.SPOOL_LIMIT", 1 << 18) == 16 << 10
    assert unpacked() < 100_000


def test_csv_of_long_rows_is_taken_a_few_at_a_time(lower: Lower, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("n,t\n" + "".join(f"{n},{'x' * 998}\n" for n in range(50)))
    lower("sftui.sources.formats.csv_file.CHUNK_BYTES", 6_400)
    source = open_source(SourceSpec((str(tmp_path / "t.csv"),)))
    assert source.count().rows == 10
    source.close()


def test_a_gap_between_records_is_not_kept_beyond_the_bound(lower: Lower, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text('[{"n": 0}, ' + "x" * 2_000 + ' {"n": 1}]')

    def damage() -> str:
        source = open_source(SourceSpec((str(path),)))
        while not source.index_more(1):
            pass
        told = " ".join((*source.notes, *(one.why for one in source.damage)))
        source.close()
        return told

    lower("sftui.sources.json_array.BLOCK", 512)
    assert "64 KiB" not in damage()
    lower("sftui.sources.json_array.GAP_LIMIT", 64)
    assert "more than 64 KiB that are not a record" in damage()


@pytest.mark.parametrize(("name", "by"), [("LOADING", 3_000), ("ANSWERING", 1_200)])
def test_a_tokenizer_that_does_not_answer_is_given_up(
    name: str, by: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in for its process waits three seconds before it loads, or before it encodes."""
    monkeypatch.setattr(process, name, getattr(process, name) / by)
    late = "load" if name == "LOADING" else "encode"
    (tmp_path / "fake.py").write_text(
        "import json, sys, time\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        f"    time.sleep(3 if {late!r} in asked else 0)\n"
        "    made = {'rows': [[[1], [[0, 1]], [0]]]} if 'encode' in asked else {}\n"
        "    print(json.dumps({'versions': {}, 'backend': '{}', 'is_fast': True, **made}), flush=True)\n"
    )
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -u {tmp_path / "fake.py"} "$@"\n')
    python.chmod(0o755)
    asked = process.TokenizerProcess(Environment(python, {"transformers": "0.1"}, "test"), locate("builtin:chatml"))
    with pytest.raises(TokenizerError, match="took longer than 0 seconds and was stopped"):
        asked.encode(["x"], False)
    asked.close()


def test_a_long_footer_is_not_read_in_advance(lower: Lower, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"n": [1]}), tmp_path / "t.parquet")
    assert len(captured._footer(str(tmp_path / "t.parquet"))) > 100
    assert lower("sftui.sources.captured.MOST", 1 << 20) == 64
    assert captured._footer(str(tmp_path / "t.parquet")) == b""
