"""What does not load says why, in one sentence of its own for each cause."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import errors as hub_errors
from references import load_reference

from sftui.errors import TokenizerError
from sftui.tokens import load_tokenizer
from sftui.tokens.loading import refusal
from sftui.tokens.loading.locate import Location, locate
from sftui.tokens.loading.raw import load_raw

REPO = Path(__file__).resolve().parents[3]
httpx = importlib.import_module(hub_errors.HTTPError.__module__.partition(".")[0])
"""httpx or httpx2, whichever this huggingface_hub is built on."""


def refused(name: str) -> str:
    with pytest.raises(TokenizerError) as caught:
        load_reference(locate(name))
    told = str(caught.value)
    assert told.startswith(f"{name}: the tokenizer cannot be loaded, because ")
    assert "\n" not in told
    return told


def response(status: int) -> Any:
    return httpx.Response(status, request=httpx.Request("GET", "https://huggingface.co/acme/tiny"))


HUB: list[tuple[Callable[[], Exception], tuple[str, ...]]] = [
    (
        lambda: hub_errors.GatedRepoError("gated", response=response(401)),
        ("is gated", "hf auth login", "https://huggingface.co/acme/tiny"),
    ),
    (
        lambda: hub_errors.GatedRepoError("gated", response=response(403)),
        ("your account has no access", "request access"),
    ),
    (lambda: hub_errors.RepositoryNotFoundError("none", response=response(404)), ("no such repository",)),
    (lambda: hub_errors.RepositoryNotFoundError("none", response=response(401)), ("or it is private", "HF_TOKEN")),
    (lambda: hub_errors.RevisionNotFoundError("none", response=response(404)), ("no revision 'v9'",)),
    (lambda: hub_errors.HfHubHTTPError("bad", response=response(403)), ("refused access (403)",)),
    (lambda: hub_errors.HfHubHTTPError("bad", response=response(503)), ("answered with an error (503)",)),
    (lambda: hub_errors.LocalEntryNotFoundError("offline"), ("cannot be reached", "not in the local Hub cache")),
    (lambda: httpx.ConnectError("no route"), ("cannot be reached",)),
]


@pytest.mark.parametrize(("error", "texts"), HUB)
def test_the_hub_says_no(
    error: Callable[[], Exception], texts: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exceptions of huggingface_hub come through transformers' own wrapping of them."""
    from transformers.utils import hub

    def raising(*_: Any, **__: Any) -> None:
        raise error()

    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(hub, "hf_hub_download", raising)
    monkeypatch.setattr(hub, "resolve_revision", lambda name, revision, **_: revision)
    with pytest.raises(TokenizerError) as caught:
        load_reference(locate("acme/tiny", "v9"))
    for text in texts:
        assert text in str(caught.value), str(caught.value)


def test_offline_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    told = refusal.explain(hub_errors.LocalEntryNotFoundError("x"), Location("acme/tiny", "hub", "acme/tiny"))
    assert "HF_HUB_OFFLINE is set" in str(told)
    assert "hf download acme/tiny" in told.fix


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("", "no tokenizer was given"),
        ("./nowhere", "no folder and no file"),
        ("a/b/c", "no folder and no file"),
        ("nowhere/tokenizer.json", "no folder and no file"),
        ("has space/x", "no folder and no file"),
    ],
)
def test_names_that_mean_nothing(name: str, text: str) -> None:
    with pytest.raises(TokenizerError, match=text):
        load_tokenizer(name)


def test_files_that_are_no_tokenizer(make_folder: Any) -> None:
    folder = make_folder("chatml", notes_dot_txt="x")
    with pytest.raises(TokenizerError, match="only describes one"):
        locate(str(folder / "tokenizer_config.json"))
    with pytest.raises(TokenizerError, match=r"only a tokenizer\.json or a \.gguf"):
        locate(str(folder / "notes.txt"))


def test_broken_json_names_the_file_and_the_line(make_folder: Any) -> None:
    assert "tokenizer.json is not valid JSON (line 1, column 6)" in refused(
        str(make_folder(name="a", tokenizer_dot_json='{"a":'))
    )
    assert "tokenizer_config.json is not valid JSON" in refused(
        str(make_folder(name="b", tokenizer_config_dot_json="{"))
    )
    assert "tokenizer_config.json is not UTF-8 (byte 0)" in refused(
        str(make_folder(name="c", tokenizer_config_dot_json=b"\xff{}"))
    )
    assert "config.json is not valid JSON" in refused(str(make_folder(name="d", config_dot_json="{")))
    assert "tokenizer_config.json is not a JSON object" in refused(
        str(make_folder(name="e", tokenizer_config_dot_json="[]"))
    )
    path = make_folder(name="f", tokenizer_dot_json="{") / "tokenizer.json"
    assert "tokenizer.json is not valid JSON" in refused(str(path))


