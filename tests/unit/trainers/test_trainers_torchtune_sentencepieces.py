"""torchtune's SentencePiece tokenizers: turns, masks, cuts and stops; the goldens hold ids against the real ones."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from sftui import pipeline
from sftui.errors import RecipeError
from sftui.model import Inspection, Part, Reason, Row
from sftui.recipe import Recipe, changed, get
from sftui.tokens import builtin, load_tokenizer
from sftui.trainers import Toolbox, preset, trainer_named
from sftui.trainers.config import Facts, KeyUse
from sftui.trainers.own_config import write_config
from sftui.trainers.torchtune.prompt_templates import LLAMA2, MISTRAL

KEPT = Path(__file__).parents[2] / "golden" / "trainers" / "pieces"
SYSTEM = {"role": "system", "content": "Be brief. "}
USER, ANSWER = {"role": "user", "content": "time way"}, {"role": "assistant", "content": "day life"}
TWO = (USER, ANSWER, {"role": "user", "content": "man"}, {"role": "assistant", "content": "world"})
MODELS = ("gemma", "llama2", "mistral", "phi3_mini")
TOOLS: dict[tuple[Path, str, str], Toolbox] = {}
pytestmark = pytest.mark.usefixtures("package")


@pytest.fixture(scope="module")
def package() -> Any:
    return pytest.importorskip("sentencepiece")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer's folder, with a tokenizer.json that torchtune does not read, and a second model."""
    found = tmp_path_factory.mktemp("tokenizer")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(builtin.folder("chatml") / name, found)
    shutil.copy(KEPT / "bpe.model", found / "tokenizer.model")
    shutil.copy(KEPT / "unigram.model", found / "other.model")
    return found


def recipe_of(folder: Path, model: str, version: str = "0.6.1", **knobs: Any) -> Recipe:
    recipe = changed(preset(f"torchtune@{version}"), "tokenizer.name", str(folder))
    recipe = changed(recipe, "render.template", f"torchtune/{model}")
    for name, value in knobs.items():
        recipe = changed(recipe, name.replace("__", "."), value)
    return recipe


def inspected(
    folder: Path, model: str, messages: Sequence[Mapping[str, Any]], version: str = "0.6.1", **knobs: Any
) -> Inspection:
    recipe = recipe_of(folder, model, version, **knobs)
    return through(recipe, folder, {"messages": list(messages)})


def through(recipe: Recipe, folder: Path, data: Mapping[str, Any]) -> Inspection:
    row = Row(0, data, "", "")
    own = str(recipe.own)
    if (folder, recipe.render.template, own) not in TOOLS:  # a process for each
        made = pipeline.make_toolbox(recipe, load_tokenizer(str(folder), mode="provisional"))
        TOOLS[folder, recipe.render.template, own] = made
    tools = TOOLS[folder, recipe.render.template, own]
    return pipeline.inspect(row, pipeline.detect([row], recipe), recipe, tools, text=True)


def written(found: Inspection) -> str:
    """The tokens as they are written, a bar between messages and ASCII bytes as themselves."""
    assert found.tokens is not None, found.problem
    text, before = "", max(found.tokens.messages[0], 0)
    for piece, message in zip(found.token_text.pieces, found.tokens.messages):
        text += ("|" if max(message, 0) != before else "") + piece
        before = max(message, 0)
    return re.sub("<0x([0-7].)>", lambda byte: chr(int(byte[1], 16)), text)


def trained(found: Inspection) -> str:
    """The pieces that are trained."""
    assert found.labels is not None, found.problem
    return "".join(p for p, label in zip(found.token_text.pieces, found.labels.labels) if label != -100)


