"""The TRL that a trainer brings packs by the rules that sftui has: its source is one of those that were read.

`READ` are digests of the code (comments and messages aside) of `_pack_bfd`, `_pack_wrapped` and the collator in every
release from 1.8 to 1.16, and in 0.24. Three things changed in between:

* 0.24 has no `bfd_split` and keeps empty rows in `bfd`.
* 1.14 packs `wrapped` right where a batch of rows is a slice of a larger table in memory. Before, every group but the
  first then held the ids of the first. Rows that a trainer loads from a file and maps are no such slices.
* 1.11 and 1.16 add keys to a batch (`position_ids` on request, `cu_seq_lens_*`, `seq_idx`), made of the position ids.

Axolotl packs with code of its own and uses nothing of TRL's but a padding function.
"""

from __future__ import annotations

import ast
import hashlib
import re
from pathlib import Path

import environments
import pytest
from case import environment

from sftui.trainers.versions import pins_of

READ: dict[str, tuple[str, str, str]] = {
    # of _pack_bfd, of _pack_wrapped, of the collator's torch_call
    "0.24.0": ("64ce913667", "de283461bd", "cfeafb55ea"),
    "1.8.0": ("4b29b436d0", "e156b22398", "5183f18d72"),
    "1.9.0": ("4b29b436d0", "e156b22398", "5183f18d72"),
    "1.10.0": ("4b29b436d0", "e156b22398", "5183f18d72"),
    "1.11.0": ("4b29b436d0", "e156b22398", "62b1199df6"),
    "1.12.0": ("4b29b436d0", "e156b22398", "62b1199df6"),
    "1.13.0": ("4b29b436d0", "e156b22398", "62b1199df6"),
    "1.14.0": ("4b29b436d0", "78f6841621", "62b1199df6"),
    "1.15.0": ("4b29b436d0", "78f6841621", "62b1199df6"),
    "1.16.0": ("4b29b436d0", "78f6841621", "6622124885"),
}
BROUGHT = {"trl@1.16.0": "trl@1.16", "axolotl@0.19.0": "axolotl@0.19", "unsloth@2026.10.9": "unsloth@2026.10"}


def digests(folder: Path) -> tuple[str, str, str]:
    """Of the three functions in an unpacked TRL, without what only people read."""
    data = (folder / "trl" / "data_utils.py").read_text(encoding="utf-8")
    trainer = (folder / "trl" / "trainer" / "sft_trainer.py").read_text(encoding="utf-8")
    collator = next(
        node
        for node in ast.parse(trainer).body
        if isinstance(node, ast.ClassDef) and node.name == "DataCollatorForLanguageModeling"
    )
    return (
        _digest(ast.parse(data), "_pack_bfd"),
        _digest(ast.parse(data), "_pack_wrapped"),
        _digest(collator, "torch_call"),
    )


def _digest(tree: ast.AST, name: str) -> str:
    node = next(one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef) and one.name == name)
    return hashlib.sha256(
        "\n".join(map(ast.unparse, node.body[1:] if ast.get_docstring(node) else node.body)).encode()
    ).hexdigest()[:10]


@pytest.mark.parity
@pytest.mark.parametrize("name", BROUGHT)
def test_the_brought_trl_was_read(name: str) -> None:
    trainer, version = environments.split(name)
    folders = list(environment(trainer, version).glob("lib/python3*/site-packages"))
    if not folders:
        pytest.skip(f"{name} has no environment: run tests/parity/environments.py {name}")
    (brought,) = (path.name for path in folders[0].glob("trl-*.dist-info"))
    number = re.sub(r"^trl-|\.dist-info$", "", brought)
    assert digests(folders[0]) == READ[number]
    pins = pins_of(BROUGHT[name])
    assert pins is not None and pins.newest["trl"] == number


def test_the_versions_of_the_presets_pack_alike() -> None:
    """TRL 1.8 to 1.16: one bfd, and one wrapped for rows that were mapped."""
    assert {READ[version][0] for version in READ if version != "0.24.0"} == {READ["1.16.0"][0]}
    assert {READ[version][1] for version in ("1.14.0", "1.15.0")} == {READ["1.16.0"][1]}
    for preset in ("trl@1.16", "trl@1.14", "trl@1.8", "unsloth@2026.10", "unsloth@2026.8"):
        pins = pins_of(preset)
        assert pins is not None and pins.newest["trl"] in READ
