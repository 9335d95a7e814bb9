"""The waste job: rows are gone through once, whichever limit and packing the recipe has then."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from sftui.audit.waste import RowSizes
from sftui.recipe import Recipe, changed
from sftui.session import waste
from sftui.session.options import OpenOptions
from sftui.session.ready import Ready, open_data, ready_under, tokenized
from sftui.tokens.shortcuts.bulk import Bulk
from sftui.trainers import preset
from sftui.workspace.events import WasteReady
from sftui.workspace.wasting import WasteRun


def test_another_limit_takes_no_second_pass_and_another_mask_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.jsonl"
    row = {"prompt": "why?", "completion": "because " * 20}
    path.write_text((json.dumps(row) + "\n") * 30)
    recipe = changed(preset("trl@1.16"), "tokenizer.name", "builtin:chatml")
    ready = tokenized(open_data(OpenOptions((str(path),), recipe=recipe)), "provisional").ready()
    passes: list[Recipe] = []
    sizes_of = waste.sizes_of

    def counted(ready: Ready, engine: Bulk) -> Iterator[RowSizes]:
        passes.append(ready.recipe)
        return sizes_of(ready, engine)

    monkeypatch.setattr(waste, "sizes_of", counted)
    run = WasteRun()

    def last(other: Recipe) -> WasteReady:
        *_, event = filter(None, run.run(ready_under(ready, other), partial(WasteReady, 1, 1, None)))
        return event

    first, then = last(recipe).table, last(changed(changed(recipe, "length.max", 16), "pack.strategy", "wrapped")).table
    assert first is not None and then is not None and first.done and then.done and len(passes) == 1
    assert 1024 in first.limits and 16 in then.limits and then.strategies[0] == "wrapped"
    last(changed(recipe, "mask.rule", "all"))
    assert len(passes) == 2