@pytest.mark.parametrize(
    ("model", "version", "expected"),
    [
        ("gemma", "0.6.1", "<s>▁time▁way|day▁life</s>|<s>▁man|world</s>"),
        ("gemma", "0.7", "<s>▁time▁way|day▁life</s>|<s>▁man|world</s>"),
        (
            "llama2",
            "0.6.1",
            "<s>▁[INST]▁time▁way▁▁[/INST]|▁day▁life</s>|<s>▁[INST]▁man▁▁[/INST]|▁world</s>",
        ),
        (
            "mistral",
            "0.7",
            "<s>▁[INST]▁time▁way▁▁[/INST]|▁day▁life</s>|<s>▁[INST]▁man▁▁[/INST]|▁world</s>",
        ),
        (
            "phi3_mini",
            "0.6.1",
            "<s><|user|>▁⏎time▁way<|end|>▁⏎|<|assistant|>▁⏎day▁life<|end|>▁⏎"
            "|<|user|>▁⏎man<|end|>▁⏎|<|assistant|>▁⏎world<|end|>▁⏎",
        ),
        (
            "phi3_mini",
            "0.7",
            "<s><|user|>▁⏎time▁way<|end|>▁⏎|<|assistant|>▁⏎day▁life<|end|>▁⏎<|endoftext|>"
            "|<s><|user|>▁⏎man<|end|>▁⏎|<|assistant|>▁⏎world<|end|>▁⏎<|endoftext|>",
        ),
    ],
)
def test_turns_open_and_close_as_each_tokenizer_has_it(folder: Path, model: str, version: str, expected: str) -> None:
    found = inspected(folder, model, TWO, version)
    assert written(found).replace("\n", "⏎") == expected
    answers = [part.removeprefix("<s>") for part in expected.split("|")]
    if model != "phi3_mini":
        assert trained(found) == answers[1] + answers[3]


@pytest.mark.parametrize("model", MODELS)
def test_every_token_stands_where_its_text_is(folder: Path, model: str) -> None:
    found = inspected(folder, model, TWO)
    assert found.tokens is not None and found.rendered is not None
    at, spelt = 0, b""
    for surface, start, end in zip(found.token_text.surfaces, found.tokens.starts, found.tokens.ends):
        assert at <= start or surface == b"\n", (surface, start)
        at, spelt = start, spelt + surface
        assert surface.strip() in found.rendered.text[start:end].encode()
    assert {Part.BOS, Part.CONTENT, Part.TERMINATOR} <= set(found.tokens.parts)
    assert spelt.decode().replace(" ", "") == found.rendered.text.replace(" ", "")


def test_llama2_puts_the_system_message_into_every_question(folder: Path) -> None:
    found = inspected(folder, "llama2", (SYSTEM, *TWO), mask__rule="all")
    assert found.rendered is not None and found.labels is not None
    assert found.rendered.text.count("<<SYS>>\nBe brief.\n<</SYS>>") == 2
    assert -100 not in found.labels.labels  # it goes with the question that it is put into


def test_no_template_is_another_than_none_given(folder: Path) -> None:
    plain = inspected(folder, "mistral", (SYSTEM, *TWO), own__prompt_template={})
    assert written(plain).startswith("<s>▁B") and "[INST]" not in written(plain)
    stopped = inspected(folder, "mistral", (SYSTEM, *TWO))
    assert stopped.problem is not None and "MistralChatTemplate has no system message" in stopped.problem.what


@pytest.mark.parametrize("model", ["gemma", "mistral"])
def test_a_limit_forces_eos_onto_the_last_place_with_the_mask_of_its_message(folder: Path, model: str) -> None:
    whole = inspected(folder, model, TWO)
    assert whole.tokens is not None
    ids = whole.tokens.input_ids
    for limit in (*range(1, len(ids) + 1), 4096):
        found = inspected(folder, model, TWO, length__max=limit)
        assert found.example is not None, found.problem
        kept = min(limit, len(ids))
        assert found.example.input_ids == (*ids[: kept - 1], 2)
        owner = whole.tokens.messages[kept - 1]
        assert found.example.labels[-1] == (2 if owner in (1, 3) else -100), limit


def test_a_question_that_comes_to_no_ids_still_ends_the_row(folder: Path) -> None:
    """The last id then is the system message's, and its mask the question's (torchtune 0.7 masks the one alone)."""
    rows = (SYSTEM, {"role": "user", "content": ""})
    kept = inspected(folder, "gemma", rows, "0.7", mask__rule="all", length__max=60)
    assert kept.labels is not None and kept.example is not None
    assert kept.example.labels[-1] == 2 and set(kept.example.labels[:-1]) == {-100}


