"""Whether two versions of transformers are known to make the same ids of a tokenizer, told from its files alone.

transformers 5 either takes tokenizer.json as it is (TokenizersBackend), or a class builds the backend anew from the
vocabulary and merges in it. Which of the two follows from `tokenizer_class`, from config.json's `model_type` and from
tables that change between releases (models/auto/tokenization_auto.py). Two versions make the same ids where both take
the file, or where both take the same class and its source is the same. Source: releases.json, recorded from the
releases by tests/parity/record_loading.py, and held against 80 tokenizers under each
(tests/parity/test_parity_loading.py).

transformers 4 loads by other classes with code of their own; of these only PreTrainedTokenizerFast takes the file as
it is. What the others make of it is redone where a proof is made (`four`), and compared with what the running release
makes: `TokenizerFacts.elsewhere`, as numbers of probe strings.
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from sftui.tokens.loading import four
from sftui.tokens.loading.locate import Location, object_in, read_json
from sftui.tokens.loading.reference import config_of

FILE = "tokenizer.json"
"""What is said of a version that takes tokenizer.json as it is."""
GENERIC = ("TokenizersBackend", "PythonBackend", "PreTrainedTokenizerFast", "PreTrainedTokenizer")
MISTRAL = "MistralCommonBackend"


def _no_charsmap(config: Mapping[str, Any], place: Location) -> bool:
    return place.json is not None and '"Precompiled"' not in json.dumps(read_json(place.json).get("normalizer"))


def _nothing_around(config: Mapping[str, Any], place: Location) -> bool:
    put = read_json(place.json).get("post_processor") if place.json is not None else None
    return (
        put is None or put["type"] == "ByteLevel" or (put["type"] == "TemplateProcessing" and not put["special_tokens"])
    )


def _always(config: Mapping[str, Any], place: Location) -> bool:
    return True


UNMOVED: Mapping[str, Callable[[Mapping[str, Any], Location], bool]] = {
    "RobertaTokenizer": _always,
    "BartTokenizer": _always,
    "LEDTokenizer": _always,
    "MvpTokenizer": _always,
    "MPNetTokenizer": _always,
    "GPTNeoXTokenizer": _nothing_around,
    "AlbertTokenizer": _no_charsmap,
    "XLNetTokenizer": _no_charsmap,
}
"""Classes whose source changed between 5.6.0 and 5.16.1, and when the change does not act: Roberta's passes the same
arguments by place instead of by name, MPNet's puts pairs together otherwise, GPT-NeoX's no longer keeps what
tokenizer.json puts around a text, Albert's and XLNet's keep the character map of tokenizer.json's normalizer."""

_record = cache(partial(read_json, Path(__file__).with_name("releases.json")))


def may_differ(place: Location, a: str, b: str, elsewhere: Mapping[str, int] | None = None) -> str | None:
    """Why the ids under two versions may differ, as a clause; None where they are known to be the same.

    A version between two that were read counts as both of them. What is not known may differ. `elsewhere` is what was
    measured of the tokenizer as `b` loads it (see `TokenizerFacts`).
    """
    if a == b:
        return None
    if place.loader:
        return _named_may_differ(place, a, b)
    measured = {**(elsewhere or {})}
    if is_redone(a) and four.version() in measured:
        return _counted(a, measured[four.version()])
    if place.kind in ("builtin", "file"):
        return None  # loaded as the file is, under every version
    if place.folder is None:
        gguf = "for .gguf, only the running release is known"
        return "its files are not on disk yet" if place.kind == "hub" else gguf
    counts = [_counted(version, measured[version]) for version in _around(a) if version in measured]
    if any(counts):
        return next(filter(None, counts))
    versions = [version for one in (a, b) for version in _around(one) if one is b or version not in measured]
    try:
        ways = {*_ways(place, versions).values()}
    except (OSError, ValueError) as error:
        return f"its files cannot be read ({error})"
    if None in ways:
        return "how they load it is not known"
    names = {way[0] for way in ways if way is not None}
    if len(names) > 1:
        return "they load it with " + " and ".join(sorted(names))
    if len(ways) > 1:
        return f"{next(iter(names))} changed between them"
    return None


def _counted(version: str, probes: int) -> str | None:
    return f"{version} gives different ids for {probes} probe strings" if probes else None


def loaded_otherwise(place: Location, running: str) -> dict[str, str]:
    """The recorded versions that load a tokenizer by another class than the running one, which has that class too.

    The running one can then show what they make of it: a proof loads it by that class (see `TokenizerFacts`).
    """
    if place.folder is None or running not in _record()["versions"]:
        return {}
    try:
        ways = _ways(place, _record()["versions"])
    except (OSError, ValueError):
        return {}
    mine = ways[running]
    found = {}
    for version, way in ways.items():
        if way is None or mine is None or way[0] == mine[0]:
            continue
        if way == (FILE, None):
            found[version] = GENERIC[0]
        elif way[1] is not None and way[1] == _source(running, way[0]):
            found[version] = way[0]
    return found


def class_of(place: Location, version: str, running: str) -> str | None:
    """The class of the running release that loads a tokenizer as another version does; None where that is not known.

    A version between two that were read counts as both of them.
    """
    known = {} if place.loader else loaded_otherwise(place, running)
    kinds = {known.get(one) for one in _around(version)}
    return kinds.pop() if len(kinds) == 1 else None


def is_recorded(version: str) -> bool:
    """Whether a version was read, or stands between two that were."""
    return all(one in _record()["versions"] for one in _around(version))


