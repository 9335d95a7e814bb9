"""Hub datasets: loading through `datasets`, and each way it fails as its own sentence.

There is no Hub here: folders stand in for repositories, and the exceptions of `datasets` and
`huggingface_hub` are raised as their own code words them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import pytest
from datasets.exceptions import DataFilesNotFoundError, DatasetGenerationError, DatasetNotFoundError

from sftui.errors import SourceError
from sftui.hub import Trouble
from sftui.sources import SourceSpec, hub, open_source

SILENT = Trouble("dns", "the name hub.test cannot be resolved and the files are not in the local cache", "go on", True)


@pytest.fixture(autouse=True)
def hub_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here asks the Hub itself; `test_hub.py` does, of servers that stand in for it."""
    monkeypatch.setattr("sftui.hub.trouble", lambda *_: None)


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dataset repository with two subsets, in reach under the name `me/set`."""
    folder = tmp_path / "repo"
    folder.mkdir()
    for name, rows in (("train", 5), ("test", 2), ("other", 1)):
        (folder / f"{name}.jsonl").write_text("".join(f'{{"n": {n}, "from": "{name}"}}\n' for n in range(rows)))
    (folder / "README.md").write_text(
        "---\nconfigs:\n- config_name: chat\n  data_files:\n  - split: train\n    path: train.jsonl\n"
        "  - split: test\n    path: test.jsonl\n- config_name: code\n  data_files: other.jsonl\n---\n"
    )
    real = datasets.load_dataset

    def load(name: str, subset: str | None = None, **options: Any) -> Any:
        assert name == "me/set"
        load.revision = options.pop("revision")  # type: ignore[attr-defined]
        return real(str(folder), subset, cache_dir=str(tmp_path / "cache"), **options)

    monkeypatch.setattr(datasets, "load_dataset", load)
    return folder


def fail(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def load(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(datasets, "load_dataset", load)


def test_a_hub_dataset_with_split_subset_and_revision(repo: Path) -> None:
    source = open_source(SourceSpec(("me/set",), split="test", subset="chat", revision="v2"))
    assert datasets.load_dataset.revision == "v2"
    assert source.kind == "hub" and source.title == "me/set (chat) test" and source.columns() == ("n", "from")
    assert [row.data for row in source.rows()] == [{"n": 0, "from": "test"}, {"n": 1, "from": "test"}]
    assert source.row(1).where == "me/set (chat) test row 1"
    assert source.count().rows == 2 and source.count().exact and source.index_more(0)
    with pytest.raises(IndexError):
        source.row(2)


def test_without_a_split_it_is_train_and_said(repo: Path) -> None:
    source = open_source(SourceSpec(("me/set",), subset="chat"))
    assert source.count().rows == 5 and source.notes == ("split train of train, test",)
    assert open_source(SourceSpec(("me/set",), subset="code")).notes == ()


def test_part_of_a_split(repo: Path) -> None:
    assert open_source(SourceSpec(("me/set",), subset="chat", split="train[:2]")).count().rows == 2


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"subset": "chat", "split": "tset"},
         "me/set: has no split tset, because its splits are train, test; did you mean `test`?"),
        ({"subset": "chta"}, "me/set: has no subset chta, because its subsets are chat, code; did you mean `chat`?"),
        ({}, "me/set: has several subsets; name one with --subset: chat, code"),
    ],
)  # fmt: skip
def test_a_wrong_split_or_subset_names_the_right_ones(repo: Path, options: dict[str, Any], says: str) -> None:
    with pytest.raises(SourceError) as caught:
        open_source(SourceSpec(("me/set",), **options))
    assert str(caught.value) == says


def test_a_bad_slice_says_how_one_is_written(repo: Path) -> None:
    with pytest.raises(SourceError, match=r"train\[:x cannot be read, .* write it as train\[:500\] or train\[:90%\]"):
        open_source(SourceSpec(("me/set",), subset="chat", split="train[:x"))


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ConnectionError("Couldn't reach 'me/set' on the Hub (LocalEntryNotFoundError)"), "the Hub cannot be reached"),
        (DatasetNotFoundError("Dataset 'me/set' is a gated dataset on the Hub. "
                              "You must be authenticated to access it."),
         "me/set: is a gated dataset, because access must be granted first; request access at "
         "https://huggingface.co/datasets/me/set and run `hf auth login`"),
        (DatasetNotFoundError("Dataset 'me/set' doesn't exist on the Hub or cannot be accessed."),
         "me/set: cannot be found, because no local path has this name, and the Hub has no such dataset, or it is"
         " private"),
        (DatasetNotFoundError("Revision 'v9' doesn't exist for dataset 'me/set' on the Hub."),
         "me/set: has no revision v9; name a branch, a tag or a commit"),
        (RuntimeError("Dataset scripts are no longer supported, but found set.py"),
         "it is a loading script, and sftui runs no code from a dataset repository"),
        (DataFilesNotFoundError("No (supported) data files found in me/set"),
         "me/set: has no data files that datasets can read"),
        (PermissionError(13, "denied"), "me/set: cannot be loaded, because PermissionError: "),
    ],
)  # fmt: skip
def test_every_failure_has_its_own_sentence(monkeypatch: pytest.MonkeyPatch, error: Exception, says: str) -> None:
    fail(monkeypatch, error)
    with pytest.raises(SourceError) as caught:
        open_source(SourceSpec(("me/set",), revision="v9"))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_failed_generation_tells_its_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    error = DatasetGenerationError("An error occurred while generating the dataset")
    error.__cause__ = ValueError("JSON parse error:\nrow 7")
    fail(monkeypatch, error)
    with pytest.raises(SourceError, match="because ValueError: JSON parse error: row 7"):
        open_source(SourceSpec(("me/set",)))


def test_really_offline(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sftui.hub.trouble", lambda *_: SILENT)
    with pytest.raises(SourceError, match=r"hub.test cannot be resolved and the files are not in the local cache"):
        open_source(SourceSpec(("nobody/nothing-here",)))
    assert capfd.readouterr() == ("", "")


def test_offline_from_the_local_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sftui.hub.trouble", lambda *_: SILENT)
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "train.jsonl").write_text('{"n": 1}\n')
    datasets.load_dataset(str(tmp_path / "set"))
    (tmp_path / "cache" / "set").rename(tmp_path / "cache" / "me___set")
    source = open_source(SourceSpec(("me/set",), revision="v9"))
    assert [row.data for row in source.rows()] == [{"n": 1}]
    assert source.notes[0].endswith("the Hub did not return it, so it may not be revision v9")


def test_a_slip_in_a_local_name_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fail(monkeypatch, DatasetNotFoundError("Dataset 'trian_data' doesn't exist on the Hub or cannot be accessed."))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train_data").mkdir()
    with pytest.raises(SourceError, match=r"trian_data: cannot be found, .*; did you mean `train_data`\?"):
        open_source(SourceSpec(("trian_data",)))


def test_loading_is_silent_and_a_stale_cache_is_said(
    repo: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    load = datasets.load_dataset

    def stale(*names: Any, **options: Any) -> Any:
        datasets.utils.logging.get_logger("datasets.load").warning(
            "Using the latest cached version of the dataset since me/set couldn't be found on the Hugging Face Hub"
        )
        return load(*names, **options)

    monkeypatch.setattr(datasets, "load_dataset", stale)
    source = open_source(SourceSpec(("me/set",), subset="code"))
    assert source.notes == ("me/set is the copy in the local cache, because the Hub did not return it",)
    assert capfd.readouterr() == ("", "")


def test_a_row_that_cannot_be_decoded_is_a_row_with_a_problem() -> None:
    class Broken(list[Any]):
        column_names = ["image"]

        def __getitem__(self, index: Any) -> Any:
            raise ImportError("decode images with PIL")

    row = hub.HubSource(Broken([1]), "me/set train", row_limit=100).row(0)
    assert row.data is None and row.problem == "me/set train row 0 cannot be decoded: decode images with PIL"


def test_a_hub_row_over_the_limit() -> None:
    dataset = datasets.Dataset.from_dict({"t": ["x" * 200]})
    row = hub.HubSource(dataset, "me/set train", row_limit=100).row(0)
    assert row.data is None and "over the limit of 100" in (row.problem or "")