def test_phi3_masks_the_last_place_of_what_may_be_cut_since_0_7(folder: Path) -> None:
    whole = inspected(folder, "phi3_mini", TWO[:2], "0.7")
    assert whole.example is not None
    n = len(whole.example.input_ids)
    at, above = (inspected(folder, "phi3_mini", TWO[:2], "0.7", length__max=limit) for limit in (n, n + 1))
    assert at.labels is not None and above.example == whole.example
    assert at.labels.reasons[n - 1] is Reason.FORCED and at.labels.labels[n - 1] == -100
    before = inspected(folder, "phi3_mini", TWO[:2], length__max=8)
    old = inspected(folder, "phi3_mini", TWO[:2])
    assert before.example is not None and old.example is not None
    assert before.example.input_ids == old.example.input_ids[:8]  # 0.6.1 puts no EOS there
    left = inspected(folder, "phi3_mini", TWO[:2], "0.7", length__max=8, length__over="cut_left")
    assert left.example is not None and whole.tokens is not None
    first = [i for i, owner in zip(whole.tokens.input_ids, whole.tokens.messages) if owner == 0]
    assert left.example.input_ids == (*first[-8:-1], 32000)  # no message is added behind the one that reaches it


def test_a_role_that_phi3_does_not_know_stops_it_where_it_is_reached(folder: Path) -> None:
    rows = (USER, ANSWER, {"role": "tool", "content": "4"})
    found = inspected(folder, "phi3_mini", rows)
    assert found.problem is not None and "does not support the role 'tool'" in found.problem.what
    assert inspected(folder, "phi3_mini", rows, length__max=9).example is not None


def test_a_first_message_without_parts_stops(folder: Path) -> None:
    rows = ({"role": "user", "content": []}, ANSWER)
    assert "no text parts" in str(inspected(folder, "gemma", rows).problem)
    assert inspected(folder, "phi3_mini", rows).example is not None


def test_texts_have_the_models_own_bos_and_eos(folder: Path) -> None:
    for model in MODELS:
        recipe = recipe_of(folder, model, data__format="text")
        found = through(recipe, folder, {"text": " time "})
        assert written(found).startswith("<s>▁▁time▁") and written(found).endswith("</s>")


def test_another_file_can_be_named(folder: Path) -> None:
    named = inspected(folder, "gemma", TWO, own__tokenizer_path="/elsewhere/other.model")
    assert named.tokens is not None and named.tokens != inspected(folder, "gemma", TWO).tokens
    with pytest.raises(RecipeError, match=r"third.model: .*cannot be built, because there is no such file"):
        inspected(folder, "gemma", TWO, own__tokenizer_path="third.model")


def test_a_tokenizer_without_the_file_says_what_is_missing() -> None:
    recipe = changed(preset("torchtune@0.6.1"), "render.template", "torchtune/gemma")
    with pytest.raises(
        RecipeError, match=r"gemma tokenizer cannot be built.*give the folder that contains tokenizer.model"
    ):
        pipeline.make_toolbox(recipe, load_tokenizer("builtin:llama3", mode="provisional"))


def test_a_model_without_bos_is_refused(folder: Path, tmp_path: Path) -> None:
    from sentencepiece import sentencepiece_model_pb2

    proto = sentencepiece_model_pb2.ModelProto.FromString((KEPT / "bpe.model").read_bytes())
    proto.trainer_spec.bos_id = -1
    proto.pieces[1].type = proto.SentencePiece.NORMAL
    shutil.copytree(folder, tmp_path / "t")
    (tmp_path / "t" / "tokenizer.model").write_bytes(proto.SerializeToString())
    problem = inspected(tmp_path / "t", "llama2", TWO).problem
    assert problem is not None and "has no BOS" in problem.what and "-1" in problem.why


CONFIG = """\
tokenizer:
  _component_: {component}
  path: {path}   # a comment
dataset:
  _component_: torchtune.datasets.chat_dataset
  source: a/b
  conversation_column: messages
  conversation_style: openai
batch_size: 2
"""
COMPONENTS = {
    "gemma": ("torchtune.models.gemma.gemma_tokenizer", "torchtune.models.gemma2.gemma_tokenizer"),
    "llama2": ("torchtune.models.llama2.llama2_tokenizer",),
    "mistral": ("torchtune.models.mistral.mistral_tokenizer",),
    "phi3_mini": ("torchtune.models.phi3.phi3_mini_tokenizer",),
}


