"""Axolotl's instruction types: which columns of a row they read, and the prompt they write.

Source: axolotl 0.19.0, utils/data/wrappers.py, prompters.py, prompt_tokenizers.py and, under
prompt_strategies/, alpaca_chat, alpaca_instruct, alpaca_w_system, context_qa, orcamini, metharme
and user_defined. The texts are what the trainer writes, to the letter; they differ in nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from string import Formatter
from typing import Any

from sftui.errors import ConversationError, RecipeError
from sftui.model import NOWHERE, Conversation, Kind, Part
from sftui.trainers.axolotl.turns import STOPS

Row = Mapping[str, Any]
Read = Callable[[Row], tuple[Any, Any, Any]]

_TASK = "Below is an instruction that describes a task"
_WITH_INPUT = (
    f"{_TASK}, paired with an input that provides further context. Write a response that appropriately completes the"
    " request."
)
_WITHOUT_INPUT = f"{_TASK}. Write a response that appropriately completes the request."
_USER_TASK = "Below is an instruction from a USER that describes a task"
_CONCISE = (
    f"{_USER_TASK}, paired with an input that provides further context. The ASSISTANT writes a response that concisely"
    " and appropriately completes the request.\n\n"
)
_CONCISE_WITHOUT = (
    f"{_USER_TASK}. The ASSISTANT writes a response that appropriately and concisely completes the request.\n\n"
)
_EXPLAIN = "Choose the answer that best answers the question. Explain your reasoning.\n"
_CHOOSE = "Choose the answer that best answers the question. Be concise in your response.\n\n"
_CONTEXT = "Use the following contextual information to concisely answer the question.\n"
_NO_ANSWER = (
    "The context provided does not contain any information about your inquiry. "
    "Therefore, I'm unable to answer your question based on the given context."
)


@dataclass(frozen=True, slots=True)
class InstructStyle:
    """How instruction and input are written, and the system text before them."""

    turn: str
    without_input: str
    system: str = "{system}"


INSTRUCT = InstructStyle(
    "### Instruction:\n{instruction}\n\n### Input:\n{input}\n\n### Response:\n",
    "### Instruction:\n{instruction}\n\n### Response:\n",
    "{system}\n\n",
)
CHAT = InstructStyle(
    "USER: {instruction}\n{input}\nASSISTANT:", "USER: {instruction}\nASSISTANT:", "SYSTEM: {system}\n"
)
CHATML = InstructStyle(
    "<|im_start|>user\n{instruction}\n{input}<|im_end|>\n<|im_start|>assistant\n",
    "<|im_start|>user\n{instruction}<|im_end|>\n<|im_start|>assistant\n",
    "<|im_start|>system\n{system}<|im_end|>\n",
)
PHI = InstructStyle(
    "<|user|>\n{instruction}<|end|>{input}<|assistant|>",
    "<|user|>\n{instruction}<|end|>\n<|assistant|>\n",
    "<|system|>\n{system}<|end|>\n",
)
STYLES = {"instruct": INSTRUCT, "chat": CHAT, "chatml": CHATML, "phi": PHI}
_ORCA = InstructStyle(
    "### Human:\n{instruction}\n### Additional Context:\n{input}\n### Assistant:\n",
    "### Human:\n{instruction}\n### Assistant:\n",
    "### System:\n{system}\n",
)
_BARE = InstructStyle("{instruction}", "{instruction}", "")
_TLDR = InstructStyle(
    "USER: Summarize the following article as a TL;DR.\n{instruction}\n{input}\nASSISTANT:",
    "USER: Summarize the following article as a TL;DR.\n{instruction}\nASSISTANT:",
)
_ORCAMINI = InstructStyle(
    "### User:\n{instruction}\n\n### Response:\n",
    "### User:\n{instruction}\n\n### Response:\n",
    "### System:\n{system}\n\n",
)


def alpaca_prompts() -> tuple[str, str]:
    """The prompt of type alpaca with and without an input, as `format` and `no_input_format` of a user-defined type."""
    return f"{_WITH_INPUT}\n\n{INSTRUCT.turn}", f"{_WITHOUT_INPUT}\n\n{INSTRUCT.without_input}"


@dataclass(frozen=True, slots=True)
class InstructType:
    """One dataset type: `read` gives instruction, input and response of a row.

    `system` is the text for rows with and without input, or, with `from_row`, the row's own (the
    function returns it; a falsy one is left out). `eos` is how many EOS follow the response.
    """

    read: Read
    style: InstructStyle = INSTRUCT
    system: tuple[str, str] = (_WITH_INPUT, _WITHOUT_INPUT)
    from_row: Callable[[Row], Any] | None = None
    always_system: bool = False
    eos: int = 1
    columns: tuple[str, ...] = ("instruction", "output")


def _of(instruction: str, response: str, given: str | None = None, **more: Any) -> InstructType:
    """A type that reads columns by name; the input may be missing, the others may not."""

    def read(row: Row) -> tuple[Any, Any, Any]:
        return row[instruction], (row.get(given, "") if given else ""), row[response]

    return InstructType(read, **{"columns": (instruction, response), **more})


def _context(question: str, answer: Callable[[Row], Any], *columns: str) -> InstructType:
    """A type that asks a column with an article above it."""

    def read(row: Row) -> tuple[Any, Any, Any]:
        return row["article"] + "\n===\n" + row[question], "", answer(row)

    return InstructType(read, CHAT, (_CONTEXT, _CONTEXT), columns=("article", question, *columns))


def _choices(row: Row) -> tuple[Any, Any, Any]:
    answer = row["solution"] if "solution" in row else row["explanation"]
    return row["question"], "\n".join(f'- "{choice}"' for choice in row["choices"]), answer


_ALPACA = _of("instruction", "output", "input")
_NONE, _SHORT = ("", ""), (_CONCISE, _CONCISE_WITHOUT)
_STYLED: Mapping[str, InstructType] = {
    # base type → the type, which a style after the colon (alpaca:chat) may write in another way
    "alpaca": _ALPACA,
    "gpteacher": _of("instruction", "response", "input"),
    "oasst": _of("INSTRUCTION", "RESPONSE"),
    "jeopardy": InstructType(
        lambda row: (row["question"], row["category"], "what is " + row["answer"]),
        columns=("question", "category", "answer"),
    ),
    "explainchoice": InstructType(_choices, system=(_EXPLAIN, _EXPLAIN), columns=("question", "choices")),
    "concisechoice": InstructType(
        _choices, replace(CHAT, system="{system}"), (_CHOOSE, _CHOOSE), columns=("question", "choices")
    ),
    "summarizetldr": _of("article", "summary", style=_TLDR, system=_NONE),
}
_ONE_STYLE = ("concisechoice", "summarizetldr")
"""Those that a style does not change."""
_W_SYSTEM = replace(
    _ALPACA, style=CHAT, from_row=lambda row: row["system"], columns=("instruction", "output", "system")
)
_OPEN_ORCA = _of(
    "question", "response", from_row=lambda row: row["system_prompt"], columns=("question", "response", "system_prompt")
)
_LOADED: Mapping[str, InstructType] = {
    "alpaca_chat": replace(_ALPACA, style=CHAT),
    "alpaca_chat.load_concise": replace(_ALPACA, style=CHAT, system=_SHORT),
    "alpaca_chat.load_qa": _of("question", "answer", style=CHAT, system=_SHORT),
    "alpaca_chat.load_camel_ai": _of("message_1", "message_2", style=CHAT, system=_SHORT),
    "alpaca_chat.load_no_prompt": replace(_ALPACA, style=CHAT, system=_NONE),
    "alpaca_instruct": _ALPACA,
    "alpaca_instruct.load_no_prompt": replace(_ALPACA, system=_NONE),
    "alpaca_w_system": _W_SYSTEM,
    "alpaca_w_system.load_chat": _W_SYSTEM,
    "alpaca_w_system.load_instruct": replace(_W_SYSTEM, style=INSTRUCT),
    "alpaca_w_system.load_open_orca": replace(_OPEN_ORCA, style=_ORCA),
    "alpaca_w_system.load_open_orca_chatml": replace(_OPEN_ORCA, style=CHATML),
    "orcamini": replace(_OPEN_ORCA, style=_ORCAMINI, always_system=True),
    "context_qa": _context("question", lambda row: row["answer"], "answer"),
    "context_qa.load_404": _context("unanswerable_question", lambda row: _NO_ANSWER),
    "metharme": _of("prompt", "generation", style=_BARE, system=_NONE, eos=3),
}
USER_DEFINED = {
    "system_prompt": "",
    "field_system": "system",
    "field_instruction": "instruction",
    "field_input": "input",
    "field_output": "output",
    "format": "{instruction} {input} ",
    "no_input_format": "{instruction} ",
    "system_format": "{system}",
}


def instruct_type(name: str | Mapping[str, Any]) -> InstructType | None:
    """The type of a name or of a user-defined mapping; None for a name that is none of these."""
    if isinstance(name, Mapping):
        return _user_defined(name)
    loaded = _LOADED.get(name.removesuffix(".load"))
    if loaded is not None:
        return loaded
    base, _, style = name.partition(":")
    if not style or base in _ONE_STYLE or base not in _STYLED:
        return _STYLED.get(base)
    if style not in STYLES:
        raise RecipeError(f"Axolotl has no prompt style `{style}`", fix=f"use one of {', '.join(STYLES)}")
    return replace(_STYLED[base], style=STYLES[style])


def _user_defined(stated: Mapping[str, Any]) -> InstructType:
    unknown = sorted(set(map(str, stated)) - set(USER_DEFINED))
    if unknown:
        raise RecipeError(
            f"a user-defined type has no key `{unknown[0]}`", fix=f"its keys are {', '.join(USER_DEFINED)}"
        )
    keys = {**USER_DEFINED, **{str(key): str(value) for key, value in stated.items() if value is not None}}

    def system(row: Row) -> Any:
        return row[keys["field_system"]] if keys["field_system"] in row else keys["system_prompt"]

    def read(row: Row) -> tuple[Any, Any, Any]:
        return row[keys["field_instruction"]], row.get(keys["field_input"], ""), row.get(keys["field_output"], "")

    style = InstructStyle(keys["format"], keys["no_input_format"], keys["system_format"])
    return InstructType(read, style, from_row=system, columns=(keys["field_instruction"],))


def read_instruct(row: Row, kind: InstructType, where: str) -> Conversation:
    """The prompt and the response of a row; ConversationError where Axolotl stops the run.

    `extra["runs"]` says which stretch of the prompt comes from the row and which from the type.
    """
    try:
        instruction, given, response = kind.read(row)
        system = kind.from_row(row) if kind.from_row else kind.system[0 if given else 1]
    except KeyError as error:
        raise ConversationError(
            f"{STOPS}: the row has no column `{error.args[0]}`", where=where, fix="name the columns that the type reads"
        ) from error
    except TypeError as error:
        raise ConversationError(f"{STOPS}: a column does not contain text", where=where, why=str(error)) from error
    if response and not isinstance(response, str):
        raise ConversationError(
            f"{STOPS}: the response is not text",
            where=where,
            why=f"it is a {type(response).__name__}; sftui does not model such a row, even if a later cut removes it",
        )
    pieces: list[tuple[str, Part]] = []
    if (system or kind.always_system) and kind.style.system:
        pieces += [(text, Part.INJECTED) for text, _ in _filled(kind.style.system, {"system": system})]
    template = kind.style.turn if given else kind.style.without_input
    pieces += _filled(template, {"instruction": instruction, "input": given} if given else {"instruction": instruction})
    runs = [(text, NOWHERE if part is Part.INJECTED else 0, part) for text, part in pieces]
    prompt, extra = "".join(text for text, _, _ in runs), {"runs": runs, "eos": kind.eos}
    return Conversation(Kind.STRINGS, "columns", prompt=prompt, completion=response or "", extra=extra)


def _filled(template: str, values: Mapping[str, Any]) -> list[tuple[str, Part]]:
    """A format string filled in, as the stretches it is made of; RecipeError for more than plain fields."""
    found: list[tuple[str, Part]] = []
    try:
        for literal, name, spec, conversion in Formatter().parse(template):
            found.append((literal, Part.HEADER))
            if name is None:
                continue
            if spec or conversion or name not in values:
                raise RecipeError(
                    f"the prompt format asks for `{{{name}}}`",
                    why=f"Axolotl fills in only {', '.join(values)} here",
                    fix="double any other braces",
                )
            found.append((str(values[name]), Part.CONTENT))
    except ValueError as error:
        raise RecipeError("the prompt format cannot be read", why=str(error), fix="double literal braces") from error
    return found
