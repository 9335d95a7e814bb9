"""Files that a dataset may bring: only a regular file of a bearable size is read, and nothing waits."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sftui.errors import ExportError, RecipeError, SftuiError, TemplateError
from sftui.exports.baseline import read_baseline
from sftui.session.options import OpenOptions
from sftui.settings import load_settings
from sftui.side_files import MOST_BYTES, parse_json, read_side_bytes, read_side_file
from sftui.sources import SourceSpec, open_source
from sftui.templates import load_template_file
from sftui.tokens.loading.locate import Location
from sftui.tokens.loading.raw import load_raw
from sftui.trainers import trainer_named
from sftui.workspace.marks import MarksFile


def read(path: Path) -> str:
    return read_side_file(path, "the recipe", RecipeError, most=MOST_BYTES >> 14)


def test_a_plain_file_is_read_as_text_is(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("é\r\nb\rc\n".encode())
    assert read(tmp_path / "a") == "é\nb\nc\n"


def no_such_file(folder: Path) -> Path:
    return folder / "absent"


def a_folder(folder: Path) -> Path:
    (folder / "d").mkdir(exist_ok=True)
    return folder / "d"


def a_pipe(folder: Path) -> Path:
    """One that whoever reads it comes to the end of: somebody has written and closed it."""
    read, write = os.pipe()
    os.write(write, b"{}")
    os.close(write)
    return Path(f"/dev/fd/{read}")


def a_device(folder: Path) -> Path:
    return Path("/dev/null")


def two_kilobytes(folder: Path) -> Path:
    (folder / "long").write_bytes(b"x" * 2048)
    return folder / "long"


def a_long_name(folder: Path) -> Path:
    return folder / ("x" * 5000)


def a_nul(folder: Path) -> Path:
    return Path(f"{folder}/a\0b")


def half_a_character(folder: Path) -> Path:
    return Path(f"{folder}/\ud800")


def not_utf8(folder: Path) -> Path:
    (folder / "latin").write_bytes(b"\xff\xfe\xe9")
    return folder / "latin"


PLACES: dict[Callable[[Path], Path], str] = {
    no_such_file: "no such file",
    a_folder: "regular file",
    a_pipe: "regular file",
    a_device: "regular file",
    two_kilobytes: "more than 1,024 bytes",
    a_long_name: "name too long",
    a_nul: "not a file name",
    half_a_character: "not a file name",
    not_utf8: "not UTF-8",
}


@pytest.mark.parametrize("place", PLACES)
def test_what_is_no_plain_file_is_told_and_never_waited_for(place: Callable[[Path], Path], tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=PLACES[place]) as error:
        read(place(tmp_path))
    assert str(error.value).count("\n") == 0


def template(path: Path) -> Any:
    return load_template_file(str(path))


def baseline(path: Path) -> Any:
    return read_baseline(path)


def dataset_info(path: Path) -> Any:
    folder = path.parent / "info"
    folder.mkdir(exist_ok=True)
    os.symlink(path, folder / "dataset_info.json")
    text = f"template: qwen\ndataset: a\ndataset_dir: {folder}\n"
    return trainer_named("llamafactory").read_config("c.yaml", text, None)


def saved(path: Path) -> Any:
    folder = path.parent / "saved"
    folder.mkdir(exist_ok=True)
    os.symlink(path, folder / "state.json")
    return open_source(SourceSpec((str(folder),)))


def tokenizer(path: Path) -> Any:
    from sftui.tokens import builtin

    folder = path.parent / "tokenizer"
    folder.mkdir(exist_ok=True)
    os.symlink(builtin.folder("chatml") / "tokenizer.json", folder / "tokenizer.json")
    os.symlink(path, folder / "tokenizer_config.json")
    return load_raw(Location("t", "folder", str(folder), folder))


@pytest.fixture
def shallow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python cannot recurse as deep as a text goes that says `too deep`."""
    loads = json.loads

    def recursing(text: str | bytes, **more: Any) -> Any:
        if "too deep" in str(text):
            raise RecursionError("maximum recursion depth exceeded")
        return loads(text, **more)

    monkeypatch.setattr(json, "loads", recursing)


NESTED = '{"nested": ["too deep"]}'


@pytest.mark.parametrize("reader", [template, baseline, dataset_info, saved, tokenizer])
def test_json_that_nests_too_deeply_is_one_sentence(
    shallow: None, reader: Callable[[Path], Any], tmp_path: Path
) -> None:
    (tmp_path / "nested.json").write_text(NESTED)
    with pytest.raises(SftuiError):
        reader(tmp_path / "nested.json")


@pytest.mark.parametrize("reader", [template, baseline])
@pytest.mark.parametrize("place", [a_pipe, a_device, a_long_name, a_nul])
def test_every_reader_of_a_side_file_is_guarded(
    reader: Callable[[Path], Any], place: Callable[[Path], Path], tmp_path: Path
) -> None:
    with pytest.raises(SftuiError):
        reader(place(tmp_path))


def test_marks_that_nest_too_deeply_do_not_keep_anyone_from_the_data(shallow: None, tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text("{}\n")
    told: list[str] = []
    marks = MarksFile(OpenOptions((str(tmp_path / "data.jsonl"),)), told.append, tmp_path / "marks")
    assert marks.path is not None
    marks.path.parent.mkdir()
    marks.path.write_text(NESTED)
    with pytest.raises(ExportError, match="not a review mark"):
        marks.load()


def test_json_says_what_is_wrong_as_a_value_error(shallow: None) -> None:
    with pytest.raises(ValueError, match="too deeply"):
        parse_json(NESTED)
    assert parse_json(b'{"a": 1}') == {"a": 1}


def test_settings_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").symlink_to("/dev/null")
    assert "regular file" in load_settings(tmp_path / "settings.yaml").problems[0]


def test_a_device_is_refused_before_it_is_read() -> None:
    with pytest.raises(TemplateError, match="regular file"):
        load_template_file("/dev/null")


@pytest.mark.parametrize("reader", [template, baseline])
def test_every_reader_keeps_to_the_bound(
    reader: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the bound's own default, a thousandth of it."""
    named, (given,) = read_side_file.__kwdefaults__ or {}, read_side_bytes.__defaults__ or ()
    monkeypatch.setitem(named, "most", named["most"] >> 10)
    monkeypatch.setattr(read_side_bytes, "__defaults__", (given >> 10,))
    (tmp_path / "long").write_bytes(b" " * (20 << 10))
    with pytest.raises(SftuiError, match="more than 16,384 bytes"):
        reader(tmp_path / "long")
