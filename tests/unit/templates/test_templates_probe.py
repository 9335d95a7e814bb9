"""What `--probe` says of made templates, a bad one and its good twin, and of every real one."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from sftui.templates import ChatTemplate, builtin_names, builtin_template, compile_template, load_template_file
from sftui.templates.probe import ERROR, FACT, ProbeReport, grouped, probe, with_problems
from sftui.templates.probe_shapes import birds, shapes
from sftui.templates.rendering import limits

SHARED = Path(os.environ.get("SFTUI_SHARED", Path(__file__).resolve().parents[4] / "shared"))
GOLDEN = Path(__file__).parent / "probe_golden.tsv"
GOOD = """\
{%- macro said(c) %}{% if c is string %}{{ c }}{% elif c is mapping %}{{ c | tojson }}{% else %}{% for p in c or [] %}\
{{ p if p is string else p.text }}{% endfor %}{% endif %}{% endmacro %}
{%- if tools %}<|turn|>tools
{% for t in tools %}{{ t | tojson }}
{% endfor %}<|done|>
{% endif %}
{%- for m in messages %}<|turn|>{{ m.role }}
{% if m.role == 'assistant' %}{% generation %}{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>\
{% endif %}{{ said(m.content) }}{% for c in m.tool_calls or [] %}<call>{{ (c.function or c) | tojson }}</call>\
{% endfor %}<|done|>{% endgeneration %}{% else %}{{ said(m.content) }}<|done|>{% endif %}

{% endfor %}
{%- if add_generation_prompt %}<|turn|>assistant
{% endif %}"""
# Five more styles that are no family's: numbered lines, XML, brackets, Markdown headings, JSON lines.
CONTENT = "{{ m.content if m.content is string else (m.content or '') | tojson }}"
CALLS = "{% for c in m.tool_calls or [] %} CALL {{ (c.function or c) | tojson }}{% endfor %}"
TOOLS = "{% for t in tools or [] %}TOOL {{ t | tojson }}\n{% endfor %}"
THOUGHT = "{% if m.reasoning_content %}({{ m.reasoning_content }}) {% endif %}"
BODY = THOUGHT + CONTENT + CALLS
STYLES = {
    "numbered": TOOLS
    + "{% for m in messages %}{{ loop.index }}. {{ m.role }}: " + BODY + "\n{% endfor %}"
    "{% if add_generation_prompt %}{{ messages | length + 1 }}. assistant: {% endif %}",
    "xml": "<chat>" + TOOLS + "{% for m in messages %}<{{ m.role }}>" + BODY + "</{{ m.role }}>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}",
    "brackets": TOOLS + "{% for m in messages %}[{{ m.role | upper }}] " + BODY + " [/{{ m.role | upper }}]{% endfor %}"
    "{% if add_generation_prompt %}[ASSISTANT] {% endif %}",
    "headings": TOOLS + "{% for m in messages %}### {{ m.role | capitalize }}\n" + BODY + "\n\n{% endfor %}"
    "{% if add_generation_prompt %}### Assistant\n{% endif %}",
    "json lines": "{{ tools | tojson }}\n{% for m in messages %}{{ m | tojson }}\n{% endfor %}",
}  # fmt: skip


def probed(source: str) -> ProbeReport:
    return probe(compile_template(source, "made"))


def wrong(source: str) -> set[tuple[str, str]]:
    """Code and shape of each error."""
    return {(one.code, one.shape) for one in probed(source).problems if one.grade == ERROR}


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


def test_there_are_many_shapes_each_with_a_name_of_its_own() -> None:
    names = [one.name for one in shapes()]
    assert len(names) == len(set(names)) >= 50
    assert birds({"a": ["a heron", {"b": "heron, plover"}]}) == ("heron", "plover")


def test_nothing_is_wrong_with_a_good_template() -> None:
    told = probed(GOOD)
    assert [one for one in told.problems if one.grade != FACT] == []
    assert not told.failed
    assert len(told.outcomes) == len(shapes())


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("{{ said(m.content) }}{% for", "{{ '' + m.content }}{% for", ("crash", "call-null-content")),
        ("{{ said(m.content) }}{% for", "{{ m.content or None }}{% for", ("python", "call")),
        ("m.tool_calls or []", "(m.tool_calls or [])[:1]", ("lost", "parallel-calls")),
        ("{% for t in tools %}", "{% for t in tools[1:] %}", ("lost", "tools")),
        ("{%- for m in messages %}", "{%- for m in messages if m.role != 'tool' %}", ("lost", "call")),
        ("{% if m.reasoning_content %}", "{% if m.reasoning_content and m.tool_calls %}", ("lost", "reasoning")),
        (
            "{{ said(m.content) }}<|done|>",
            "{{ said(m.content) }}{{ said(m.content) if m.role == 'system' }}<|done|>",
            ("twice", "system"),
        ),
        ("<|done|>{% endif %}", "{{ '<|done|>' if m.role != 'tool' }}{% endif %}", ("markers", "call")),
        ("</call>", "{{ '</call>' if loop.first }}", ("markers", "parallel-calls")),
        ("<|turn|>assistant\n", "<|turn|>assistant\n<think>", ("prefix", "plain")),
        (
            "{%- if add_generation_prompt %}",
            "{%- if add_generation_prompt and messages | length > 99 %}",
            ("prompt", "plain"),
        ),
        ("{% if m.role == 'assistant' %}{% generation %}", "{% generation %}{% if m.role == 'assistant' %}", None),
        ("{{ c }}{% elif", "{{ c | e }}{% elif", ("changed", "code")),
    ],
)
def test_what_is_wrong_with_its_bad_twins(old: str, new: str, found: tuple[str, str] | None) -> None:
    source = changed(old, new)
    if found is None:  # tags around every turn
        source = source.replace(
            "<|done|>{% endgeneration %}{% else %}{{ said(m.content) }}<|done|>{% endif %}",
            "<|done|>{% else %}{{ said(m.content) }}<|done|>{% endif %}{% endgeneration %}",
        )
        found = ("tags", "plain")
    assert found in wrong(source)


def test_a_refusal_is_no_accident_and_keeps_its_words() -> None:
    refusal = "{% if messages[0].role == 'system' %}{{ raise_exception('No system, please') }}{% endif %}"
    source = GOOD.replace("{%- for m", refusal + "{%- for m", 1)
    (group,) = [one for one in grouped(probed(source).problems) if one[0].code == "refuses"]
    assert (group[0].grade, group[0].said) == (FACT, "refuses: No system, please")
    assert "system" in {one.shape for one in group}


def test_python_calls_are_a_manner_of_writing() -> None:
    named = "{% set f = c.function or c %}{{ f.name }}"
    named += "(deep={{ f.arguments.deep if f.arguments is mapping }}, {{ f | tojson }})"
    source = changed("{{ (c.function or c) | tojson }}", named)
    assert "python" not in {one.code for one in probed(source).problems if one.shape == "arguments-values"}


@pytest.mark.parametrize("style", STYLES)
def test_templates_of_other_styles_raise_no_false_alarm(style: str) -> None:
    source = STYLES[style]
    # Whole messages as JSON: transformers hands reasoning over under two names, and there is no header to ask with.
    expected = {("prompt", "plain"), ("twice", "reasoning"), ("twice", "reasoning-earlier")}
    assert wrong(source) == (expected if style == "json lines" else set())


def test_a_template_that_takes_only_parts_is_given_parts() -> None:
    source = GOOD.replace("{{ c }}", "")
    told = probed(source)
    assert [one.said for one in told.problems if one.code == "parts"]
    assert not told.failed


def test_a_template_that_goes_over_its_limits_stops_the_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "STEPS", limits.STEPS // 1000)
    told = probed("{% for a in range(100) %}{% for b in range(100) %}x{% endfor %}{% endfor %}")
    assert told.failed and told.stopped and len(told.outcomes) < len(shapes())


def test_control_words_that_become_tokens_are_told_with_a_tokenizer() -> None:
    ids = lambda text: [1] * text.count("<|done|>")  # noqa: E731
    told = probe(compile_template(GOOD, "made"), None, None, ids, {1: "<|done|>"})
    assert {one.shape for one in told.problems if one.code == "injection"} == {"plain", "system", "call"}
    cleaned = compile_template(changed("{{ c }}", "{{ c | replace('<|', '') }}"), "made")
    told = probe(cleaned, None, None, ids, {1: "<|done|>"})
    assert not [one for one in told.problems if one.code == "injection"]


def test_one_shape_is_shown_with_what_is_told_of_it() -> None:
    outcome, problems = with_problems(
        probed(changed("m.tool_calls or []", "(m.tool_calls or [])[:1]")), "parallel-calls"
    )
    assert outcome.text is not None
    assert {one.code for one in problems} >= {"lost"}


def real_templates() -> dict[str, Callable[[], ChatTemplate]]:
    """By name: those of sftui, of the shared folder, and of its tokenizers."""
    found: dict[str, Callable[[], ChatTemplate]] = {name: partial(builtin_template, name) for name in builtin_names()}
    for file in sorted((SHARED / "testdata" / "templates").glob("*.jinja")):
        found[file.stem] = partial(load_template_file, file)
    for file in sorted((SHARED / "testdata" / "tokenizers").glob("*/tokenizer_config.json")):
        if '"chat_template"' in file.read_text():
            found[f"tokenizer {file.parent.name}"] = partial(load_template_file, file)
    return found


def told_of(template: ChatTemplate) -> str:
    counts = Counter((one.grade, one.code) for one in probe(template).problems)
    return " ".join(f"{grade}:{code}={n}" for (grade, code), n in sorted(counts.items()))


def recorded() -> dict[str, str]:
    return dict(line.split("\t") for line in GOLDEN.read_text().splitlines()) if GOLDEN.is_file() else {}


@pytest.mark.one_of(16)
@pytest.mark.parametrize("name", recorded())
def test_every_real_template_is_told_what_it_was(name: str, shared: Path) -> None:
    """Counts of problems by template; errors of new kinds are read beside the template before they are recorded."""
    assert told_of(real_templates()[name]()) == recorded()[name]


@pytest.mark.long
def test_the_golden_holds_every_real_template(shared: Path) -> None:
    templates = real_templates()
    if os.environ.get("SFTUI_GOLDEN") == "write":
        GOLDEN.write_text("".join(f"{name}\t{told_of(one())}\n" for name, one in templates.items()))
    assert list(recorded()) == list(templates)
