"""LLaMA-Factory's own chat templates as data: the most used of its registry.

Source: llamafactory 0.9.5, data/template.py (`register_template` and its defaults, `Template`).
A format is a tuple of slots: text with at most one `{{content}}`, or BOS/EOS for the tokenizer's
own token, inserted as an id. Every slot is encoded alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

PLACEHOLDER = "{{content}}"


class Special(Enum):
    """A slot that stands for a special token of the tokenizer; absent ones are left out."""

    BOS = "bos_token"
    EOS = "eos_token"


BOS, EOS = Special.BOS, Special.EOS
Slots = tuple["str | Special", ...]


class Kind(str, Enum):
    """How turns are put together: as they are, system inside the first user turn, with thoughts."""

    PLAIN = "plain"
    LLAMA2 = "llama2"
    REASONING = "reasoning"


@dataclass(frozen=True, slots=True)
class SlotTemplate:
    """One template: what stands around each kind of turn, and what it does to the tokenizer.

    `function_format` and `tools_format` name a tool format (see `tools`). `replace_eos` makes the
    first stop word the tokenizer's EOS; stop words that are missing are added to it.
    `efficient_eos`: no EOS between turns, the label of the next turn's first token is EOS instead.
    """

    name: str
    user: Slots
    assistant: Slots
    system: Slots
    function: Slots
    observation: Slots
    prefix: Slots = ()
    function_format: str = "default"
    tools_format: str = "default"
    default_system: str = ""
    stop_words: tuple[str, ...] = ()
    efficient_eos: bool = False
    replace_eos: bool = False
    kind: Kind = Kind.PLAIN
    thought: tuple[str, str] = ("<think>\n", "\n</think>\n\n")
    tool_call: tuple[str, str] = ("<tool_call>", "</tool_call>")

    @property
    def terminator(self) -> str:
        """The text that ends an assistant's turn; empty where the EOS id or nothing does."""
        for slot in self.assistant:
            if isinstance(slot, str) and PLACEHOLDER in slot:
                return slot.partition(PLACEHOLDER)[2].strip()
        return ""


def define(
    name: str,
    user: Slots = (PLACEHOLDER,),
    assistant: Slots | None = None,
    system: Slots = (PLACEHOLDER,),
    function: Slots | None = None,
    observation: Slots | None = None,
    *,
    prefix: Slots = (),
    tools: str = "default",
    default_system: str = "",
    stop_words: tuple[str, ...] = (),
    efficient_eos: bool = False,
    replace_eos: bool = False,
    kind: Kind = Kind.PLAIN,
) -> SlotTemplate:
    """A template with the registry's own defaults for what is not given."""
    answer = assistant if assistant is not None else (PLACEHOLDER,) if efficient_eos else (PLACEHOLDER, EOS)
    return SlotTemplate(
        name,
        user,
        answer,
        system,
        function if function is not None else answer,
        observation if observation is not None else user,
        prefix,
        tools,
        tools,
        default_system,
        stop_words,
        efficient_eos,
        replace_eos,
        kind,
    )


def _chatml(role: str, inside: str = PLACEHOLDER, *, answered: bool = False) -> Slots:
    return (f"<|im_start|>{role}\n{inside}<|im_end|>\n" + ("<|im_start|>assistant\n" if answered else ""),)


def _llama3(role: str, *, answered: bool = False) -> Slots:
    header = "<|start_header_id|>{}<|end_header_id|>\n\n"
    return (header.format(role) + PLACEHOLDER + "<|eot_id|>" + (header.format("assistant") if answered else ""),)


def _gemma(role: str) -> Slots:
    return (f"<start_of_turn>{role}\n{PLACEHOLDER}<end_of_turn>\n<start_of_turn>model\n",)


_QWEN = define(
    "qwen",
    _chatml("user", answered=True),
    (PLACEHOLDER + "<|im_end|>\n",),
    _chatml("system"),
    observation=_chatml("user", f"<tool_response>\n{PLACEHOLDER}\n</tool_response>", answered=True),
    tools="qwen",
    default_system="You are Qwen, created by Alibaba Cloud. You are a helpful assistant.",
    stop_words=("<|im_end|>",),
    replace_eos=True,
)

_CHATML = define(
    "chatml",
    _chatml("user", answered=True),
    (PLACEHOLDER + "<|im_end|>\n",),
    _chatml("system"),
    observation=_chatml("tool", answered=True),
    stop_words=("<|im_end|>", "<|im_start|>"),
    replace_eos=True,
)
_CHATML_KEEPING_EOS = define(
    "yi",
    _chatml("user", answered=True),
    (PLACEHOLDER + "<|im_end|>\n",),
    _chatml("system"),
    stop_words=("<|im_end|>",),
)
_GEMMA = define(
    "gemma",
    _gemma("user"),
    (PLACEHOLDER + "<end_of_turn>\n",),
    (PLACEHOLDER + "\n\n",),
    observation=_gemma("tool"),
    prefix=(BOS,),
    stop_words=("<end_of_turn>",),
    replace_eos=True,
    kind=Kind.LLAMA2,
)
_DEEPSEEK3 = define("deepseek3", (f"<｜User｜>{PLACEHOLDER}<｜Assistant｜>",), prefix=(BOS,))