def test_what_is_broken_is_not_shown_provisionally(make_folder: Any) -> None:
    with pytest.raises(TokenizerError, match=r"tokenizer\.json cannot be read"):
        load_raw(locate(str(make_folder(name="a", tokenizer_dot_json="{"))))
    with pytest.raises(TokenizerError, match=r"cannot be shown yet"):
        load_raw(locate(str(make_folder(name="b", tokenizer_config_dot_json="{"))))


def test_git_lfs_pointers_are_recognised(make_folder: Any, tmp_path: Path) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
    assert "tokenizer.json is a Git LFS pointer" in refused(str(make_folder(name="a", tokenizer_dot_json=pointer)))
    assert "git lfs pull" in refused(str(make_folder(name="b", tokenizer_dot_json=pointer) / "tokenizer.json"))
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "tokenizer.model").write_text(pointer)
    assert "tokenizer.model is a Git LFS pointer" in refused(str(tmp_path / "c"))


def test_empty_folder(tmp_path: Path) -> None:
    assert "it has no vocabulary file" in refused(str(tmp_path))


@pytest.mark.processes
def test_the_reason_comes_out_of_the_subprocess(make_folder: Any) -> None:
    folder = make_folder(tokenizer_config_dot_json="{")
    with pytest.raises(TokenizerError, match=r"tokenizer_config\.json is not valid JSON"):
        load_tokenizer(str(folder))


def test_an_empty_tokenizer_is_refused(make_folder: Any) -> None:
    """AutoTokenizer makes one of three tokens, without a word, where only the class is known."""
    from sftui.tokens.loading import cache
    from sftui.tokens.loading.prove import make_proof

    folder = make_folder(tokenizer_dot_json=None, tokenizer_config_dot_json={"tokenizer_class": "LlamaTokenizer"})
    with pytest.raises(TokenizerError, match="empty tokenizer with 3 tokens"):
        make_proof(locate(str(folder)), cache.cache_root())


@pytest.mark.processes
def test_a_subprocess_that_dies_is_told(make_folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(TokenizerError, match="ended with 1"):
        load_tokenizer(str(make_folder()))


def test_a_full_disk_is_told(make_folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from sftui.tokens.loading import cache
    from sftui.tokens.loading.prove import make_proof

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache, "_put", full)
    with pytest.raises(TokenizerError, match=r"No space left on device.*SFTUI_CACHE"):
        make_proof(locate(str(make_folder())), cache.cache_root())
    assert list(cache.cache_root().iterdir()) == [], "nothing half written stays"


MISSING = """
import sys
for name in sys.argv[2].split(","):
    sys.modules[name] = None
from sftui.errors import TokenizerError
from sftui.tokens.loading.locate import locate
from references import load_reference
try:
    load_reference(locate(sys.argv[1]))
except TokenizerError as error:
    print(error)
"""


@pytest.mark.one_of(3)
@pytest.mark.parametrize(
    ("kind", "hidden", "text"),
    [
        (
            "LlamaTokenizer",
            "sentencepiece,tiktoken",
            "the package that reads it is not installed; pip install sentencepiece\n",
        ),
        ("LlamaTokenizer", "sentencepiece", "the package that reads it is not installed; pip install sentencepiece\n"),
        ("SiglipTokenizer", "sentencepiece,google.protobuf", "pip install sentencepiece protobuf\n"),
    ],
)
def test_missing_sentencepiece_is_not_called_tiktoken(
    kind: str, hidden: str, text: str, sentencepiece_model: bytes, tmp_path: Path
) -> None:
    (tmp_path / "tokenizer.model").write_bytes(sentencepiece_model)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind}))
    ended = subprocess.run(
        [sys.executable, "-c", MISSING, str(tmp_path), hidden],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(REPO), str(Path(__file__).parent)])},
        check=True,
        timeout=120,
    )
    assert text in ended.stdout


def test_a_damaged_model_file(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.model").write_bytes(b"\x0e\x00garbage")
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "LlamaTokenizer"}')
    assert "neither a sentencepiece nor a tiktoken model" in refused(str(tmp_path))