def read(component: str, more: str = "", path: str = "/m/tokenizer.model", version: str = "0.6.1") -> Any:
    text = CONFIG.format(component=component, path=path).replace("dataset:", f"{more}dataset:", 1)
    return trainer_named("torchtune").read_config("t.yaml", text, version)


@pytest.mark.parametrize("model", MODELS)
def test_configs_are_read_and_written(model: str) -> None:
    trainer, usual = trainer_named("torchtune"), preset("torchtune@0.6.1")
    for component in COMPONENTS[model]:
        opened = read(component)
        assert (opened.recipe.render.template, opened.recipe.tokenizer.name) == (f"torchtune/{model}", "/m")
        assert {note.use for note in opened.keys} <= {KeyUse.USED, KeyUse.PASSED}
        edited = write_config(changed(opened.recipe, "length.max", 64), opened).files[0].content
        assert component in edited and "max_seq_len: 64" in edited and "# a comment" in edited
    recipe = changed(usual, "render.template", f"torchtune/{model}")
    fresh = write_config(recipe, None, Facts(tokenizer="/m", data="x.jsonl", format="messages"))
    assert not fresh.losses and COMPONENTS[model][0] in fresh.files[0].content
    again = trainer.read_config("t.yaml", fresh.files[0].content, "0.6.1").recipe
    assert again.render.template == f"torchtune/{model}" and again.tokenizer.name == "/m"
    assert again.own == recipe.own


@pytest.mark.parametrize(
    ("model", "more", "path", "knob", "value"),
    [
        ("mistral", "", "/m/tokenizer.model", "own.prompt_template", None),
        ("mistral", "  prompt_template: null\n", "/m/tokenizer.model", "own.prompt_template", {}),
        ("gemma", "  prompt_template: null\n", "/m/tokenizer.model", "own.prompt_template", None),
        ("gemma", f"  prompt_template: {MISTRAL}\n", "/m/tokenizer.model", "own.prompt_template", MISTRAL),
        ("mistral", f"  prompt_template: {LLAMA2}\n", "/m/tokenizer.model", "own.prompt_template", LLAMA2),
        ("phi3_mini", "", "/m/tokenizer.model", "own.tokenizer_path", None),
        ("phi3_mini", "", "/m/phi.model", "own.tokenizer_path", "/m/phi.model"),
        ("phi3_mini", "", "/m/original/tokenizer.model", "own.tokenizer_path", "/m/original/tokenizer.model"),
        ("phi3_mini", "  special_tokens_path: /m/s.json\n", "/m/a.model", "own.special_tokens_path", "/m/s.json"),
    ],
)
def test_each_key_sets_its_knob(model: str, more: str, path: str, knob: str, value: Any) -> None:
    opened = read(COMPONENTS[model][0], more, path)
    assert get(opened.recipe, knob) == value
    fresh = write_config(opened.recipe, None, Facts(tokenizer="/m", data="x.jsonl", format="messages"))
    again = trainer_named("torchtune").read_config("t.yaml", fresh.files[0].content, "0.6.1").recipe
    assert get(again, knob) == value and not fresh.losses


def test_a_models_template_is_refused_where_sftui_does_not_know_what_it_does() -> None:
    with pytest.raises(RecipeError, match="MistralChatTemplate with this tokenizer"):
        read("torchtune.models.llama3.llama3_tokenizer", f"  prompt_template: {MISTRAL}\n")


def test_a_key_that_an_older_builder_does_not_take_is_told() -> None:
    opened = read(COMPONENTS["gemma"][0], "  truncation_type: left\n")
    note = next(note for note in opened.keys if note.path == "tokenizer.truncation_type")
    assert "unexpected keyword" in note.note
    opened = read(COMPONENTS["gemma"][0], "  truncation_type: left\n", version="0.7")
    assert opened.recipe.length.over == "cut_left"


def test_a_server_reads_special_tokens_that_torchtune_takes_for_text(folder: Path) -> None:
    given = load_tokenizer(str(folder), mode="provisional")
    tools = pipeline.make_toolbox(recipe_of(folder, "gemma"), given)
    assert tools.reader is given and len(tools.reader.ids("<|im_end|>")) == 1 < len(tools.tokenizer.ids("<|im_end|>"))
    own = pipeline.make_toolbox(recipe_of(folder, "qwen2"), given)
    assert own.reader is own.tokenizer
