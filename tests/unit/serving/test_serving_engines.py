"""What is said of engines that are not Jinja: only what was tried, and only where the template has it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sftui.cli import main
from sftui.serving import other_engines

TURN = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
GENERATION = "{%- generation -%}{{ m.content }}{% endgeneration %}"


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (TURN, []),
        (TURN.replace("{{ m.content }}", GENERATION), ["minijinja 3.1.0 (Rust) does not compile {% generation %}"]),
        ("{% if x == 'a' %}{{ x }}{% endif %}{{ 7 % 2 }}", []),
        (
            "{{ tools | tojson }}",
            [
                "minijinja 3.1.0 (Rust) writes <, >, & and ' of JSON as \\u003c and so on",
                "@huggingface/jinja 0.5.11 (JavaScript) writes a 1.0 of the data as 1",
            ],
        ),
        (
            "{{ '%s' % x }}{{ x.rsplit(' ', 1) }}",
            [
                "minijinja 3.1.0 (Rust) stops at a text formatted with % and stops at rsplit",
                "@huggingface/jinja 0.5.11 (JavaScript) stops at a text formatted with % and stops at rsplit",
            ],
        ),
    ],
)
def test_only_what_the_template_has_is_told(source: str, told: list[str]) -> None:
    assert list(other_engines([source])) == told


@pytest.mark.parametrize("generation", [False, True])
def test_check_says_which_engine_the_comparison_stands_for(
    generation: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, template = tmp_path / "d.jsonl", tmp_path / "t.jinja"
    row = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes."}]}
    data.write_text(json.dumps(row) + "\n")
    template.write_text(TURN.replace("{{ m.content }}", GENERATION) if generation else TURN)
    for served in (["--serve", str(template)], []):
        with pytest.raises(SystemExit):
            main(["check", str(data), "-t", "builtin:chatml", *served])
        out = " ".join(capsys.readouterr().out.split())
        assert ("is rendered with Jinja, as transformers and vLLM do" in out) is bool(served)
        assert ("does not compile {% generation %}" in out) is (generation and bool(served))
        assert ("nothing in it is known to differ in minijinja" in out) is (bool(served) and not generation)
