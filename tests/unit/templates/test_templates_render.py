"""render() for each kind of conversation, BOS removal, and what is around a template."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from sftui.errors import TemplateError
from sftui.model import Conversation, Kind, Message, Part, Span
from sftui.recipe import Render
from sftui.templates import (
    builtin_template,
    choose_template,
    compile_template,
    load_template_file,
    render,
    variables_of,
    without_bos,
)

SPECIAL = {"bos_token": "<bos>", "eos_token": "<eos>"}
PAIR = (Message({"role": "user", "content": "Hi"}), Message({"role": "assistant", "content": "Ho"}))
CHAT = Conversation(Kind.CHAT, "messages", PAIR)
WHOLE = "<bos><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\nHo<end_of_turn>\n"


def test_the_prompt_is_the_leading_messages_with_the_generation_prompt() -> None:
    rendered = render(CHAT, builtin_template("gemma"), special_tokens=SPECIAL, options=Render(), prompt_messages=1)
    assert rendered.text == WHOLE
    assert rendered.prompt == "<bos><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\n"


def test_without_spans_only_the_text_is_made() -> None:
    rendered = render(
        CHAT, builtin_template("gemma"), special_tokens=SPECIAL, options=Render(), prompt_messages=None, spans=False
    )
    assert (rendered.text, rendered.spans, rendered.prompt) == (WHOLE, (), None)


def test_an_empty_prompt_is_refused_as_transformers_does() -> None:
    with pytest.raises(TemplateError, match="empty conversation"):
        render(CHAT, builtin_template("gemma"), special_tokens=SPECIAL, options=Render(), prompt_messages=0)


def test_an_injected_system_message_is_a_prompt_by_itself() -> None:
    options = Render(inject_system="Be brief.")
    rendered = render(CHAT, builtin_template("chatml"), special_tokens=SPECIAL, options=options, prompt_messages=0)
    assert rendered.prompt == "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>assistant\n"


def test_a_chat_without_a_template_says_what_to_do() -> None:
    with pytest.raises(TemplateError, match="--template NAME"):
        render(CHAT, None, special_tokens=SPECIAL, options=Render(), prompt_messages=1)


def test_strings_are_joined_and_told_apart() -> None:
    rendered = render(
        Conversation(Kind.STRINGS, "prompt-completion", prompt="Q: ", completion="A"),
        None,
        special_tokens={},
        options=Render(),
        prompt_messages=1,
    )
    assert (rendered.text, rendered.prompt) == ("Q: A", "Q: ")
    assert rendered.spans == (Span(0, 3, 0, Part.CONTENT), Span(3, 4, 1, Part.CONTENT))


def test_text_is_one_span_of_no_message() -> None:
    rendered = render(
        Conversation(Kind.TEXT, "text", text="abc"), None, special_tokens={}, options=Render(), prompt_messages=None
    )
    assert (rendered.text, rendered.spans, rendered.prompt) == ("abc", (Span(0, 3, -1, Part.CONTENT),), None)


def test_ids_are_not_rendered() -> None:
    with pytest.raises(TemplateError, match="cannot be rendered"):
        render(
            Conversation(Kind.TOKENS, "tokens", input_ids=(1,)),
            None,
            special_tokens={},
            options=Render(),
            prompt_messages=None,
        )


def test_a_row_s_own_variables_win_over_the_recipe_s_and_both_over_special_tokens() -> None:
    template = compile_template("{{ a }}{{ b }}{{ bos_token }}", "t")
    conversation = Conversation(Kind.CHAT, "messages", PAIR, template_kwargs={"a": "row"})
    options = Render(kwargs={"a": "recipe", "b": "recipe", "bos_token": "mine"})
    assert (
        render(conversation, template, special_tokens=SPECIAL, options=options, prompt_messages=None).text
        == "rowrecipemine"
    )


def test_tools_reach_the_template() -> None:
    conversation = Conversation(Kind.CHAT, "messages", PAIR, tools=[{"type": "function", "function": {"name": "f"}}])
    template = compile_template("{{ tools[0].function.name }}", "t")
    assert render(conversation, template, special_tokens={}, options=Render(), prompt_messages=None).text == "f"


def test_without_bos_moves_spans_and_generation_spans() -> None:
    template = compile_template(
        "{{ bos_token }}{{ messages[0].content }}{% generation %}{{ messages[1].content }}{% endgeneration %}", "t"
    )
    rendered = render(CHAT, template, special_tokens=SPECIAL, options=Render(), prompt_messages=1 + 1)
    bare = without_bos(rendered, "<bos>")
    assert (bare.text, bare.prompt, bare.generation) == ("HiHo", "HiHo", ((2, 4),))
    assert bare.spans == (Span(0, 2, 0, Part.CONTENT), Span(2, 4, 1, Part.CONTENT))
    assert without_bos(bare, "<bos>") == bare
    assert without_bos(rendered, "") == rendered


def test_a_second_bos_stays() -> None:
    template = compile_template("{{ bos_token }}{{ bos_token }}x", "t")
    rendered = render(CHAT, template, special_tokens=SPECIAL, options=Render(), prompt_messages=None)
    assert without_bos(rendered, "<bos>").text == "<bos>x"


def test_templates_are_chosen_as_transformers_chooses() -> None:
    named = {"default": "d", "tool_use": "t", "rag": "r"}
    assert choose_template(named) == ("default", "d")
    assert choose_template(named, tools=[{}]) == ("tool_use", "t")
    assert choose_template(named, tools=[]) == ("tool_use", "t")
    assert choose_template({"default": "d"}, tools=[{}]) == ("default", "d")
    with pytest.raises(TemplateError, match="choose one of rag, tool_use"):
        choose_template({"tool_use": "t", "rag": "r"})
    with pytest.raises(TemplateError, match="no chat template"):
        choose_template({})


def test_a_template_is_found_in_its_file_its_config_and_its_folder(tmp_path: Path) -> None:
    (tmp_path / "a.jinja").write_text("é", encoding="utf-8")
    config = tmp_path / "tokenizer_config.json"
    config.write_text(json.dumps({"chat_template": [{"name": "default", "template": "named"}]}), encoding="utf-8")
    assert load_template_file(tmp_path / "a.jinja").source == "é"
    assert load_template_file(config).source == "named"
    assert load_template_file(tmp_path).source == "named"
    config.write_text("{}", encoding="utf-8")
    with pytest.raises(TemplateError, match="contains no chat template"):
        load_template_file(config)


def test_a_crlf_template_file_keeps_its_line_ends_as_transformers_reads_them(tmp_path: Path) -> None:
    (tmp_path / "a.jinja").write_bytes(b"a\r\nb")
    assert load_template_file(tmp_path / "a.jinja").source == "a\nb"


def test_what_a_template_reads_is_read_from_its_source() -> None:
    source = (
        "{% generation %}{{ messages }}{{ tools }}{% endgeneration %}{{ raise_exception('x') }}{{ enable_thinking }}"
    )
    made = compile_template(source, "t")
    assert made.has_generation_tag
    assert variables_of(made) == {"messages", "tools", "raise_exception", "enable_thinking"}


def test_a_template_survives_pickling() -> None:
    again = pickle.loads(pickle.dumps(compile_template("{{ messages[0].role }}", "t")))
    assert again.text([{"role": "user"}], variables={})[0] == "user"


def test_importing_the_package_does_not_load_jinja2() -> None:
    code = "import sys, sftui.templates; sys.exit('jinja2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=Path(__file__).parents[3]).returncode == 0
