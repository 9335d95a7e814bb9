"""The Python API gives what the commands give: for every trainer, from a path and from memory, by a tokenizer's name
and by a loaded one."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

import sftui
from sftui.cli import main
from sftui.trainers import TRAINERS

REPO = Path(__file__).resolve().parents[3]
SAMPLE = REPO / "sample_data"
CHATML = REPO / "sftui" / "tokens" / "builtin" / "chatml"
FILES = ("chat_messages.jsonl", "prompt_completion.jsonl", "sharegpt.json", "alpaca.json", "text.jsonl")
NAMES = [name for name in TRAINERS if name != "torchtune"]  # which cuts text by a model's own files


@lru_cache(maxsize=1)
def loaded() -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(str(CHATML))


def rows_of(file: str) -> list[dict[str, Any]]:
    text = (SAMPLE / file).read_text(encoding="utf-8")
    if file.endswith("l"):
        return [json.loads(line) for line in text.splitlines()]
    found: list[dict[str, Any]] = json.loads(text)
    return found


def by_command(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]] | str:
    """The records that `sftui encode` writes, or what it says instead."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["encode", *words, "-o", "-"])
    out, err = capsys.readouterr()
    if not out:
        assert ended.value.code == 2
        return err
    return [json.loads(line) for line in out.splitlines()]


def by_api(data: Any = None, **opening: Any) -> list[dict[str, Any]] | sftui.SftuiError:
    """The same by `sftui.encode`; the error where there is one."""
    try:
        return [json.loads(json.dumps(one)) for one in sftui.encode(data, **opening).records()]
    except sftui.SftuiError as error:
        return error


@pytest.mark.one_of(3)
@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("trainer", NAMES)
def test_records_are_those_of_the_command(trainer: str, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(SAMPLE / file)
    told = by_command(capsys, path, "-t", str(CHATML), "--trainer", trainer)
    ways = {
        "a path and a name": by_api(path, tokenizer=str(CHATML), trainer=trainer),
        "dicts and a name": by_api(rows_of(file), tokenizer=CHATML, trainer=trainer),
        "a path and a loaded tokenizer": by_api(Path(path), tokenizer=loaded(), trainer=trainer),
    }
    for way, found in ways.items():
        if isinstance(told, str):
            assert isinstance(found, sftui.SftuiError), way
            assert found.what in told, way
        else:
            assert found == told, way


def test_a_dataset_and_an_arrow_table_give_the_rows_of_their_parquet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import datasets
    import pyarrow.parquet as pq

    rows = datasets.Dataset.from_list([{"messages": one["messages"]} for one in rows_of("chat_messages.jsonl")])
    path = str(tmp_path / "rows.parquet")
    rows.to_parquet(path)
    told = by_command(capsys, path, "-t", str(CHATML))
    assert isinstance(told, list) and len(told) == 43
    for data in (rows, pq.read_table(path), rows.with_format("numpy"), datasets.DatasetDict({"train": rows})):
        assert by_api(data, tokenizer=loaded()) == told
    assert by_api(rows.to_pandas(), tokenizer=loaded()) == told


def test_packs_of_the_command_come_out(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(SAMPLE / "chat_messages.jsonl")
    knobs = {"pack.strategy": "bfd", "length.max": 256}
    words = [word for name, value in knobs.items() for word in ("--set", f"{name}={value}")]
    told = by_command(capsys, path, "-t", str(CHATML), "--trainer", "trl", *words)
    assert isinstance(told, list) and any("pack" in one for one in told)
    assert by_api(path, tokenizer=loaded(), trainer="trl", set=knobs) == told
    told = by_command(capsys, path, "-t", str(CHATML), "--trainer", "trl", *words, "--unpacked", "--explain")
    assert by_api(path, tokenizer=loaded(), trainer="trl", set=knobs, unpacked=True, explain=True) == told


def test_a_config_opens_as_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_bytes((SAMPLE / "chat_messages.jsonl").read_bytes())
    config = tmp_path / "trl.yaml"
    config.write_text(
        f"model_name_or_path: {CHATML}\ndatasets:\n  - path: json\n    data_files: rows.jsonl\n"
        "max_length: 40\nassistant_only_loss: false\nlearning_rate: 0.0001\n"
    )
    told = by_command(capsys, str(config))
    assert isinstance(told, list) and max(len(one["input_ids"]) for one in told if "input_ids" in one) == 40
    assert by_api(config=config) == by_api(str(config)) == told
    with sftui.open(config=config) as data:
        assert any("not about data" in note for note in data.notes)


def test_one_row_is_that_row_of_the_data() -> None:
    rows = rows_of("chat_messages.jsonl")
    with sftui.open(rows, tokenizer=loaded(), trainer="trl", max_length=2048) as data:
        alone = sftui.encode(rows[5], tokenizer=loaded(), trainer="trl", max_length=2048)
        assert (alone.input_ids, alone.labels, alone.reasons) == (data[5].input_ids, data[5].labels, data[5].reasons)
        assert [one.input_ids for one in data] == [data[number].input_ids for number in range(len(data))]


def test_the_check_is_that_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes((SAMPLE / "chat_messages.jsonl").read_bytes() * 2)
    with pytest.raises(SystemExit):
        main(["check", str(path), "-t", str(CHATML), "--trainer", "trl", "--format", "json"])
    told = json.loads(capsys.readouterr().out)
    assert told["findings"] and told["codes"]
    assert json.loads(json.dumps(sftui.check(path, tokenizer=str(CHATML), trainer="trl").as_dict())) == told
    memory = sftui.check(rows_of("chat_messages.jsonl") * 2, tokenizer=loaded(), trainer="trl")
    found = json.loads(json.dumps(memory.as_dict()))
    assert found["codes"] == told["codes"]
    for figures in (found["figures"], told["figures"]):  # rows in memory are of no file
        figures["loss"]["shares"] = [one for one in figures["loss"]["shares"] if one["kind"] != "file"]
    assert found["figures"] | {"sources": 0} == told["figures"] | {"sources": 0}


def test_findings_stand_in_the_files_that_the_command_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        lines = (SAMPLE / "chat_messages.jsonl").read_bytes().splitlines(keepends=True)
        (tmp_path / name / "rows.jsonl").write_bytes(b"".join(lines[:12]))
    with pytest.raises(SystemExit):
        main(["check", str(tmp_path), "-t", str(CHATML), "--format", "json"])
    told = json.loads(capsys.readouterr().out)
    assert {str(tmp_path / name / "rows.jsonl") for name in ("a", "b")} <= {one["file"] for one in told["findings"]}
    assert json.loads(json.dumps(sftui.check(tmp_path, tokenizer=str(CHATML)).as_dict())) == told
