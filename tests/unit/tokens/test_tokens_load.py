"""Loading: names, the cache of proofs, provisional tokenizers, and what is not imported."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sftui.errors import TokenizerError
from sftui.tokens import LoadedTokenizer, builtin, load_tokenizer
from sftui.tokens.loading import cache, environments
from sftui.tokens.loading.locate import fingerprint, locate
from sftui.tokens.release import read_backend

REPO = Path(__file__).resolve().parents[3]
CLEAN = """
import json, sys
from sftui.tokens import load_tokenizer
loaded = load_tokenizer(sys.argv[1], revision=sys.argv[3] if len(sys.argv) > 3 else None, mode=sys.argv[2])
heavy = [m for m in ("transformers", "numpy", "datasets", "jinja2", "torch") if m in sys.modules]
print(json.dumps({"facts": loaded.facts.to_json(), "heavy": heavy, "ids": [*loaded.encode("Hello there", True).ids]}))
"""


def clean(*arguments: str, **env: str) -> dict[str, Any]:
    """Load in a clean interpreter whose stdin never ends, as under a terminal interface."""
    read, write = os.pipe()
    try:
        ended = subprocess.run(
            [sys.executable, "-c", CLEAN, *arguments],
            stdin=read,
            capture_output=True,
            text=True,
            cwd=REPO,
            timeout=120,
            env={**os.environ, "PYTHONPATH": str(REPO), **env},
            check=False,
        )
    finally:
        os.close(read)
        os.close(write)
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def test_a_folder_is_proven_once_and_never_imports_transformers(make_folder: Any) -> None:
    folder = make_folder("llama3")
    first = clean(str(folder), "proven")
    assert first["heavy"] == []
    assert first["facts"]["state"] == "proven"
    assert first["facts"]["probes"] > 150
    assert first["facts"]["bos_token"] == "<|begin_of_text|>"
    made = list(cache.cache_root().iterdir())
    assert len(made) == 1
    before = (made[0] / "proof.json").stat().st_mtime_ns
    again = clean(str(folder), "provisional")
    assert again == first, "a proof that is there is used at once"
    assert (made[0] / "proof.json").stat().st_mtime_ns == before
    record = json.loads((made[0] / "proof.json").read_text())
    assert load_tokenizer(str(folder)).facts.backend == record["backend"] != ""
    assert set(record) == {"files", "versions", "environment", "probes", "name", "revision", "backend", "quick"}
    assert {"transformers", "tokenizers"} <= set(record["versions"])


@pytest.mark.processes
def test_files_beside_the_data_are_not_imported(
    make_folder: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_folder("chatml")
    data = tmp_path / "data"
    data.mkdir()
    for name in ("json.py", "transformers.py", "tokenizers.py", "sftui.py"):
        (data / name).write_text("raise SystemExit('code of a data folder was run')")
    monkeypatch.chdir(data)
    assert load_tokenizer(os.path.relpath(folder)).facts.state == "proven"


def test_builtins_are_proven_at_once_and_offline() -> None:
    found = clean("builtin:gemma", "provisional")
    assert (found["facts"]["state"], found["heavy"], found["ids"][0]) == ("proven", [], 2)


@pytest.mark.parametrize(
    "name", ["tokenizer.json", "tokenizer_config.json", "config.json", "chat_template.jinja", "special_tokens_map.json"]
)
def test_a_changed_file_needs_a_new_proof(name: str, make_folder: Any) -> None:
    folder = make_folder("chatml")
    load_tokenizer(str(folder))
    place = locate(str(folder))
    assert cache.find(place, cache.cache_root()) is not None
    path = folder / name
    path.write_text((path.read_text() if path.exists() else "{}") + " ")
    assert cache.find(place, cache.cache_root()) is None


def test_weights_do_not_count(make_folder: Any) -> None:
    folder = make_folder("chatml", **{"model_dot_safetensors": b"x", "README_dot_md": "x"})
    assert set(fingerprint(locate(str(folder)))) == {"tokenizer.json", "tokenizer_config.json", "README.md"}


def test_another_version_needs_a_new_proof(make_folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_folder("chatml")
    load_tokenizer(str(folder))
    monkeypatch.setattr(cache, "versions", lambda: {"transformers": "99"})
    assert cache.find(locate(str(folder)), cache.cache_root()) is None


def test_versions_are_those_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    found = environments.versions()
    assert {"transformers", "tokenizers"} <= set(found)
    assert found == {name: metadata.version(name) for name in found}
    monkeypatch.setattr(os, "listdir", lambda _: [])
    assert environments.versions() == {name: found[name] for name in ("transformers", "tokenizers")}


@pytest.mark.parametrize("damage", ["tokenizer.json", "facts.json", "proof.json"])
def test_a_damaged_proof_is_made_again(damage: str, make_folder: Any) -> None:
    folder = make_folder("chatml")
    load_tokenizer(str(folder))
    (made,) = cache.cache_root().iterdir()
    (made / damage).write_text("{")
    assert cache.find(locate(str(folder)), cache.cache_root()) is None
    assert load_tokenizer(str(folder)).facts.state == "proven"
    assert [path.name for path in cache.cache_root().iterdir()] == [made.name], "no leftovers"


def test_a_backend_that_differs_is_not_used(make_folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sftui.tokens.loading.compare.backend_differences", lambda *_: 3)
    loaded = load_tokenizer(str(make_folder("llama3")))
    assert (loaded.facts.engine, loaded.facts.probes) == ("transformers", 0)
    assert any("differs from AutoTokenizer on 3 of" in note for note in loaded.facts.notes)
    known = load_tokenizer("builtin:llama3")
    for special in (False, True):
        assert loaded.encode("Hello ✂️\n<|eot_id|>", special) == known.encode("Hello ✂️\n<|eot_id|>", special)
    ids = loaded.encode("Hello ✂️<|eot_id|>").ids
    assert [(loaded.piece(i), loaded.surface(i), loaded.is_special(i)) for i in ids] == [
        (known.piece(i), known.surface(i), known.is_special(i)) for i in ids
    ]
    assert loaded.token_id("nothing") is None


def test_an_unwritable_cache_is_no_reason_to_fail(
    make_folder: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "blocked").write_text("a file where the folder should be")
    monkeypatch.setenv("SFTUI_CACHE", str(tmp_path / "blocked"))
    assert load_tokenizer(str(make_folder("chatml"))).facts.state == "proven"


def test_provisional_reads_what_the_files_say(make_folder: Any) -> None:
    folder = make_folder("gemma")
    quick = load_tokenizer(str(folder), mode="provisional")
    assert quick.facts.state == "provisional"
    assert not cache.cache_root().exists()
    slow = load_tokenizer(str(folder))
    for key in (
        "special_tokens",
        "bos_id",
        "eos_id",
        "pad_id",
        "unk_id",
        "front",
        "back",
        "adds_bos",
        "vocab_size",
        "chat_templates",
        "padding_side",
        "model_max_length",
    ):
        assert getattr(quick.facts, key) == getattr(slow.facts, key), key
    assert quick.encode("Hello", True) == slow.encode("Hello", True)


def test_provisional_without_tokenizer_json_asks_the_reference(tmp_path: Path, make_folder: Any) -> None:
    """The workspace asks for a provisional tokenizer first: what has none must still load, or say why."""
    (tmp_path / "byt5").mkdir()
    (tmp_path / "byt5" / "tokenizer_config.json").write_text('{"tokenizer_class": "ByT5Tokenizer"}')
    loaded = load_tokenizer(str(tmp_path / "byt5"), mode="provisional")
    assert (loaded.facts.state, loaded.facts.engine) == ("proven", "transformers")
    with pytest.raises(TokenizerError, match="it has no vocabulary file"):
        load_tokenizer(str(make_folder("chatml", tokenizer_dot_json=None)), mode="provisional")


def test_special_tokens_map_and_templates_from_files(make_folder: Any) -> None:
    folder = make_folder(
        "chatml",
        special_tokens_map_dot_json={
            "bos_token": {"content": "<|im_start|>", "lstrip": False},
            "eos_token": "<|endoftext|>",
        },
        chat_template_dot_jinja="DEFAULT",
        additional_chat_templates__tool_use_dot_jinja="TOOLS",
    )
    for loaded in (load_tokenizer(str(folder), mode="provisional"), load_tokenizer(str(folder))):
        assert loaded.facts.bos_token == "<|im_start|>"
        assert loaded.facts.eos_token == "<|endoftext|>"
        assert loaded.facts.chat_templates == {"default": "DEFAULT", "tool_use": "TOOLS"}
    assert any("several chat templates: default, tool_use" in note for note in loaded.facts.notes)


def test_model_specific_special_tokens(make_folder: Any) -> None:
    config = {"image_token": "<|im_start|>", "extra_special_tokens": {"audio_token": "<|im_end|>"}}
    folder = str(make_folder("chatml", config=config))
    for loaded in (load_tokenizer(folder, mode="provisional"), load_tokenizer(folder)):
        assert loaded.facts.special_tokens["image_token"] == "<|im_start|>"
        assert loaded.facts.special_tokens["audio_token"] == "<|im_end|>"


def test_tokens_added_by_the_config_are_told(make_folder: Any) -> None:
    loaded = load_tokenizer(str(make_folder("chatml", config={"pad_token": "[PAD]"})))
    assert (loaded.facts.pad_id, loaded.facts.vocab_size) == (3003, 3004)
    assert any("adds tokens that tokenizer.json does not have: [PAD] (id 3003)" in note for note in loaded.facts.notes)


def test_named_templates_in_the_config(make_folder: Any) -> None:
    templates = [{"name": "default", "template": "A"}, {"name": "rag", "template": "B"}]
    folder = make_folder("chatml", config={"chat_template": templates})
    for loaded in (load_tokenizer(str(folder), mode="provisional"), load_tokenizer(str(folder))):
        assert loaded.facts.chat_templates == {"default": "A", "rag": "B"}


def test_tokenizer_json_alone(make_folder: Any) -> None:
    path = make_folder("llama3") / "tokenizer.json"
    loaded = load_tokenizer(str(path))
    assert loaded.facts.special_tokens == {}
    assert loaded.facts.chat_templates == {}
    assert (loaded.facts.bos_id, loaded.facts.adds_bos) == (None, False)
    assert loaded.facts.front == load_tokenizer("builtin:llama3").facts.front
    assert "there is only a tokenizer.json" in loaded.facts.notes[0]


def test_folder_with_only_tokenizer_json(make_folder: Any) -> None:
    loaded = load_tokenizer(str(make_folder("chatml", tokenizer_config_dot_json=None)))
    assert loaded.facts.special_tokens == {}
    assert any("no tokenizer_config.json" in note for note in loaded.facts.notes)


def test_split_special_tokens_survives_the_proof(make_folder: Any) -> None:
    folder = str(make_folder("chatml", config={"split_special_tokens": True}))
    for loaded in (load_tokenizer(folder, mode="provisional"), load_tokenizer(folder)):
        assert len(loaded.encode("<|im_end|>")) > 1
        assert loaded.facts.split_special_tokens


COMMIT = "0123456789abcdef0123456789abcdef01234567"


def hub_cache(home: Path, source: Path, repo: str = "acme/tiny") -> Path:
    folder = home / "hub" / ("models--" + repo.replace("/", "--"))
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text(COMMIT)
    snapshot = folder / "snapshots" / COMMIT
    (folder / "blobs").mkdir()
    # huggingface_hub notes here that the repo has no config.json; without it offline means unknown.
    (folder / ".no_exist" / COMMIT).mkdir(parents=True)
    (folder / ".no_exist" / COMMIT / "config.json").touch()
    snapshot.mkdir(parents=True)
    for path in source.iterdir():
        blob = folder / "blobs" / path.name
        shutil.copyfile(path, blob)
        (snapshot / path.name).symlink_to(os.path.relpath(blob, snapshot))
    return snapshot


def test_a_hub_name_offline_from_the_local_cache(make_folder: Any, tmp_path: Path) -> None:
    snapshot = hub_cache(tmp_path / "hf", make_folder("llama3"))
    env = {"HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1"}
    first = clean("acme/tiny", "proven", **env)
    assert first["facts"]["name"] == "acme/tiny"
    assert first["facts"]["commit"] == COMMIT
    assert any(COMMIT[:8] in note for note in first["facts"]["notes"])
    assert first["heavy"] == []
    assert clean("acme/tiny", "provisional", **env) == first
    assert clean("acme/tiny", "provisional", COMMIT, **env)["facts"]["state"] == "proven"
    blob = snapshot.parents[1] / "blobs" / "tokenizer_config.json"
    blob.write_text(blob.read_text() + " ")
    assert clean("acme/tiny", "provisional", **env)["facts"]["state"] == "provisional"


def test_a_folder_wins_over_a_hub_name(make_folder: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_folder("chatml", name="acme/tiny")
    monkeypatch.chdir(tmp_path)
    assert locate("acme/tiny").kind == "folder"


@pytest.mark.parametrize(("name", "kind"), [("gpt2", "hub"), ("google/gemma-2b", "hub"), ("builtin:gemma", "builtin")])
def test_kinds_of_names(name: str, kind: str) -> None:
    assert locate(name).kind == kind


def test_facts_travel(make_folder: Any) -> None:
    import pickle

    loaded: LoadedTokenizer = load_tokenizer(str(make_folder("gemma")))
    assert pickle.loads(pickle.dumps(loaded.facts)) == loaded.facts
    assert builtin.NAMES == ("chatml", "gemma", "llama3")


def test_an_unknown_mode_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="proven"):
        load_tokenizer("builtin:gemma", mode="fast")


@pytest.mark.parametrize("kind", ["Exception", "PanicException"])
def test_a_file_on_which_the_library_gives_up_is_told(
    kind: str, make_folder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """tokenizers raises Exception for what it cannot read, and where Rust panics what is no Exception."""
    base: type = Exception if kind == "Exception" else BaseException
    gives_up = type(kind, (base,), {"__module__": "pyo3_runtime"})

    class GivingUp:
        @staticmethod
        def from_file(path: str) -> Any:
            raise gives_up("as the test asked it to")

    monkeypatch.setattr("tokenizers.Tokenizer", GivingUp)
    path = Path(make_folder("chatml")) / "tokenizer.json"
    with pytest.raises(TokenizerError, match=r"tokenizer\.json cannot be read \(as the test asked it to\)"):
        read_backend(path, "t")


def test_what_the_library_does_not_raise_passes_through(make_folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stopped:
        @staticmethod
        def from_file(path: str) -> Any:
            raise KeyboardInterrupt

    monkeypatch.setattr("tokenizers.Tokenizer", Stopped)
    with pytest.raises(KeyboardInterrupt):
        read_backend(Path(make_folder("chatml")) / "tokenizer.json", "t")


def test_a_home_that_nobody_has_is_no_tokenizer() -> None:
    with pytest.raises(TokenizerError, match="there is no such tokenizer"):
        locate("~no_such_user/gemma")


def test_a_long_text_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer, texts = load_tokenizer("builtin:chatml", mode="provisional"), ["a" * 11, "b" * 11]
    asked: list[str] = []
    encode = tokenizer.engine.encode_batch
    monkeypatch.setattr("sftui.tokens.loaded.LONG", 10)

    def counted(of: list[str], special: bool) -> Any:
        asked.extend(of)
        return encode(of, special)

    monkeypatch.setattr(tokenizer.engine, "encode_batch", counted)
    for text in (texts[0], "short", texts[0], "short", texts[1], texts[1], texts[0]):
        assert tokenizer.encode(text) == encode([text], False)[0]
    assert asked == [texts[0], "short", "short", texts[1], texts[0]]
