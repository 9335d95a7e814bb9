"""Whose tokenization a session shows, which Python may give it, and what is said where none can."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from sftui.errors import SftuiError, TokenizerError
from sftui.recipe import changed
from sftui.runs import flat
from sftui.session.comparing import tokenized_otherwise
from sftui.session.options import OpenOptions
from sftui.session.versions import (
    load,
    loaded_by,
    proven_on,
    tokenizer_key,
    version_notes,
    version_short,
    version_words,
    wanted_version,
)
from sftui.tokens import builtin
from sftui.tokens.loading.four import redone
from sftui.tokens.loading.given import GivenTokenizer
from sftui.tokens.loading.locate import locate
from sftui.trainers import load_recipe, preset
from sftui.trainers.versions import reference_version, running_version

OTHER = "5.6.0"


@pytest.fixture(autouse=True)
def nothing_at_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFTUI_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "d.jsonl").write_text('{"messages": []}\n')
    return folder / "d.jsonl"


def environment(folder: Path, version: str = OTHER) -> Path:
    """A folder that looks like an environment with a version; its python is ours."""
    site = folder / "lib" / "python3.11" / "site-packages"
    for package in (f"transformers-{version}", "tokenizers-0.22.2"):
        (site / f"{package}.dist-info").mkdir(parents=True)
    (folder / "bin").mkdir()
    (folder / "bin" / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (folder / "bin" / "python").chmod(0o755)
    return folder


def tokenizer(folder: Path, kind: str) -> str:
    """A byte-level tokenizer.json under a class."""
    folder.mkdir()
    shutil.copy(builtin.folder("llama3") / "tokenizer.json", folder)
    config = json.loads((builtin.folder("llama3") / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**config, "tokenizer_class": kind}))
    return str(folder)


def options(data: Path, **more: Any) -> OpenOptions:
    return OpenOptions(paths=(str(data),), **more)


def test_without_an_environment_the_ids_are_those_that_the_version_is_recorded_to_make(
    data: Path, tmp_path: Path
) -> None:
    """DeepSeek-V3's kind: a Llama class over byte-level files. 5.6.0 loads it by that class, which 5.24 has too."""
    recipe = preset("llamafactory@0.9")
    odd = changed(recipe, "tokenizer.name", tokenizer(tmp_path / "odd", "LlamaTokenizerFast"))
    assert wanted_version(odd, options(data)).environment is None
    for mode in ("provisional", "proven"):
        loaded = load(odd, options(data), mode)
        (note,) = version_notes(loaded.facts)
        assert note.startswith(f"the ids are those of transformers {OTHER}, loaded as sftui recorded it: with LlamaTok")
        assert (loaded.facts.transformers, loaded.facts.state) == (OTHER, "proven")
        assert version_words(loaded.facts) == f"ids of transformers {OTHER}"
        assert loaded_by(odd, loaded.facts) == "LlamaTokenizer"
        by_class = changed(changed(odd, "tokenizer.type", "LlamaTokenizer"), "tokenizer.transformers", "running")
        texts = ("Hello  world", "好 x")
        assert loaded.ids_batch(texts) == load(by_class, options(data)).ids_batch(texts)
        running = load(changed(odd, "tokenizer.transformers", "running"), options(data))
        assert loaded.ids_batch(texts) != running.ids_batch(texts), "the two versions differ here"
    assert proven_on(odd, options(data), loaded, texts) is loaded


@pytest.mark.parametrize(
    ("version", "why"),
    [
        ("5.14.1", "5.6.0 gives different ids for "),
        ("5.4.0", "how they load it is not known"),
        ("4.50.0", "how they load it is not known"),
    ],
)
def test_no_ids_are_shown_that_are_not_known(version: str, why: str, data: Path, tmp_path: Path) -> None:
    """Between two releases that load it by different classes, and where none was read."""
    name = tokenizer(tmp_path / "odd", "LlamaTokenizerFast")
    (Path(name) / "config.json").write_text('{"model_type": "deepseek_v3"}')
    recipe = changed(changed(preset("trl@1.16"), "tokenizer.name", name), "tokenizer.transformers", version)
    for mode in ("provisional", "proven"):
        with pytest.raises(TokenizerError) as found:
            load(recipe, options(data), mode)
        assert found.value.what == f"the ids under transformers {version}, which the recipe names, are not known"
        assert found.value.why.startswith(why) and f"--transformers {version} installs it" in found.value.fix
    shown = load(changed(recipe, "tokenizer.transformers", "running"), options(data))
    assert version_words(shown.facts) == ""


