"""AutoTokenizer in a process of its own, under whichever Python is given; imports nothing of sftui.

Run as a script, with Python 3.9 or newer and transformers 4.5x to 5.x. It reads requests from stdin, one JSON object a
line, and answers each with one line; what libraries print goes to stderr, and they find no stdin. Requests:

    {"load": {"kind", "argument", "revision", "gguf", "class", "named"}}    loads; facts, versions, backend's JSON
    {"encode": [text, …], "special": bool}               {"rows": [[ids, offsets or null, mask or null], …]}
    {"pieces": [id, …]}                                  {"pieces": [text or null, …]}
    {"ids": [piece, …]}                                  {"ids": [id or null, …]}

`kind` is folder, file, gguf or hub (see `locate.Location`); `class` names a class to take instead of AutoTokenizer's
choice (of a folder or hub), `named` one that the user names; `gguf` the path of a module that reads .gguf metadata
without torch. The answer to `load` is the fields of `Loaded` in `session.py`. What fails answers `{"error": [fault,
…]}`: the exception and all that led to it, as `faults` lists them. Without a Hub tokenizer nothing goes to the network.

The process that is started only watches: a second one does the work, and is killed as soon as the pipe named by
SFTUI_LIFELINE closes, so that nothing that hangs inside a tokenizer outlives its caller.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import sys
from collections.abc import Callable
from typing import Any

UNLIMITED = 10**12
"""A model_max_length from here on means none (transformers writes 1e30)."""
READER = "transformers.integrations.gguf.reader"
LIBRARIES = ("transformers", "tokenizers", "sentencepiece", "tiktoken", "mistral-common", "protobuf", "gguf")
LIFELINE = "SFTUI_LIFELINE"
DRAWS = 20
"""So often what is put around a text is looked for: a tokenizer may cut even one character in two ways."""
NO_CLASS = "there is no tokenizer class"


def load(request: dict[str, Any]) -> Any:
    """The tokenizer object of transformers.

    `trust_remote_code` is False in every call: None would ask on stdin for a repo with `auto_map`.
    """
    from transformers import AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity(logging.CRITICAL)
    kind, argument = request["kind"], request["argument"]
    if kind == "file":
        return _bare_class()(tokenizer_file=argument)
    if kind == "gguf":
        return _from_gguf(argument, request.get("gguf"))
    revision = request.get("revision") or "main"
    if request.get("class"):
        from transformers.models.auto.tokenization_auto import tokenizer_class_from_name

        kind = tokenizer_class_from_name(request["class"])
        if kind is None:
            raise LookupError(f"{NO_CLASS} {request['class']}")
        return kind.from_pretrained(argument, revision=revision, trust_remote_code=False)
    if request.get("named"):
        named = _named(request["named"])
        # As axolotl 0.19.0 calls it (loaders/tokenizer.py load_tokenizer), whose key `tokenizer_type` it is.
        return named.from_pretrained(argument, trust_remote_code=False, use_fast=True, revision=revision)
    return AutoTokenizer.from_pretrained(argument, revision=revision, trust_remote_code=False)


def _named(name: str) -> Any:
    """A tokenizer class of transformers by the name that a user gave."""
    import transformers

    found = getattr(transformers, name, None)
    if not (isinstance(found, type) and issubclass(found, transformers.PreTrainedTokenizerBase)):
        raise LookupError(f"{NO_CLASS} {name} (transformers {transformers.__version__})")
    return found


def _bare_class() -> Any:
    """The class over a tokenizer.json alone: TokenizersBackend since transformers 5, PreTrainedTokenizerFast before."""
    import transformers

    found = getattr(transformers, "TokenizersBackend", None)
    return found if found is not None else transformers.PreTrainedTokenizerFast


def _from_gguf(path: str, reader: Any) -> Any:
    """A .gguf through AutoTokenizer, or where torch or gguf is missing through the class under it.

    AutoTokenizer reads the model's config out of the file first, and needs torch and gguf for most architectures. The
    vocabulary is converted in the same place for every class (transformers 5.23, TokenizersBackend.__init__,
    convert_gguf_tokenizer), so only class defaults may differ.
    """
    from transformers import AutoTokenizer

    if reader and importlib.util.find_spec("torch") is None:
        spec = importlib.util.spec_from_file_location(READER, reader)
        if spec is None or spec.loader is None:
            raise ImportError(f"{reader} is not a Python module")
        module = importlib.util.module_from_spec(spec)
        sys.modules[READER] = module
        spec.loader.exec_module(module)
    folder, name = os.path.split(path)
    try:
        return AutoTokenizer.from_pretrained(folder, gguf_file=name, trust_remote_code=False)
    except ImportError:
        return _bare_class().from_pretrained(folder, gguf_file=name)


def facts(tokenizer: Any) -> dict[str, Any]:
    """What a loaded tokenizer is, as JSON; what it puts around a text is seen by encoding."""
    named = tokenizer.special_tokens_map
    specials = {key: str(value) for key, value in named.items() if isinstance(value, str)}
    front, back = _around(tokenizer)
    limit = getattr(tokenizer, "model_max_length", None)
    ids = {}
    for key in ("bos", "eos", "pad", "unk"):
        token = specials.get(f"{key}_token")
        ids[key] = None if token is None else tokenizer.convert_tokens_to_ids(token)
    added = sorted(tokenizer.added_tokens_decoder.items())
    fast = bool(tokenizer.is_fast)
    return {
        "class_name": type(tokenizer).__name__,
        "is_fast": fast,
        "vocab_size": len(tokenizer),
        "special_tokens": specials,
        "special_lists": {key: [str(one) for one in value] for key, value in named.items() if isinstance(value, list)},
        "special_ids": [int(i) for i in tokenizer.all_special_ids if i is not None],  # an empty token has none
        "named_ids": ids,
        "padding_side": tokenizer.padding_side,
        "truncation_side": tokenizer.truncation_side,
        "model_max_length": int(limit) if limit is not None and limit < UNLIMITED else None,
        "chat_templates": _templates(getattr(tokenizer, "chat_template", None)),
        "front": front,
        "back": back,
        "around": [[i, str(tokenizer.convert_ids_to_tokens(i))] for i in (*front, *back)],
        "split_special_tokens": bool(getattr(tokenizer, "split_special_tokens", False)),
        "added": [[int(i), t.content, bool(t.special), bool(t.lstrip), bool(t.rstrip)] for i, t in added],
        "mistral_regex": getattr(tokenizer, "fix_mistral_regex", None),
        "sentencepiece": hasattr(tokenizer, "sp_model"),
        "doubled": _doubled(tokenizer),
        "random": randomness(tokenizer.backend_tokenizer.model if fast else tokenizer),
        "backend": _backend(tokenizer) if fast else None,
        "versions": versions(),
    }


def _backend(tokenizer: Any) -> str:
    """The serialised backend, truncation and padding off: AutoTokenizer sets both anew in each call."""
    backend = tokenizer.backend_tokenizer
    backend.no_truncation()
    backend.no_padding()
    return str(backend.to_str())


def _doubled(tokenizer: Any) -> list[list[Any]]:
    """The ids that several words of the vocabulary have, each with those."""
    words = tokenizer.get_vocab()
    found: dict[int, list[str]] = {}
    if len({*words.values()}) < len(words):
        for word, token in sorted(words.items()):
            found.setdefault(token, []).append(word)
    return [[int(token), some] for token, some in sorted(found.items()) if len(some) > 1]


def randomness(model: Any) -> str:
    """What makes a model of `tokenizers`, or a slow tokenizer over SentencePiece, cut a text otherwise each time; empty
    where nothing does.

    A dropout of 1 drops every merge, always; of one best cut, or by an alpha of 0, nothing is drawn (tokenizers 0.23.3,
    models/unigram; sentencepiece 0.2).
    """
    dropout = getattr(model, "dropout", None)
    if dropout and dropout < 1:
        return f"BPE dropout of {dropout:.3g}"
    alpha, nbest = getattr(model, "alpha", None), getattr(model, "nbest_size", None)
    if alpha and nbest != 1:
        return f"Unigram sampling with alpha {alpha:.3g}"
    options = getattr(model, "sp_model_kwargs", None)
    if isinstance(options, dict) and options.get("enable_sampling") and options.get("nbest_size", -1) not in (0, 1):
        return "SentencePiece sampling (sp_model_kwargs.enable_sampling)"
    return ""


def _around(tokenizer: Any) -> tuple[list[int], list[int]]:
    """The ids that add_special_tokens=True puts before and after a text."""
    for _ in range(DRAWS):
        inner = list(tokenizer("x", add_special_tokens=False)["input_ids"])
        whole = list(tokenizer("x", add_special_tokens=True)["input_ids"])
        for start in range(len(whole) - len(inner) + 1):
            if whole[start : start + len(inner)] == inner:
                return whole[:start], whole[start + len(inner) :]
    return [], []


def _templates(template: Any) -> dict[str, str]:
    if template is None:
        return {}
    if isinstance(template, dict):
        return {str(name): str(source) for name, source in template.items()}
    return {"default": str(template)}


def versions() -> dict[str, str]:
    """The installed versions of the libraries that take part in loading."""
    import importlib.metadata

    found = {"python": sys.version.split()[0]}
    for name in LIBRARIES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def encode(tokenizer: Any, texts: list[str], special: bool) -> list[list[Any]]:
    """Each text as ids, character offsets and the mask of what was put around it; the last two None if slow."""
    rows: list[list[Any]] = []
    for text in texts:
        text.encode("utf-8")  # lone surrogates, which a slow tokenizer would pass on or choke on later
        if tokenizer.is_fast:
            found = tokenizer(
                text, add_special_tokens=special, return_offsets_mapping=True, return_special_tokens_mask=True
            )
            offsets = [list(pair) for pair in found["offset_mapping"]]
            rows.append([list(found["input_ids"]), offsets, list(found["special_tokens_mask"])])
        else:
            rows.append([[int(i) for i in tokenizer(text, add_special_tokens=special)["input_ids"]], None, None])
    return rows


def pieces(tokenizer: Any, ids: list[int]) -> list[Any]:
    """The vocabulary strings of ids, None outside the vocabulary."""
    size = len(tokenizer)
    return [tokenizer.convert_ids_to_tokens(i) if 0 <= i < size else None for i in ids]


def token_ids(tokenizer: Any, wanted: list[str]) -> list[Any]:
    """The ids of vocabulary strings, None for a string that is none."""
    found = []
    for piece in wanted:
        one = tokenizer.convert_tokens_to_ids(piece)
        unknown = one is None or (one == tokenizer.unk_token_id and piece != tokenizer.unk_token)
        found.append(None if unknown else int(one))
    return found


def faults(error: Any) -> list[dict[str, Any]]:
    """An exception and all that led to it, as what can be said of them without their classes."""
    found = []
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        found.append(
            {
                "names": [kind.__name__ for kind in type(error).__mro__],
                "text": str(error)[:2000],
                "status": getattr(getattr(error, "response", None), "status_code", None),
                "errno": getattr(error, "errno", None) if isinstance(error, OSError) else None,
                "strerror": getattr(error, "strerror", None) if isinstance(error, OSError) else None,
                "filename": str(error.filename) if isinstance(error, OSError) and error.filename else None,
            }
        )
        error = error.__cause__ or error.__context__
    return found


def missing_modules() -> list[str]:
    """Which of the libraries that read a vocabulary are not installed, by the names of their packages."""
    wanted = (("sentencepiece", "sentencepiece"), ("google.protobuf", "protobuf"), ("tiktoken", "tiktoken"))
    return [package for module, package in wanted if not _installed(module)]


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def answer(request: dict[str, Any], held: dict[str, Any]) -> dict[str, Any]:
    """The answer to one request; `held` keeps the tokenizer between them."""
    if "load" in request:
        held["tokenizer"] = load(request["load"])
        return facts(held["tokenizer"])
    tokenizer = held["tokenizer"]
    if "encode" in request:
        return {"rows": encode(tokenizer, request["encode"], request["special"])}
    if "pieces" in request:
        return {"pieces": pieces(tokenizer, request["pieces"])}
    return {"ids": token_ids(tokenizer, request["ids"])}


def serve(answer: Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]] = answer) -> None:
    """Answer every request on stdin until it ends."""
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    say = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    held: dict[str, Any] = {}
    for line in requests:
        try:
            reply = answer(json.loads(line), held)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # PanicException of tokenizers is no Exception
            reply = {"error": faults(error), "missing": missing_modules()}
        say.write(json.dumps(reply, ensure_ascii=True) + "\n")
        say.flush()


def stay_with_caller() -> None:
    """Go on in a child process, which is killed as soon as the lifeline closes; the process itself only watches.

    Where there is no lifeline nothing happens: the end of stdin then ends the process.
    """
    text = os.environ.pop(LIFELINE, "")
    if not text:
        return
    import select
    import signal

    lifeline = int(text)
    ended, alive = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(lifeline)
        os.close(ended)
        os.set_inheritable(alive, False)
        return  # `alive` stays open as long as the child lives
    os.close(alive)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    ready, _, _ = select.select([lifeline, ended], [], [])
    if ended not in ready:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os._exit(128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))


def without_neighbours() -> None:
    """The folder of a script comes first on sys.path, and its neighbours here have names of other libraries (gguf)."""
    here = os.path.dirname(os.path.realpath(__file__))
    sys.path[:] = [one for one in sys.path if os.path.realpath(one or ".") != here]


if __name__ == "__main__":
    without_neighbours()
    stay_with_caller()
    serve()
