"""`import sftui` loads next to nothing."""

from __future__ import annotations

import json
import subprocess
import sys

import sftui

HEAVY = ("textual", "transformers", "datasets", "pyarrow", "numpy", "tokenizers", "click", "rich", "sftui.api")


def test_importing_it_loads_nothing_that_is_heavy() -> None:
    code = (
        "import sys, json, typing; before = set(sys.modules); import sftui;"
        " print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    loaded = json.loads(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout)
    assert "sftui" in loaded and not [name for name in loaded if name.startswith(HEAVY)]
    assert len(loaded) <= 2, loaded


def test_every_public_name_is_there() -> None:
    for name in vars(sftui)["__all__"]:
        assert getattr(sftui, name) is not None and name in dir(sftui)
    assert sftui.open.__doc__ and sftui.encode.__doc__ and sftui.check.__doc__


def test_help_names_every_option() -> None:
    from sftui.session.declared import Opening

    text = str(sftui.open.__doc__)
    assert [name for name in Opening.__annotations__ if name not in text] == []


def test_python_has_every_option_of_the_command_line() -> None:
    """What an editor knows of the keywords has to be typed out, so it stands a second time, below the first."""
    from dataclasses import fields

    from sftui.session.declared import Opening, OptionDeclaration

    renamed = {"recipe_file": "recipe", "knobs": "set"}
    declared = {renamed.get(one.name, one.name) for one in fields(OptionDeclaration)} - {"debug"}
    assert declared == set(Opening.__annotations__)


def test_open_data_has_every_option_that_says_so() -> None:
    from dataclasses import fields

    from sftui.session.declared import OptionDeclaration
    from sftui.session.options import OpenOptions

    opens = {one.name for one in fields(OptionDeclaration) if one.metadata["opens"]}
    assert opens < {one.name for one in fields(OpenOptions)}
