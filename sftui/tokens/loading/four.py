"""The tokenizer that transformers 4 makes of a folder, redone with `tokenizers` alone; None where that is not known.

transformers 4 takes tokenizer.json as it is and then changes it: tokens of the configs are added or get other flags, a
class sets the tokens around a text, the lower casing or the prefix space of its own arguments. What each class does
stands in four.json, recorded from the source of transformers 4.57.6 (tests/parity/record_four.py); how, here. Source:
tokenization_utils_fast.py (PreTrainedTokenizerFast.__init__), tokenization_utils_base.py (_from_pretrained),
models/*/tokenization_*_fast.py, convert_slow_tokenizer.py (GPT2Converter, Qwen2Converter, BertConverter).

Not known: a class with steps of its own that are not listed, sentencepiece models without tokenizer.json (a converter
for each class reads them), code of the repository, and files that transformers 4 would refuse.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from sftui.tokens.loading.locate import Location, object_in, read_json
from sftui.tokens.surface import state_of

NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
"""transformers 4, SpecialTokensMixin.SPECIAL_TOKENS_ATTRIBUTES without the last, in its order."""
MORE = "additional_special_tokens"
LARGE = 100_000
"""Above this vocabulary `fix_mistral_regex` is looked at."""
_record = cache(partial(read_json, Path(__file__).with_name("four.json")))
_ELSEWHERE = {"from_slow", "init_inputs", "tokenizer_file", "fast_tokenizer_files", "auto_map", "tokenizer_object"}
"""Keys of tokenizer_config.json that lead another way than the one redone here."""
_QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


class Redone(NamedTuple):
    """A tokenizer of transformers 4: its `tokenizers.Tokenizer`, `encode_special_tokens` set, the special tokens that
    it names, and those that it only lists (`additional_special_tokens`)."""

    backend: Any
    special: Mapping[str, str]
    more: tuple[str, ...]


class _UnknownTokenizer(Exception):
    """What transformers 4 makes of the folder is not known here."""


def version() -> str:
    """The release whose source was read."""
    return str(_record()["version"])


def redone(place: Location) -> Redone | None:
    """What transformers 4 makes of a folder; None if not known."""
    if place.folder is None or (place.folder / "tekken.json").is_file():
        return None
    try:
        config = object_in(place.folder, "tokenizer_config.json")
        name = _class(place.folder, config)
        if _ELSEWHERE & set(config) or name not in _record()["classes"]:
            return None
        return _built(place.folder, place.json, name, config)
    except Exception:  # whatever it stumbles over here, transformers 4 refuses or reads in a way of its own
        return None


def _class(folder: Path, config: Mapping[str, Any]) -> str:
    """The class that AutoTokenizer takes, the fast one of its name where there is one."""
    model = object_in(folder, "config.json")
    named = config.get("tokenizer_class") or model.get("tokenizer_class")
    if named is None:
        return str(_record()["models"].get(model.get("model_type"), ""))
    return str(named if str(named).endswith("Fast") else f"{named}Fast")


def _built(folder: Path, json_file: Path | None, name: str, config: Mapping[str, Any]) -> Redone:
    from tokenizers import Tokenizer

    one = _record()["classes"][name]
    given, added = _given(folder, json_file, config)
    arguments = {**one["defaults"], **given}
    steps = one["steps"]
    # Llama and T5 build anew from the vocabulary where the config says anything of a prefix space.
    anew = json_file is None or ("from_slow" in steps and given.get("add_prefix_space") is not None)
    made = _converted(folder, one["converter"], arguments, added) if anew else Tokenizer.from_file(str(json_file))
    if config.get("fix_mistral_regex") and made.get_vocab_size(with_added_tokens=False) > LARGE:
        raise _UnknownTokenizer  # it gets another split
    for key, flags in one["flags"].items():
        if isinstance(arguments.get(key), str):
            arguments[key] = _token(arguments[key], **flags)
    more = list(arguments.get(MORE) or [])
    if "extra_ids" in steps:
        more = _extra_ids(more, arguments)
    if "infilling" in steps:
        more += [arguments[key] for key in ("prefix_token", "middle_token", "suffix_token", "eot_token")]
    special = {key: arguments[key] for key in NAMED if arguments.get(key)}
    extra = arguments.get("extra_special_tokens") or {}
    if not isinstance(extra, Mapping) or not all(_is_token(value) for value in (*special.values(), *extra.values())):
        raise _UnknownTokenizer
    made.no_truncation()
    made.no_padding()
    made.encode_special_tokens = bool(arguments.get("split_special_tokens", False))
    _add_tokens(made, added, [*special.values(), *more, *extra.values()])
    with suppress(Exception):  # what tokenizers does not take, transformers leaves as it is, too
        _set(made, "pre_tokenizer", {"add_prefix_space": arguments.get("add_prefix_space", False)})
    for step in steps:
        if step in _STEPS:
            _STEPS[step](made, arguments)
    named = {key: str(_content(token)) for key, token in (special | dict(extra)).items()}
    return Redone(made, named, tuple(str(_content(token)) for token in more))


def _given(folder: Path, json_file: Path | None, config: Mapping[str, Any]) -> tuple[dict[str, Any], dict[int, Any]]:
    """The keyword arguments that the files give, and the added tokens by id (`_from_pretrained`)."""
    given = {key: value for key, value in config.items() if key != "tokenizer_class"}
    added: dict[int, Any] = {}
    known: dict[str, Any] = {}
    if "added_tokens_decoder" in given:
        for index, token in given.pop("added_tokens_decoder").items():
            added[int(index)] = known[token["content"]] = _token(**token)
    else:
        for key, value in object_in(folder, "special_tokens_map.json").items():
            if isinstance(value, dict):
                value = _token(**{**value, "special": True})
            elif key == MORE and isinstance(value, list):
                tokens = [_token(**{**one, "special": True}) if isinstance(one, dict) else one for one in value]
                value = list(given.pop(MORE, None) or [])
                value += [one for one in tokens if one not in value]
            given[key] = value
        named = {str(_content(given[key])) for key in NAMED if given.get(key)}
        named |= {str(_content(token)) for token in given.get(MORE) or []}
        for content, index in object_in(folder, "added_tokens.json").items():
            added[index] = _token(content, normalized=content not in named, special=content in named)
        if json_file is not None:
            for token in read_json(json_file)["added_tokens"]:
                flags = {key: value for key, value in token.items() if key != "id"}
                added[token["id"]] = known[token["content"]] = _token(**flags)
    given = {key: _typed(value) for key, value in given.items()}
    for key in NAMED:
        if given.get(key) is not None:
            given[key] = known.get(str(_content(given[key])), given[key])
    return given, added


def _add_tokens(made: Any, added: Mapping[int, Any], special: Sequence[Any]) -> None:
    """The end of PreTrainedTokenizerFast.__init__: tokens of the files with their flags, then the named ones."""
    wanted = [token for _, token in sorted(added.items())]
    there = {token.content for token in made.get_added_tokens_decoder().values()}
    there |= {token.content for token in wanted}
    contents = {str(_content(one)) for one in special}
    seen: set[str] = set()
    for one in special:
        content = str(_content(one))
        if content not in there and content not in seen:
            wanted.append(one)
        seen.add(content)
    tokens = []
    for one in wanted:
        if isinstance(one, str):
            one = _token(one, special=one in contents)
        else:
            one.special = one.special or one.content in contents
        tokens.append(one)
    if tokens:
        made.add_tokens(tokens)


def _set(made: Any, part: str, wanted: Mapping[str, Any]) -> None:
    """Other options of a part, those that it has; of a sequence of parts none."""
    state = state_of(getattr(made, part))
    if any(state.get(key, value) != value for key, value in wanted.items()):
        _replace(made, {part: {key: wanted.get(key, value) for key, value in state.items()}})


def _around(made: Any, arguments: Mapping[str, Any]) -> None:
    """Llama, Gemma, Cohere, GPT-NeoX: the post-processor from add_bos_token and add_eos_token."""
    from tokenizers import processors

    put = []
    for key, flag in (("bos_token", "add_bos_token"), ("eos_token", "add_eos_token")):
        token = _content(arguments.get(key)) if arguments.get(flag) else None
        if arguments.get(flag) and token is None:
            raise _UnknownTokenizer
        put.append(token)
    bos, eos = put
    single = f"{bos + ':0 ' if bos else ''}$A:0{' ' + eos + ':0' if eos else ''}"
    pair = f"{single}{' ' + bos + ':1' if bos else ''} $B:1{' ' + eos + ':1' if eos else ''}"
    tokens = [(token, made.token_to_id(token)) for token in put if token]
    made.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=tokens)


def _no_bos(made: Any, arguments: Mapping[str, Any]) -> None:
    """CodeGen: a ValueError."""
    if arguments.get("add_bos_token"):
        raise _UnknownTokenizer


def _cased(made: Any, arguments: Mapping[str, Any]) -> None:
    """Bert and its like: the normalizer from the arguments."""
    _set(made, "normalizer", {"handle_chinese_chars": arguments["tokenize_chinese_chars"]})
    _accents(made, arguments)


def _accents(made: Any, arguments: Mapping[str, Any]) -> None:
    """MPNet: the same, but for Chinese."""
    if made.normalizer is None:
        raise _UnknownTokenizer  # an AttributeError there
    _set(made, "normalizer", {"lowercase": arguments["do_lower_case"], "strip_accents": arguments["strip_accents"]})


def _prefixed(made: Any, arguments: Mapping[str, Any]) -> None:
    """Bloom and Cohere: the prefix space wherever the pre-tokenizer and the decoder have it."""
    if arguments.get("add_prefix_space"):
        parts = json.loads(made.to_str())
        text = json.dumps({key: parts[key] for key in ("pre_tokenizer", "decoder")})
        _replace(made, json.loads(text.replace('"add_prefix_space": false', '"add_prefix_space": true')))


def _trimmed(made: Any, arguments: Mapping[str, Any]) -> None:
    """Roberta and its like: the post-processor from the arguments."""
    _set(made, "post_processor", {key: arguments[key] for key in ("add_prefix_space", "trim_offsets")})


_STEPS = {
    "around": _around,
    "cased": _cased,
    "accents": _accents,
    "no_bos": _no_bos,
    "prefixed": _prefixed,
    "trimmed": _trimmed,
}


def _replace(made: Any, parts: Mapping[str, Any]) -> None:
    """Put parts of a serialised tokenizer into another; the vocabulary is not read again."""
    from tokenizers import Tokenizer

    empty = {"version": "1.0", "added_tokens": [], "model": {"type": "BPE", "vocab": {}, "merges": []}}
    read = Tokenizer.from_str(json.dumps({**empty, **parts}))
    for key in parts:
        setattr(made, key, getattr(read, key))


def _converted(folder: Path, converter: str | None, arguments: dict[str, Any], added: Mapping[int, Any]) -> Any:
    """The backend that a converter builds from vocabulary files where there is no tokenizer.json."""
    if converter == "BertConverter":
        return _bert(folder, arguments)
    if converter in ("GPT2Converter", "Qwen2Converter"):
        return _byte_level(folder, converter == "Qwen2Converter", arguments, added)
    if converter in ("LlamaConverter", "GemmaConverter"):
        return _pieces(folder, converter == "GemmaConverter", arguments, added)
    raise _UnknownTokenizer


def _byte_level(folder: Path, qwen: bool, arguments: dict[str, Any], added: Mapping[int, Any]) -> Any:
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    vocabulary = read_json(folder / "vocab.json")
    lines = (folder / "merges.txt").read_text(encoding="utf-8").split("\n")
    split = [line.split() for line in lines if line and not line.startswith("#version")]
    pairs = [(left, right) for left, right in split]
    model = models.BPE(vocabulary, pairs, continuing_subword_prefix="", end_of_word_suffix="", fuse_unk=False)
    made = Tokenizer(model)
    space = bool(arguments.get("add_prefix_space", False))
    if qwen and space:
        raise _UnknownTokenizer  # an AttributeError in 4.57
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=space)
    if qwen:
        made.normalizer = normalizers.NFC()
        words = pre_tokenizers.Split(Regex(_QWEN2), behavior="isolated", invert=False)
        last = pre_tokenizers.ByteLevel(add_prefix_space=space, use_regex=False)
        made.pre_tokenizer = pre_tokenizers.Sequence([words, last])
    made.decoder = decoders.ByteLevel()
    made.post_processor = processors.ByteLevel(trim_offsets=False)
    for key in ("bos_token", "eos_token", "unk_token", "pad_token"):
        if isinstance(arguments.get(key), str):
            flags = {"special": True, "normalized": False} if qwen else {"normalized": True}
            arguments[key] = _token(arguments[key], **flags)
    if not qwen and arguments.get("add_bos_token"):
        bos = _content(arguments["bos_token"])
        if bos not in vocabulary and added:  # its id is the slow tokenizer's own
            raise _UnknownTokenizer
        single, pair = f"{bos}:0 $A:0", f"{bos}:0 $A:0 $B:1"
        tokens = [(bos, vocabulary.get(bos, len(vocabulary)))]  # of the named tokens it is added first
        made.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=tokens)
    return made


def _pieces(folder: Path, gemma: bool, arguments: dict[str, Any], added: Mapping[int, Any]) -> Any:
    """SpmConverter.converted of Llama and Gemma, for a sentencepiece model trained as BPE."""
    from sentencepiece import SentencePieceProcessor
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

    read = SentencePieceProcessor()
    read.Load(str(folder / "tokenizer.model"))
    scored = [(read.id_to_piece(i), float(read.get_score(i))) for i in range(read.get_piece_size())]
    if gemma:
        first = [_content(arguments[key]) for key in ("pad_token", "eos_token", "bos_token")]
    else:
        first = [added[i].content if i in added else scored[i][0] for i in range(3)]
    pieces = {piece: i for i, (piece, _) in enumerate(scored)}
    scored[:3] = [(str(piece), 0.0) for piece in first]
    if gemma and "\t" not in pieces:
        tab = pieces.get("<0x09>")
        if tab is None:
            raise _UnknownTokenizer
        scored[tab], pieces["\t"] = ("\t", 0.0), tab
    vocabulary = {piece: i for i, (piece, _) in enumerate(scored)}
    model = models.BPE(
        vocabulary,
        _merges(pieces, scored),
        unk_token=read.id_to_piece(read.unk_id()),
        fuse_unk=True,
        byte_fallback=True,
    )
    made = Tokenizer(model)
    kinds = _piece_types(folder / "tokenizer.model")
    turns = ("<start_of_turn>", "<end_of_turn>") if gemma else ()
    put = [(piece, kind == 3 or piece in turns) for piece, kind in kinds if kind in (3, 4)]
    made.add_tokens([_token(piece, normalized=False, special=special) for piece, special in put])
    space = arguments.get("add_prefix_space")
    space = True if space is None else bool(space)
    if gemma:
        made.normalizer = normalizers.Replace(" ", "▁")
        made.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    elif arguments.get("legacy") is None or arguments["legacy"]:
        prepended = [normalizers.Prepend("▁")] if space else []
        made.normalizer = normalizers.Sequence([*prepended, normalizers.Replace(" ", "▁")])
    else:
        made.pre_tokenizer = pre_tokenizers.Metaspace("▁", "first" if space else "never", split=False)
    strip = [] if gemma or not space else [decoders.Strip(content=" ", left=1)]
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), *strip])
    for key in ("bos_token", "eos_token", "unk_token", "pad_token"):
        if isinstance(arguments.get(key), str):
            arguments[key] = _token(arguments[key], normalized=False, special=True)
    return made


def _piece_types(path: Path) -> list[tuple[str, int]]:
    """The pieces of a sentencepiece model with their types (3 control, 4 user defined); _Unknown unless it is BPE."""
    from sentencepiece import sentencepiece_model_pb2

    proto = sentencepiece_model_pb2.ModelProto.FromString(path.read_bytes())
    if proto.trainer_spec.model_type != 2:
        raise _UnknownTokenizer
    return [(piece.piece, piece.type) for piece in proto.pieces]


def _merges(pieces: Mapping[str, int], scored: Sequence[tuple[str, float]]) -> list[tuple[str, str]]:
    """convert_slow_tokenizer.generate_merges."""
    found = []
    for merge, score in dict(scored).items():
        cuts = [(merge[:i], merge[i:]) for i in range(1, len(merge))]
        known = [(left, right, score) for left, right in cuts if left in pieces and right in pieces]
        found += sorted(known, key=lambda one: (pieces[one[0]], pieces[one[1]]))
    found.sort(key=lambda one: (one[2], len(one[0]), len(one[1])), reverse=True)
    return [(left, right) for left, right, _ in found]


def _bert(folder: Path, arguments: Mapping[str, Any]) -> Any:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    pieces = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
    vocabulary = {piece: i for i, piece in enumerate(pieces if pieces[-1] else pieces[:-1])}
    cls, sep, unk = (str(_content(arguments[key])) for key in ("cls_token", "sep_token", "unk_token"))
    if not {cls, sep, unk} <= set(vocabulary) or not arguments.get("do_basic_tokenize", True):
        raise _UnknownTokenizer
    made = Tokenizer(models.WordPiece(vocabulary, unk_token=unk))
    made.normalizer = normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=arguments["tokenize_chinese_chars"],
        strip_accents=arguments["strip_accents"],
        lowercase=arguments["do_lower_case"],
    )
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece(prefix="##")
    made.post_processor = processors.TemplateProcessing(
        single=f"{cls}:0 $A:0 {sep}:0",
        pair=f"{cls}:0 $A:0 {sep}:0 $B:1 {sep}:1",
        special_tokens=[(cls, vocabulary[cls]), (sep, vocabulary[sep])],
    )
    return made


def _extra_ids(more: list[Any], arguments: Mapping[str, Any]) -> list[Any]:
    """T5's additional tokens."""
    count = int(arguments["extra_ids"])
    named = [one for one in more if "<extra_id_" in str(_content(one))]
    if arguments.get(MORE) is not None and named:
        if count > 0 and count != len(named):
            raise _UnknownTokenizer  # a ValueError there
        return more
    return [*more, *(f"<extra_id_{i}>" for i in range(count))]


def _token(content: str, **flags: Any) -> Any:
    from tokenizers import AddedToken

    return AddedToken(content, **{key: value for key, value in flags.items() if key != "__type"})


def _typed(value: Any) -> Any:
    """A value of a config with its tokens read (`convert_added_tokens`)."""
    if isinstance(value, dict):
        if value.get("__type") == "AddedToken":
            return _token(**value)
        return {key: _typed(one) for key, one in value.items()}
    return [_typed(one) for one in value] if isinstance(value, list) else value


def _is_token(value: Any) -> bool:
    return isinstance(value, str) or hasattr(value, "content")


def _content(token: Any) -> Any:
    return getattr(token, "content", token)