_ALL = (
    define(
        "default",
        ("Human: " + PLACEHOLDER, EOS, "\nAssistant:"),
        (PLACEHOLDER, EOS, "\n"),
        ("System: " + PLACEHOLDER, EOS, "\n"),
    ),
    define("empty", assistant=(PLACEHOLDER,)),
    define(
        "alpaca",
        (f"### Instruction:\n{PLACEHOLDER}\n\n### Response:\n",),
        (PLACEHOLDER, EOS, "\n\n"),
        default_system="Below is an instruction that describes a task. "
        "Write a response that appropriately completes the request.\n\n",
    ),
    define("breeze", (f"[INST] {PLACEHOLDER} [/INST] ",), prefix=(BOS,), efficient_eos=True),
    _CHATML,
    replace(_CHATML, name="chatml_de", default_system="Du bist ein freundlicher und hilfsbereiter KI-Assistent."),
    _CHATML_KEEPING_EOS,
    replace(_CHATML_KEEPING_EOS, name="smollm"),
    replace(
        _CHATML_KEEPING_EOS,
        name="smollm2",
        default_system="You are a helpful AI assistant named SmolLM, trained by Hugging Face.",
    ),
    define("deepseek", (f"User: {PLACEHOLDER}\n\nAssistant:",), system=(PLACEHOLDER + "\n\n",), prefix=(BOS,)),
    _DEEPSEEK3,
    replace(_DEEPSEEK3, name="deepseekr1", kind=Kind.REASONING),
    define("falcon", (f"User: {PLACEHOLDER}\nFalcon:",), (PLACEHOLDER + "\n",), efficient_eos=True),
    _GEMMA,
    replace(_GEMMA, name="gemma2", stop_words=("<eos>", "<end_of_turn>"), efficient_eos=True, replace_eos=False),
    define(
        "granite3",
        (
            f"<|start_of_role|>user<|end_of_role|>{PLACEHOLDER}<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>",
        ),
        (PLACEHOLDER + "<|end_of_text|>\n",),
        (f"<|start_of_role|>system<|end_of_role|>{PLACEHOLDER}<|end_of_text|>\n",),
    ),
    define(
        "llama2",
        (BOS, f"[INST] {PLACEHOLDER} [/INST]"),
        system=(f"<<SYS>>\n{PLACEHOLDER}\n<</SYS>>\n\n",),
        kind=Kind.LLAMA2,
    ),
    define(
        "llama3",
        _llama3("user", answered=True),
        (PLACEHOLDER + "<|eot_id|>",),
        _llama3("system"),
        observation=_llama3("ipython", answered=True),
        prefix=(BOS,),
        tools="llama3",
        stop_words=("<|eot_id|>", "<|eom_id|>"),
        replace_eos=True,
    ),
    define(
        "mistral",
        (f"[INST] {PLACEHOLDER}[/INST]",),
        (" " + PLACEHOLDER, EOS),
        (PLACEHOLDER + "\n\n",),
        function=("[TOOL_CALLS] " + PLACEHOLDER, EOS),
        observation=(f'[TOOL_RESULTS] {{"content": {PLACEHOLDER}}}[/TOOL_RESULTS]',),
        prefix=(BOS,),
        tools="mistral",
        kind=Kind.LLAMA2,
    ),
    define(
        "phi",
        (f"<|user|>\n{PLACEHOLDER}<|end|>\n<|assistant|>\n",),
        (PLACEHOLDER + "<|end|>\n",),
        (f"<|system|>\n{PLACEHOLDER}<|end|>\n",),
        stop_words=("<|end|>",),
        replace_eos=True,
    ),
    define(
        "phi4",
        (f"<|im_start|>user<|im_sep|>{PLACEHOLDER}<|im_end|><|im_start|>assistant<|im_sep|>",),
        (PLACEHOLDER + "<|im_end|>",),
        (f"<|im_start|>system<|im_sep|>{PLACEHOLDER}<|im_end|>",),
        stop_words=("<|im_end|>",),
        replace_eos=True,
    ),
    define(
        "solar",
        (f"### User:\n{PLACEHOLDER}\n\n### Assistant:\n",),
        system=(f"### System:\n{PLACEHOLDER}\n\n",),
        efficient_eos=True,
    ),
    define(
        "vicuna",
        (f"USER: {PLACEHOLDER} ASSISTANT:",),
        default_system="A chat between a curious user and an artificial intelligence assistant. "
        "The assistant gives helpful, detailed, and polite answers to the user's questions.",
    ),
    define(
        "zephyr",
        ("<|user|>\n" + PLACEHOLDER, EOS, "<|assistant|>\n"),
        system=("<|system|>\n" + PLACEHOLDER, EOS),
        default_system="You are Zephyr, a helpful assistant.",
    ),
    _QWEN,
    replace(_QWEN, name="mimo", default_system="You are a helpful assistant.", kind=Kind.REASONING),
    replace(_QWEN, name="qwen3", default_system="", kind=Kind.REASONING),
    replace(_QWEN, name="qwen3_nothink", default_system=""),
)

TEMPLATES = {template.name: template for template in _ALL}
"""The templates that sftui has, by LLaMA-Factory's own names."""

NAMES = frozenset(TEMPLATES)
