"""Whatever the inspector writes: never over anything that is open, under no name, and not with `!` either."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from rows_worker import chats, write_chats
from tui_driver import Driven, running

from sftui.exports.plan import ExportPlan, plan_export
from sftui.recipe import changed
from sftui.templates import builtin_template
from sftui.tokens import builtin
from sftui.trainers import preset
from sftui.workspace import OpenOptions, Workspace
from sftui.workspace import requests as rq

WRITING = (("w", "w"), ("w", "i"), ("w", "l"), ("w", "t"), ("x", "enter"))
INPUTS = ("train.jsonl", "t.jinja", "tok/tokenizer.json", "r.yaml", "other.yaml")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where data, a template, a tokenizer and two recipes are."""
    monkeypatch.chdir(tmp_path)
    write_chats(tmp_path / "train.jsonl", chats(3))
    (tmp_path / "t.jinja").write_text(builtin_template("gemma").source)
    (tmp_path / "r.yaml").write_text("{}\n")
    (tmp_path / "other.yaml").write_text("preset: hf-trainer\ntokenizer: {name: tok}\n")
    (tmp_path / "tok").mkdir()
    for file in builtin.folder("chatml").iterdir():
        (tmp_path / "tok" / file.name).write_bytes(file.read_bytes())
    return tmp_path


def opened(paths: tuple[str, ...] = ("train.jsonl",)) -> OpenOptions:
    recipe = changed(changed(preset(), "tokenizer.name", "tok"), "render.template", "file:t.jinja")
    return OpenOptions(paths, recipe=recipe, recipe_file="r.yaml")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


async def compared(driven: Driven) -> None:
    await driven.press("C", "end", "enter", *"other.yaml", "enter", "escape")


async def waited(driven: Driven, done: Callable[[], bool]) -> None:
    """On a busy machine one pause is over before a key is taken."""
    for _ in range(100):
        if done():
            return
        await asyncio.sleep(0.02)
        await driven.settle()


async def named(driven: Driven, keys: tuple[str, ...], name: str) -> str:
    await driven.press(*keys)
    await waited(driven, lambda: driven.main.prompt.open)
    driven.main.prompt.text, driven.main.prompt.cursor = name, len(name)  # typing a thousand keys takes a minute
    await driven.press("enter")
    await waited(
        driven, lambda: bool(driven.said) and not driven.said.startswith(("file for", "folder for", "new file"))
    )
    said = driven.said
    await driven.press("escape")
    await waited(driven, lambda: not driven.main.prompt.open and len(driven.app.screen_stack) == 1)
    return said


@pytest.mark.one_of(3)
@pytest.mark.parametrize("link", ["itself", "symlink", "hardlink"])
async def test_no_input_is_written_over(folder: Path, link: str) -> None:
    async with running((80, 24), options=opened()) as driven:
        await compared(driven)
        await driven.press("r", "k")
        # The mark is written beside what runs here: what is compared below must not change by it.
        await waited(driven, lambda: [path.suffix for path in folder.glob("state/sftui/marks/*")] == [".jsonl"])
        for number, victim in enumerate(INPUTS):
            target = victim
            if link != "itself":
                target = f"link{number}.json"
                (os.symlink if link == "symlink" else os.link)(folder / victim, folder / target)
            before = contents(folder)
            # Every key on the first input, and every input by some key: all by all would take a minute.
            for keys in WRITING if number == 0 else (WRITING[number % len(WRITING)],):
                for name in (f"./{target}!", target):
                    assert "one of the input files" in await named(driven, keys, name), (keys, name)
            assert contents(folder) == before
        assert "wrote" in await named(driven, ("w", "w"), "new.json") and (folder / "new.json").exists()
        assert "already" in await named(driven, ("w", "w"), "new.json") and "wrote" in await named(
            driven, ("w", "w"), "new.json!"
        )


async def test_a_file_does_not_become_data_nor_a_folder_a_file(folder: Path) -> None:
    async with running((80, 24), options=opened((".",))) as driven:
        assert (
            "read as data next time" in await named(driven, ("w", "w"), "row.json")
            and not (folder / "row.json").exists()
        )
        assert "folder or a device" in await named(driven, ("w", "w"), "tok!")
        assert "wrote" in await named(driven, ("w", "w"), "row.txt")


async def test_a_tagged_template_is_not_written_over_its_own(folder: Path) -> None:
    recipe = preset("trl@1.16")
    before = (folder / "t.jinja").read_text(), (folder / "train.jsonl").read_text()
    options = OpenOptions(("train.jsonl",), recipe=recipe, base=changed(recipe, "render.template", "file:t.jinja"))
    async with running((80, 24), options=options) as driven:
        await driven.press("f", "a", "a")
        for name in ("t.jinja!", "train.jsonl!"):
            await driven.press("ctrl+u", "ctrl+k", *name, "enter")
            assert "one of the input files" in driven.said and driven.main.prompt.open
        assert before == ((folder / "t.jinja").read_text(), (folder / "train.jsonl").read_text())


async def test_an_export_refuses_a_link_to_an_input_but_writes_the_recipe_back(folder: Path) -> None:
    class Planning(Workspace):
        def plan_export(self, to: str, folder: str) -> ExportPlan:
            return plan_export(to, folder, self.recipe, self.base_recipe, prepared)

    from sftui.exports.prepared import ExportInput

    prepared, before = ExportInput(("train.jsonl",)), (folder / "train.jsonl").read_text()
    options = OpenOptions(("train.jsonl",), recipe_file="out/recipe.yaml")
    (folder / "out").mkdir()
    (folder / "linked").mkdir()
    (folder / "out/recipe.yaml").write_text("preset: hf-trainer\n")
    os.link(folder / "train.jsonl", folder / "linked/recipe.yaml")
    async with running((80, 24), kind=Planning, options=options) as driven:
        assert "one of the input files" in await named(driven, ("x", "enter"), "linked")
        await driven.press("x", "enter", "ctrl+u", "ctrl+k", *"out", "enter")
        assert "a overwrites" in driven.text
        await driven.press("a")
        assert "wrote out/recipe.yaml" in driven.said and (folder / "train.jsonl").read_text() == before


async def test_repaired_data_spares_every_input(folder: Path) -> None:
    os.link(folder / "train.jsonl", folder / "copy.jsonl")
    os.symlink(folder / "t.jinja", folder / "fresh.log.jsonl")
    async with running((80, 24), options=opened()) as driven:
        await driven.press("R", *"jjjj", "enter")
        for name in ("copy.jsonl", "fresh.jsonl"):
            assert "one of the input files" in await named(driven, ("x", "enter"), name)
        assert not driven.worker.asked(rq.WriteRequest)
