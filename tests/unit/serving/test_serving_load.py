"""What `--serve` takes, and how it travels: commands, calls from Python, and other processes find the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from gguf_files import served_as, write

import sftui
from sftui.cli.app import check, report
from sftui.errors import SftuiError
from sftui.serving import GGUF, TEMPLATE, TOKENIZER, kind_of, load_served
from sftui.tokens import load_tokenizer

ASKED, SAID = {"role": "user", "content": "What is 2+2?"}, {"role": "assistant", "content": "It is 4."}
CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
BRIEF = {"role": "system", "content": "Be brief."}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = [[ASKED, SAID], [BRIEF, ASKED, SAID], [{"role": "user", "content": "Hi"}]]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"messages": one}) + "\n" for one in rows))
    return path


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("builtin:chatml", TOKENIZER),
        ("builtin:vicuna", TEMPLATE),
        ("vicuna", TEMPLATE),
        ("Qwen/Qwen3-0.6B", TOKENIZER),
        ("FOLDER", TOKENIZER),
        ("FOLDER/x.jinja", TEMPLATE),
        ("FOLDER/tokenizer_config.json", TEMPLATE),
        ("FOLDER/tokenizer.json", TOKENIZER),
        ("FOLDER/x.gguf", GGUF),
    ],
)
def test_what_a_name_means(name: str, kind: str, tmp_path: Path) -> None:
    for file in ("x.jinja", "tokenizer_config.json", "tokenizer.json", "x.gguf"):
        (tmp_path / file).write_text("{}")
    assert kind_of(name.replace("FOLDER", str(tmp_path))) == kind


def bare(folder: Path) -> str:
    """The files of a tokenizer without a template."""
    from sftui.tokens.builtin import folder as builtin_folder

    made = folder / "bare"
    made.mkdir()
    for one in builtin_folder("chatml").glob("*.json"):
        (made / one.name).write_bytes(one.read_bytes())
    told = made / "tokenizer_config.json"
    if told.exists():
        told.write_text(json.dumps({k: v for k, v in json.loads(told.read_text()).items() if k != "chat_template"}))
    return str(made)


def gguf_of(content: bytes) -> Callable[[Path], str]:
    def made(folder: Path) -> str:
        (folder / "x.gguf").write_bytes(content)
        return str(folder / "x.gguf")

    return made


def named(name: str, content: str | None = None) -> Callable[[Path], str]:
    def made(folder: Path) -> str:
        if content is not None:
            (folder / name).write_text(content)
        return str(folder / name)

    return made


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (named("no.jinja"), "there is no such file"),
        (named("no.gguf"), "there is no such file"),
        (named("no-such-folder"), "there is no such tokenizer"),
        (named("empty.jinja", ""), "it renders the same text for any messages"),
        (named("rows.txt", "hello"), "it renders the same text for any messages"),
        (named("broken.jinja", "{% for m in messages %}"), "cannot be parsed"),
        (named("tokenizer_config.json", "{}"), "the file contains no chat template"),
        (
            gguf_of(b"not one, but long enough to be looked at"),
            "the GGUF file cannot be read, because it is not a GGUF",
        ),
        (lambda folder: str(write(folder / "x.gguf", {"general.architecture": "x"})), "no tokenizer.chat_template"),
        pytest.param(bare, "to serve with, because the tokenizer has none", marks=pytest.mark.long),
    ],
)
def test_what_cannot_be_served_is_one_sentence(make: Callable[[Path], str], told: str, tmp_path: Path) -> None:
    name = make(tmp_path)
    with pytest.raises(SftuiError, match=told) as caught:
        load_served(name, load_tokenizer("builtin:chatml"), "builtin:chatml")
    assert str(caught.value).count("\n") == 0 and Path(name).name in str(caught.value)


@pytest.mark.long
def test_a_folder_says_what_ends_generation(tmp_path: Path) -> None:
    folder = Path(bare(tmp_path))
    (folder / "chat_template.jinja").write_text(CHATML)
    own = load_tokenizer("builtin:chatml")
    end = own.token_id("<|endoftext|>")
    told = []
    for file, value in (("config.json", {}), ("config.json", {"eos_token_id": end}),
                        ("generation_config.json", {"eos_token_id": [end]})):  # fmt: skip
        (folder / file).write_text(json.dumps(value))
        told.append(load_served(str(folder), own, None).stops)
    both = frozenset(("<|im_end|>", "<|endoftext|>"))
    assert told == [None, both, both]


def run(command: Any, *words: str) -> Any:
    return CliRunner().invoke(command, list(words), standalone_mode=False, catch_exceptions=False)


@pytest.mark.parametrize("jobs", ["1", pytest.param("2", marks=pytest.mark.long)])
def test_commands_and_calls_find_the_same(jobs: str, data: Path, tmp_path: Path) -> None:
    page = tmp_path / "found.json"
    words = (str(data), "-t", "builtin:chatml", "--trainer", "trl", "--serve", "builtin:llama3", "--jobs", jobs)
    told = run(check, *words, "--also", "json", str(page))
    assert told.return_value == 1
    assert "the model is served differently from how it is trained, 2 times, in 67 % of rows" in told.stdout.replace(
        "\n  ", ""
    )
    (one,) = [each for each in json.loads(page.read_text())["codes"] if each["code"] == "TPL017"]
    assert one["rows"] == [0, 1] and one["share"] == pytest.approx(2 / 3)
    called = sftui.check(str(data), tokenizer="builtin:chatml", trainer="trl", serve="builtin:llama3")
    (same,) = [each for each in called.findings if each.code == "TPL017"]
    assert (list(same.rows), same.share) == (one["rows"], one["share"])


@pytest.mark.long
def test_the_page_tells_the_share_of_rows(data: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    run(report, str(data), "-t", "builtin:chatml", "--trainer", "trl", "--serve", "builtin:llama3", "-o", str(page))
    assert "Found in 67 % of rows." in page.read_text()


def test_a_gguf_is_served_by_name(data: Path, tmp_path: Path) -> None:
    path = served_as(tmp_path / "x.gguf", load_tokenizer("builtin:chatml"))
    called = sftui.check(str(data), tokenizer="builtin:chatml", trainer="trl", serve=path)
    assert not [each for each in called.findings if each.code in ("TPL017", "EOS013")]
    other = served_as(tmp_path / "y.gguf", load_tokenizer("builtin:gemma"))
    called = sftui.check(str(data), tokenizer="builtin:chatml", trainer="trl", serve=other)
    assert {each.code for each in called.findings} >= {"TPL017", "EOS013"}


def test_an_audit_is_remembered_by_what_is_served(data: Path) -> None:
    from sftui.audit.state import state_key
    from sftui.session.arguments import Arguments
    from sftui.session.ready import open_data, tokenized

    keys = set()
    for serve in (None, "builtin:chatml", "vicuna", "builtin:llama3"):
        options, _ = Arguments(data=(str(data),), tokenizer="builtin:chatml", serve=serve).options()
        keys.add(state_key(tokenized(open_data(options)).ready().checks(), [str(data)]))
    assert len(keys) == 4
