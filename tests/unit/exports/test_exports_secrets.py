"""No secret of a config is shown, and no value that is none is hidden."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

import pytest

from sftui.cli import main
from sftui.errors import RecipeError, SftuiError
from sftui.exports.redacted import HIDDEN, without_secrets
from sftui.trainers import load_recipe
from sftui.trainers.verify.session import installed_version, process_environment

SECRETS = (
    "hub_token: s3cr3t-value",
    "+hub_token: s3cr3t-value",
    "  wandb_api_key: 's3cr3t-value'",
    'hf_token: "s3cr3t-value"',
    "push_to_hub_token: s3cr3t-value  # mine",
    "api_key: s3cr3t-value",
    "apikey=s3cr3t-value",
    "aws_secret_access_key: s3cr3t-value",
    "password: s3cr3t-value",
    "db_passwd: s3cr3t-value",
    "credentials: s3cr3t-value",
    "{sequence_len: 5, swanlab_api_key: s3cr3t-value, x: 1}",
    "swanlab_lark_secret: s3cr3t-value",
    "trainer_args: {hub_token: s3cr3t-value}",
    "a.yml: hub_token: s3cr3t-value",
    "x = y = api_key = s3cr3t-value",
    "webhook_url: https://x/s3cr3t-value",
    "note: hf_abcdefghijklmnopqrs3cr3tvalue",
    "key: AKIAABCDEFGHIJKLMNOP",
    "url: https://me:s3cr3t-value@host/x",
    "x: ghp_abcdefghijklmnopqrstuvwx",
)
PLAIN = (
    "eos_token: <|im_end|>",
    "pad_token: <|pad|>",
    "special_tokens:",
    "  bos_token: '<s>'",
    "tokens: [<a>, <b>]",
    "eot_tokens: [<|eot|>]",
    "add_special_tokens: true",
    "hub_token: null",
    "hub_token:",
    "api_key: ''",
    "max_new_tokens: 5",
    "num_key_value_heads: 8",
    "tokenizer_config: Qwen/Qwen3-0.6B",
    "revision: 0123456789abcdef0123456789abcdef01234567",
    "message_field_training: train",
    "key_to_batch_idx: 5",
    "datasets: [{path: https://host/x}]",
    "include_tokens_per_second: true",
    "split_thinking: true",
    "hub.x_token: <|x|>",
)


@pytest.mark.parametrize("line", SECRETS)
def test_a_secret_is_hidden(line: str) -> None:
    shown = without_secrets(line)
    assert HIDDEN in shown
    assert "s3cr3t" not in shown.replace("swanlab_lark_secret", "") and "AKIA" not in shown and "ghp_" not in shown


@pytest.mark.parametrize("word", ["hub_", "hf_", "secret", "a.", "token", "eyJ", "a = ", '"a": "', "hub_token"])
def test_a_line_is_read_once_however_long(word: str) -> None:
    """`hub_hub_hub_…` of 1,000 characters took 2.5 seconds, and eight times as long for each doubling."""
    line = word * (200_000 // len(word))
    without_secrets(line)
    without_secrets(f"{line}xtoken: a")


@pytest.mark.parametrize("line", PLAIN)
def test_what_is_no_secret_is_shown_as_it_is(line: str) -> None:
    assert without_secrets(line) == line


def test_exports_do_not_tell_the_tokens_of_a_config(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"messages": [{"role": "user", "content": "Hi?"}, {"role": "assistant", "content": "Ho."}]}
    monkeypatch.chdir(tmp_path)
    Path("d.jsonl").write_text((json.dumps(row) + "\n") * 2)
    Path("a.yml").write_text(
        "base_model: builtin:chatml\nsequence_len: 64\nhub_token: hf_s3cr3tvalues3cr3tvalue\n"
        "wandb_api_key: s3cr3tvalue\ndatasets:\n- {path: d.jsonl, type: chat_template}\n"
    )
    with pytest.raises(SystemExit):
        main(["export", "a.yml", "--max-length", "32", "--to", "axolotl", "-o", "out"])
    told = capsys.readouterr()
    assert "sequence_len: 32" in told.err and "s3cr3t" not in told.err + told.out
    written = Path("out/a.yml").read_text()
    assert "sequence_len: 32" in written and "hub_token: hf_s3cr3tvalues3cr3tvalue" in written


def test_a_token_that_stands_twice_is_not_told() -> None:
    with pytest.raises(RecipeError, match="duplicate key") as error:
        load_recipe("hub_token: s3cr3t1\nhub_token: s3cr3t2\n", "r.yaml")
    assert "s3cr3t" not in str(error.value)


def keys() -> dict[str, str]:
    names = "WANDB_API_KEY AWS_SECRET_ACCESS_KEY AWS_ACCESS_KEY_ID HF_TOKEN HUGGING_FACE_HUB_TOKEN OPENAI_API_KEY"
    names += " GITHUB_TOKEN UNSLOTH_API_KEY PYTORCH_TOKEN COMET_API_KEY SSH_AUTH_SOCK DATABASE_URL HTTPS_PROXY"
    return dict.fromkeys(names.split(), "s3cr3t")


def test_a_trainer_gets_no_secret_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {
        "PATH": "/bin",
        "HOME": "/h",
        "HF_HOME": "/hf",
        "HF_HUB_OFFLINE": "1",
        "CUDA_VISIBLE_DEVICES": "0",
        "LC_ALL": "C.UTF-8",
        "PYTORCH_CUDA_ALLOC_CONF": "x",
        "TOKENIZERS_PARALLELISM": "false",
    }
    for name, value in {**keys(), **kept}.items():
        monkeypatch.setenv(name, value)
    passed = process_environment()
    assert "s3cr3t" not in passed.values()
    assert {name: passed.get(name) for name in kept} == kept


def test_the_trainer_really_sees_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Through `installed_version`, which starts the python that is asked."""
    for name, value in keys().items():
        monkeypatch.setenv(name, value)
    spy = tmp_path / "python"
    spy.write_text(f'#!/bin/sh\nenv > {tmp_path}/seen\nexec {sys.executable} "$@"\n')
    spy.chmod(0o755)
    with contextlib.suppress(SftuiError):  # it need not be installed here
        installed_version(spy, "trl")
    assert "s3cr3t" not in (tmp_path / "seen").read_text()
