"""What sftui knows about a tokenizer, as plain data that pickles and goes through JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field, fields, replace
from typing import Any

from sftui.values import value_class

PROVEN = "proven"
PROVISIONAL = "provisional"
ROLES = ("bos", "eos", "pad", "unk")


@value_class
class TokenizerFacts:
    """One tokenizer as `AutoTokenizer` loads it (state `proven`) or as its files read (`provisional`).

    `special_tokens` is the mapping that `apply_chat_template` hands to the template (transformers 5.23,
    `special_tokens_map`), `special_lists` what transformers 4 hands over next to it (`additional_special_tokens`).
    `chat_templates` maps names to sources; the key `default` is the one used where none is named. `vocab_size` counts
    added tokens. `model_max_length` is None where the tokenizer sets no limit. `front`/`back` are the ids that
    add_special_tokens=True was seen to put before and after a text; `adds_bos`/`adds_eos` say whether the BOS/EOS id is
    among them. `engine` names what encodes: `tokenizers` or `transformers`. `split_special_tokens`: special-token text
    is encoded as plain text. `commit` is the Hub commit, `probes` how many probe strings were compared equal in the
    proof. `transformers` is the version that loaded it, `backend` the sha256 of the serialised backend that was proven
    (both "" for a provisional or built-in one). `elsewhere` maps a version of transformers whose loading was redone
    next to the proof (see `four`) to the number of probe strings that get other ids under it than under `transformers`.
    `loader` is the class that loaded it in place of the one that the running release chooses, as the release
    `transformers` does. `random` says what cuts a text otherwise each time (empty: nothing). `doubled` are the ids that
    the files give to several tokens, with those.
    """

    name: str
    class_name: str = ""
    is_fast: bool = True
    vocab_size: int = 0
    special_tokens: Mapping[str, str] = field(default_factory=dict)
    special_lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    bos_token: str | None = None
    bos_id: int | None = None
    eos_token: str | None = None
    eos_id: int | None = None
    pad_token: str | None = None
    pad_id: int | None = None
    unk_token: str | None = None
    unk_id: int | None = None
    padding_side: str = "right"
    truncation_side: str = "right"
    model_max_length: int | None = None
    chat_templates: Mapping[str, str] = field(default_factory=dict)
    adds_bos: bool = False
    adds_eos: bool = False
    front: tuple[int, ...] = ()
    back: tuple[int, ...] = ()
    split_special_tokens: bool = False
    engine: str = "tokenizers"
    state: str = PROVEN
    commit: str = ""
    probes: int = 0
    transformers: str = ""
    backend: str = ""
    elsewhere: Mapping[str, int] = field(default_factory=dict)
    loader: str = ""
    random: str = ""
    doubled: tuple[tuple[int, tuple[str, ...]], ...] = ()
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The facts as what `json.dumps` takes; `from_json` is the inverse."""
        return asdict(self)

    @property
    def template_tokens(self) -> Mapping[str, str | list[str]]:
        """The special tokens that a chat template can read, by name."""
        if not self.special_lists:
            return self.special_tokens
        return {**self.special_tokens, **{name: list(tokens) for name, tokens in self.special_lists.items()}}

    def noting(self, *notes: str) -> TokenizerFacts:
        """The same facts with more notes; one already there is not said twice."""
        new = tuple(note for note in dict.fromkeys(notes) if note not in self.notes)
        return replace(self, notes=self.notes + new) if new else self


def named_roles(
    specials: Mapping[str, str], ids: Mapping[str, int | None], front: tuple[int, ...], back: tuple[int, ...]
) -> dict[str, Any]:
    """Of facts what follows from the named special tokens, the ids of `bos`, `eos`, `pad` and `unk`, and those around
    a text."""
    found: dict[str, Any] = {"special_tokens": specials, "front": front, "back": back}
    for role in ROLES:
        found |= {f"{role}_token": specials.get(f"{role}_token"), f"{role}_id": ids[role]}
    return {**found, "adds_bos": ids["bos"] in front, "adds_eos": ids["eos"] in back}


def from_json(data: Mapping[str, Any]) -> TokenizerFacts:
    """The facts of a dict made by `to_json`; TypeError or KeyError where it is not one."""
    known = {f.name for f in fields(TokenizerFacts)}
    values = {key: value for key, value in data.items() if key in known}
    values["doubled"] = tuple((token, tuple(pieces)) for token, pieces in values.get("doubled", ()))
    for key in ("front", "back", "notes"):
        values[key] = tuple(values.get(key, ()))
    values["special_lists"] = {name: tuple(tokens) for name, tokens in values.get("special_lists", {}).items()}
    return TokenizerFacts(**values)