def test_a_release_of_sftui_s_own_that_nobody_read_is_told(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under a newer transformers than those that were read nothing is known of any tokenizer: sftui says so."""
    monkeypatch.setattr("sftui.session.versions.running_version", lambda: "5.99.0")
    recipe = changed(preset("trl@1.16"), "tokenizer.name", tokenizer(tmp_path / "plain", "PreTrainedTokenizerFast"))
    facts = load(recipe, options(data)).facts
    (note,) = (note for note in version_notes(facts) if "not verified" in note)
    assert note.startswith("ids under transformers 5.24.0 are not verified: trl@1.16 brings it, but those of 5.99.0")
    assert version_words(facts) == "ids under transformers 5.24.0 are not verified"


@pytest.mark.parametrize("name", ["llamafactory@0.9", "axolotl@0.19", "unsloth@2026.10", "trl@1.16", "hf-trainer"])
def test_nothing_is_told_where_the_ids_are_the_same(name: str, data: Path, tmp_path: Path) -> None:
    plain = changed(preset(name), "tokenizer.name", tokenizer(tmp_path / "plain", "PreTrainedTokenizerFast"))
    for one in (plain, changed(preset(name), "tokenizer.name", "builtin:chatml")):
        assert version_notes(load(one, options(data), "provisional").facts) == ()


@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "CONDA_PREFIX"])
def test_the_active_environment_is_used_where_it_has_the_version(
    variable: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = preset("llamafactory@0.9")
    monkeypatch.setenv(variable, str(environment(tmp_path / "venv")))
    found = wanted_version(recipe, options(data)).environment
    assert found is not None and (found.origin, found.transformers) == (f"${variable}", OTHER)
    monkeypatch.setenv(variable, str(environment(tmp_path / "other", "5.7.0")))
    assert wanted_version(recipe, options(data)).environment is None
    monkeypatch.setenv(variable, str(tmp_path / "absent"))
    assert wanted_version(recipe, options(data)).environment is None


def test_an_environment_that_came_with_the_data_is_never_run(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = preset("llamafactory@0.9")
    bad = environment(data.parent / "venv")
    (tmp_path / "link").symlink_to(bad)
    for path in (bad, tmp_path / "link"):
        monkeypatch.setenv("VIRTUAL_ENV", str(path))
        wanted = wanted_version(recipe, options(data))
        assert wanted.environment is None and wanted.refused.startswith("$VIRTUAL_ENV is in the folder of the data")
    named = wanted_version(recipe, options(data, env=str(bad))).environment
    assert named is not None and named.origin == "--env", "what the user names is theirs to name"


def test_the_settings_may_name_one(data: Path, tmp_path: Path) -> None:
    (tmp_path / "config" / "sftui").mkdir(parents=True)
    (tmp_path / "config" / "sftui" / "settings.yaml").write_text(f"environment: {environment(tmp_path / 'venv')}\n")
    found = wanted_version(preset("llamafactory@0.9"), options(data)).environment
    assert found is not None and found.origin == "settings.yaml"


def test_a_recipe_of_before_shows_what_it_showed_and_says_so(data: Path, tmp_path: Path) -> None:
    recipe = load_recipe("preset: llamafactory@0.9", "old.yaml")
    recipe = changed(recipe, "tokenizer.name", tokenizer(tmp_path / "odd", "LlamaTokenizerFast"))
    wanted = wanted_version(recipe, options(data))
    assert wanted.version == running_version() and wanted.environment is not None and wanted.environment.own
    (note,) = version_notes(load(recipe, options(data), "provisional").facts)
    assert "this recipe was saved before" in note and f"--transformers {OTHER} shows its ids" in note


def test_a_version_that_the_trainer_does_not_take_is_told(data: Path) -> None:
    for name, version, told in (
        ("llamafactory@0.9", running_version(), "llamafactory asks !=4.52.0,!=4.57.0,<=5.6.0,>=4.55.0"),
        ("axolotl@0.19", "5.17.0", "axolotl asks ==5.16.1"),
        ("trl@1.16", running_version(), ""),
        ("hf-trainer", running_version(), ""),
    ):
        recipe = changed(changed(preset(name), "tokenizer.transformers", version), "tokenizer.name", "builtin:chatml")
        notes = version_notes(load(recipe, options(data), "provisional").facts)
        assert notes == ((f"the trainer does not run with transformers {version}: {told}",) if told else ())


def test_another_version_is_another_tokenizer() -> None:
    recipe = changed(preset("trl@1.16"), "tokenizer.name", "builtin:chatml")
    assert tokenizer_key(recipe) == tokenizer_key(changed(recipe, "tokenizer.transformers", reference_version(recipe)))
    assert tokenizer_key(recipe) != tokenizer_key(changed(recipe, "tokenizer.transformers", OTHER))


def test_a_knob_that_is_no_version_is_refused(data: Path) -> None:
    recipe = changed(preset("trl@1.16"), "tokenizer.transformers", "newest")
    with pytest.raises(SftuiError, match=r"tokenizer\.transformers cannot be 'newest'"):
        wanted_version(recipe, options(data))


class Stub:
    """A session as `tokenized_otherwise` sees it."""

    def __init__(self, recipe: Any, version: str, name: str) -> None:
        from dataclasses import replace

        from sftui.tokens import load_tokenizer
        from sftui.tokens.loaded import LoadedTokenizer

        loaded = load_tokenizer(name)
        self.recipe = recipe
        self.tokenizer = LoadedTokenizer(replace(loaded.facts, transformers=version), loaded.engine)


@pytest.mark.parametrize(("other", "told"), [("builtin:llama3", True), ("builtin:chatml", False)])
def test_compare_blames_a_version_only_where_ids_differ(other: str, told: bool) -> None:
    recipe = changed(preset("trl@1.16"), "tokenizer.name", "T")
    second = changed(recipe, "tokenizer.transformers", OTHER)
    sessions: Any = [Stub(recipe, "", "builtin:chatml"), Stub(second, OTHER, other)]
    found = tokenized_otherwise(sessions, ["a", "b"])
    assert bool(found) is told
    if told:
        assert found[0].startswith(f"b tokenizes with transformers {OTHER}, a with {running_version()}")


def test_the_status_line_says_whose_ids() -> None:
    from sftui.tui.bars import status_cells
    from sftui.tui.state import Status

    for told in ("ids of transformers 5.6.0", "ids under transformers 5.6.0 are not verified"):
        for width in (80, 120):
            status = Status("data.jsonl", 3, 90, True, 1.0, "TRL 1.16", 4, 9, "", "proven", version=version_short(told))
            lines = status_cells(status, width, "f", "i")
            texts = ["".join(span[0] for span in cells) for cells in lines]
            assert version_short(told) in "".join(texts) and max(map(len, texts)) <= width
    assert version_short("ids under transformers 5.6.0 are not verified") == "5.6.0 not verified"


@pytest.mark.long
def test_transformers_4_is_redone_where_it_makes_other_ids(tmp_path: Path, data: Path) -> None:
    """Its classes are redone beside the proof; while that is on its way nothing is said."""
    texts = ("Hello  world", "好 x")
    for kind, told in (("PreTrainedTokenizerFast", False), ("LlamaTokenizerFast", True)):
        recipe = changed(preset("trl@1.16"), "tokenizer.name", tokenizer(tmp_path / kind, kind))
        recipe = changed(recipe, "tokenizer.transformers", "4.57.6")
        assert version_words(load(recipe, options(data), "provisional").facts) == ""
        loaded = load(recipe, options(data))
        assert version_words(loaded.facts) == ("ids of transformers 4.57.6" if told else "")
        file = redone(locate(str(tmp_path / kind)))
        assert file is not None
        for special in (False, True):
            theirs = file.backend.encode_batch(list(texts), add_special_tokens=special)
            assert loaded.ids_batch(texts, special) == [flat(one.ids) for one in theirs]
    assert loaded.facts.adds_bos and loaded.facts.bos_id in loaded.facts.front
    assert isinstance(loaded, GivenTokenizer), "another process gets this very backend"


@pytest.mark.long
def test_the_class_that_is_named_loads_it(tmp_path: Path, data: Path) -> None:
    """Over a byte-level tokenizer.json, LlamaTokenizer of transformers 5 builds a backend with other ids."""
    recipe = changed(preset("hf-trainer"), "tokenizer.name", tokenizer(tmp_path / "plain", "PreTrainedTokenizerFast"))
    ids, keys, texts = [], set(), ["Hello  world", "好 x"]
    for kind in (None, "PreTrainedTokenizerFast", "LlamaTokenizer"):
        asked = changed(recipe, "tokenizer.type", kind)
        made = load(asked, options(data))
        ids.append([one.ids for one in made.encode_batch(texts, False)])
        keys.add(tokenizer_key(asked))
        assert loaded_by(asked, made.facts) == (kind or "")
    assert ids[0] == ids[1] != ids[2] and len(keys) == 3


@pytest.mark.one_of(2)
@pytest.mark.parametrize("kind", ["NoSuchTokenizer", "LlamaForCausalLM"])
def test_a_class_that_is_not_there_is_refused(kind: str, tmp_path: Path, data: Path) -> None:
    recipe = changed(preset("hf-trainer"), "tokenizer.name", tokenizer(tmp_path / "plain", "PreTrainedTokenizerFast"))
    recipe = changed(recipe, "tokenizer.type", kind)
    with pytest.raises(SftuiError, match=f"there is no tokenizer class {kind}"):
        load(changed(recipe, "tokenizer.transformers", "running"), options(data))
    with pytest.raises(SftuiError, match=f"there is no tokenizer class {kind}"):
        load(changed(recipe, "tokenizer.transformers", OTHER), options(data))


def test_a_bundled_tokenizer_is_loaded_by_the_class_from_its_folder(data: Path) -> None:
    recipe = changed(preset("hf-trainer"), "tokenizer.name", "builtin:chatml")
    made = load(changed(recipe, "tokenizer.type", "PreTrainedTokenizerFast"), options(data))
    plain = load(recipe, options(data))
    assert made.facts.state == "proven" and made.encode("Hi\n").ids == plain.encode("Hi\n").ids
    with pytest.raises(SftuiError, match="LlamaTokenizer cannot load the tokenizer, because it is neither a folder"):
        file = str(builtin.folder("chatml") / "tokenizer.json")
        load(changed(changed(recipe, "tokenizer.name", file), "tokenizer.type", "LlamaTokenizer"), options(data))
