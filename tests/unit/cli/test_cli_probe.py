"""`sftui template --probe`: exit codes, and nothing of a template acts on the terminal."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Sftui = Callable[..., Any]
LOSES = "{% for m in messages if m.role != 'user' %}<|t|>{{ m.content or '' }}\x1b[31m{% endfor %}"


def test_it_exits_by_what_it_finds(sftui: Sftui, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jinja"
    bad.write_text(LOSES)
    assert sftui("template", "--template", "qwen2.5", "--probe").code == 0
    done = sftui("template", "--template", bad, "--probe")
    assert done.code == 1 and "the user message is missing from the text" in done.out and "\x1b" not in done.out
    done = sftui("template", "--template", bad, "--probe-show", "plain")
    assert done.code == 1 and "\x1b" not in done.out and "Where is the heron?" in done.out
    done = sftui("template", "--template", bad, "--probe", "--format", "json")
    assert done.code == 1 and json.loads(done.out)["failed"] is True and "\x1b" not in done.out
    assert sftui("template", "--template", bad, "--probe-show", "nothing").code == 2
    assert sftui("template", "--probe").code == 2