def _named_may_differ(place: Location, a: str, b: str) -> str | None:
    """The same where the class is named that loads: it is known to do the same where its source did not change."""
    name = place.loader.removesuffix("Fast")
    versions = [version for one in (a, b) for version in _around(one)]
    if any(version not in _record()["versions"] for version in versions) or place.folder is None:
        return "how they load it is not known"
    if place.loader in GENERIC:
        return None if place.json is not None else "how they load it is not known"
    sources = {_source(version, name) for version in versions}
    if None in sources:
        return f"how they load it with {place.loader} is not known"
    if len(sources) == 1 or (name in UNMOVED and UNMOVED[name](config_of(place.folder), place)):
        return None
    return f"{name} changed between them"


def recorded_versions() -> tuple[str, ...]:
    """The releases of transformers 5 whose source was read, the oldest first."""
    return tuple(_record()["versions"])


def is_redone(version: str) -> bool:
    """Whether a proof tells of a version of transformers 4: it loads as the one whose source was read."""
    return f"{version}.".startswith(four.version().rpartition(".")[0] + ".")


def _around(version: str) -> tuple[str, ...]:
    """The recorded versions that tell of a version: itself, the two around it, or none that is known (itself)."""
    known = _record()["versions"]
    if version in known or version.startswith("4."):
        return (version,)
    older = [one for one in known if _numbers(one) < _numbers(version)]
    newer = [one for one in known if _numbers(one) > _numbers(version)]
    return (older[-1], newer[0]) if older and newer else (version,)


def _ways(place: Location, versions: Iterable[str]) -> dict[str, tuple[str, str | None] | None]:
    """How each of the versions loads a folder (see `_way`); OSError, ValueError."""
    config, model = (object_in(place.folder, name) for name in ("tokenizer_config.json", "config.json"))
    return {version: _way(version, config, model, place) for version in versions}


def _way(
    version: str, config: Mapping[str, Any], model: Mapping[str, Any], place: Location
) -> tuple[str, str | None] | None:
    """How a version loads: (FILE, None), or the class and the hash of its source; None where that is not known."""
    named = config.get("tokenizer_class")
    hub = named if isinstance(named, str) else model.get("tokenizer_class")
    hub = hub.removesuffix("Fast") if isinstance(hub, str) else None
    if "auto_map" in config or (place.folder is not None and (place.folder / "tekken.json").is_file()):
        return None
    if version.startswith("4."):
        alone = named == "PreTrainedTokenizerFast" and place.json is not None
        # both major versions read special tokens alike that are named so
        return (FILE, None) if alone and isinstance(config.get("extra_special_tokens", {}), Mapping) else None
    record = _record()
    if version not in record["versions"] or (hub is None and _numbers(version) < (5, 6, 0)):
        return None
    names = (place.argument.lower(), str(model.get("_name_or_path") or "").lower())
    if any(fnmatch.fnmatch(name, pattern) for name in names for pattern in record["ids"]):
        return None
    # Before 5.6 the class that config.json alone names is taken, whatever the model type registers.
    checked = isinstance(named, str) or _numbers(version) >= (5, 6, 0)
    found = _chosen(version, hub, model if checked else {}, place)
    if found in GENERIC or found == MISTRAL or _source(version, found) is None:
        if place.json is not None:
            return FILE, None
        return ("the vocabulary file alone", _converter(version, place)) if _numbers(version) > (5, 6, 0) else None
    if found in UNMOVED and UNMOVED[found](config, place):
        return found, None
    own = _source(version, found)
    if place.json is None and found in record["bare"]:
        return found, f"{own}{_converter(version, place) or ''}"
    return found, own


def _converter(version: str, place: Location) -> str | None:
    """Which converter makes a tokenizer of a SentencePiece model that no class builds; None where there is no model.

    Since 5.24 it is built by the model's own settings and scores (TokenizersBackend._convert_from_sentencepiece, for
    classes that have no __init__ of their own).
    """
    if place.folder is None or not any(place.folder.glob("*.model")):
        return None
    return "by its settings" if _numbers(version) >= (5, 24, 0) else "by its pieces"


def _chosen(version: str, hub: str | None, model: Mapping[str, Any], place: Location) -> str:
    """The class that AutoTokenizer takes (tokenization_auto.py, AutoTokenizer.from_pretrained)."""
    record = _record()
    at = record["versions"].index(version)
    kind = model.get("model_type")
    registered = _column(record["models"], kind, at) if isinstance(kind, str) else None
    wrong = kind in record["wrong"][version]
    if record["bytes"][at] and hub == "LlamaTokenizer" and registered != MISTRAL and not wrong and _byte_level(place):
        return GENERIC[0]
    if hub is None:
        return registered or GENERIC[0]
    if not registered or registered == hub:
        return hub
    # Before 5.6 a class that is not the registered one is never taken; in 5.6 it is, whatever the model type registers.
    if _numbers(version) < (5, 6, 0):
        return GENERIC[0]
    always = _numbers(version) <= (5, 6, 0)
    if registered in (*GENERIC, MISTRAL) and not always:
        return GENERIC[0]
    chosen = registered if wrong and not always else hub
    return chosen if _source(version, chosen) is not None else GENERIC[0]


def _source(version: str, name: str) -> str | None:
    record = _record()
    return _column(record["classes"], name, record["versions"].index(version))


def _column(table: Mapping[str, Any], key: str, at: int) -> str | None:
    found = table.get(key)
    one = found[at] if isinstance(found, list) else found
    return str(one) if one is not None else None


def _byte_level(place: Location) -> bool:
    """Whether tokenizer.json declares a ByteLevel pre-tokenizer or decoder."""
    if place.json is None:
        return False
    found = read_json(place.json)
    parts = [found.get("pre_tokenizer"), found.get("decoder")] if isinstance(found, dict) else []
    return any('"ByteLevel"' in json.dumps(part) for part in parts)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdecimal() and len(part) < 10 else 0 for part in version.split("."))
