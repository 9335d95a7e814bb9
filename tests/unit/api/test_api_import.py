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
    for name in sftui.__all__:
        assert getattr(sftui, name) is not None and name in dir(sftui)
    assert sftui.open.__doc__ and sftui.encode.__doc__ and sftui.check.__doc__


def test_help_names_every_option() -> None:
    from sftui.api.opening import Opening

    text = str(sftui.open.__doc__)
    assert [name for name in Opening.__annotations__ if name not in text] == []
