"""Record what ms-swift's registries hold: templates, agent templates, loss scales, models and datasets.

    PYTHON_OF_ITS_ENVIRONMENT tests/parity/record_swift_templates.py [FOLDER]

Writes two files into sftui/trainers/ms_swift, or into FOLDER where one is named: templates.json, the parts and settings
of every template whose class sftui has the rules of (`KINDS`; what is as TemplateMeta has it by default is left out),
the names of all others, the wordings that agent templates put around tools, and the weights of loss scales; and
models.json, which template a model gets by its name, its model_type or its architecture, and the datasets that have a
preparation of their own. A day that a template wrote
when it was imported is recorded as {{DAY:FORMAT}}.
"""

from __future__ import annotations

import importlib.metadata
import json
import logging
import os
import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

os.environ.update({"LOG_LEVEL": "ERROR", "CUDA_VISIBLE_DEVICES": "", "MODELSCOPE_CACHE": tempfile.mkdtemp()})
logging.disable(logging.CRITICAL)

import swift.loss_scale.base
from swift.agent_template import agent_template_map
from swift.dataset.dataset_meta import DATASET_MAPPING, DatasetMeta
from swift.dataset.dataset_syntax import DatasetSyntax
from swift.dataset.preprocessor import AutoPreprocessor
from swift.model import MODEL_MAPPING
from swift.template import TEMPLATE_MAPPING

REPO = Path(__file__).resolve().parents[2]
FOLDER = REPO / "sftui" / "trainers" / "ms_swift"
KINDS = {
    "Template": "plain",
    "Gemma3Template": "gemma3",
    "GLM4Template": "glm4",
    "GLM4_5Template": "glm4",
    "DeepseekV3_1Template": "deepseek_v3_1",
    "HunyuanTemplate": "hunyuan",
}
"""The classes of templates whose rules sftui has: what it calls them."""
NO_CHATS = ("bert", "bge_reranker", "internlm2_reward")
"""Templates of those classes for models that are not trained on answers."""
USUAL = {
    "chat_sep": None,
    "suffix": [["eos_token_id"]],
    "system_prefix": None,
    "default_system": None,
    "auto_add_bos": False,
    "stop_words": [],
    "agent_template": None,
    "is_thinking": False,
    "thinking_prefix": "",
    "non_thinking_prefix": "",
    "preserve_thinking": None,
    "history_thinking_prefix": "",
}
DAYS = ("%d %b %Y", "%Y-%m-%d")
SYSTEM = "\x01S"
TOOL = {"name": "\x01N", "name_for_human": "\x01H", "description": "\x01D", "parameters": "\x01P"}
PLACES = {"\x01N": "{{name}}", "\x01H": "{{human}}", "\x01D": "{{description}}", "\x01P": "{{parameters}}"}
WORDED = (
    "react_en", "react_zh", "qwen_en", "qwen_zh", "qwen_en_parallel", "qwen_zh_parallel", "react_grpo"
)  # fmt: skip
"""Agent templates that list tools in words, all names once more."""
SCALES = ("react", "hermes", "qwen", "agentflan", "alpha_umi", "ignore_empty_think", "ignore_think_prefix")


def undated(value: Any) -> Any:
    """The same with the day of this import as a place."""
    if isinstance(value, str):
        for form in DAYS:
            value = value.replace(date.today().strftime(form), f"{{{{DAY:{form}}}}}")
        return value
    return [undated(one) for one in value] if isinstance(value, list) else value


def facts_of(meta: Any) -> dict[str, Any]:
    """A template without what it has by default."""
    given = {"prefix": meta.prefix, "prompt": meta.prompt, "kind": KINDS[meta.template_cls.__name__]}
    given |= {name: getattr(meta, name) for name, usual in USUAL.items() if getattr(meta, name) != usual}
    if meta.is_post_system:
        given["system_prompt"] = meta.system_prompt
    return {name: undated(value) for name, value in given.items()}


def listed(agent: Any, system: str, described: str) -> str:
    """What an agent template writes around the description of one tool."""
    told: str = agent._format_tools([json.loads(json.dumps(FUNCTION))], system, {"role": "user", "content": "\x01Q"})
    assert told.count(described) == 1, (told, described)
    return told.replace(described, "{{tools}}")


FUNCTION = {"type": "function", "function": {"name": "n", "description": "d", "parameters": {"p": {}}}}


def agents() -> dict[str, dict[str, str]]:
    """The wordings of each agent template whose rules sftui has."""
    inner = FUNCTION["function"]
    assert isinstance(inner, dict)
    plain = json.dumps(FUNCTION, ensure_ascii=False)
    found: dict[str, dict[str, str]] = {}
    for name in WORDED:
        agent = agent_template_map[name]()
        one = agent._format_tools([dict(TOOL)], SYSTEM)
        two = agent._format_tools([dict(TOOL), {**TOOL, "name": "\x01M"}], SYSTEM)
        names = one.index("\x01N", one.rindex("\x01P"))
        begin = one.index("### \x01H") if "### \x01H" in one else one.index("\x01N")
        end = one.index("JSON", one.index("\x01P"))
        end = next(i + len(stop) for stop in (" object.", "对象。") if (i := one.find(stop, end)) >= 0)
        told = f"{one[:begin]}{{{{tools}}}}{one[end:names]}{{{{names}}}}{one[names + 2 :]}"
        tool = one[begin:end]
        for mark, place in PLACES.items():
            tool = tool.replace(mark, place)
        made = told.replace("{{names}}", "\x01N,\x01M").replace("{{tools}}", worded(tool))
        assert made == two, (name, made, two)
        found[name] = {"tools": told.replace(SYSTEM, "{{system}}"), "tool": tool}
    for name in ("hermes", "hunyuan_hermes"):
        told = listed(agent_template_map[name](), SYSTEM, plain)
        found[name] = {"tools": told.replace(SYSTEM, "{{system}}")}
    indented = json.dumps(FUNCTION, ensure_ascii=False, indent=4)
    for name in ("llama3", "llama4"):
        user = {"role": "user", "content": "\x01Q"}
        assert agent_template_map[name]()._format_tools([FUNCTION], SYSTEM, user) == SYSTEM
        found[name] = {"tools": user["content"].replace(indented, "{{tools}}").replace("\x01Q", "{{query}}")}
    for name in ("chatglm4", "glm4"):
        tool = f"## n\n\n{json.dumps(inner, ensure_ascii=False, indent=4)}\n"
        told = agent_template_map[name]()._format_tools([FUNCTION], SYSTEM)
        head, _, tail = told.partition(tool)
        found[name] = {"tools": head + "{{tools}}", "tool": "## {{name}}\n\n{{parameters}}\n" + tail}
    for name in ("glm4_5", "glm4_7", "glm5_1"):
        agent = agent_template_map[name]()
        shown = json.dumps(inner if name == "glm5_1" else FUNCTION, ensure_ascii=False)
        told = agent._format_tools([FUNCTION], SYSTEM)
        bare = agent._format_tools([FUNCTION], None)
        found[name] = {
            "tools": told.replace(shown, "{{tools}}").replace(SYSTEM, "{{system}}"),
            "alone": bare.replace(shown, "{{tools}}"),
        }
    told = agent_template_map["deepseek_v3_1"]()._format_tools([FUNCTION], SYSTEM)
    tool = f"### n\nDescription: d\n\nParameters: {json.dumps(inner['parameters'])}"
    assert told.count(tool) == 1
    found["deepseek_v3_1"] = {"tools": told.replace(tool, "{{tools}}").replace(SYSTEM, "{{system}}")}
    told = agent_template_map["minimax_m2"]()._format_tools([FUNCTION], SYSTEM)
    tool = f"<tool>{json.dumps(inner, ensure_ascii=False)}</tool>"
    assert told.count(tool) == 1
    found["minimax_m2"] = {"tools": told.replace(tool, "{{tools}}").replace(SYSTEM, "{{system}}")}
    told = agent_template_map["mistral"]()._format_tools([FUNCTION], SYSTEM)
    found["mistral"] = {"tools": told.replace(plain, "{{tools}}").replace(SYSTEM, "{{system}}")}
    told = agent_template_map["toolbench"]()._format_tools([FUNCTION], SYSTEM)
    found["toolbench"] = {"tools": told.replace(json.dumps([inner], ensure_ascii=False), "{{tools}}")}
    return found


def worded(tool: str) -> str:
    """Two tools as the recorder's own are written."""
    marks = {place: mark for mark, place in PLACES.items()}
    first = tool
    for place, mark in marks.items():
        first = first.replace(place, mark)
    return first + "\n\n" + first.replace("\x01N", "\x01M")


def scales() -> dict[str, Any]:
    """The weights of each loss scale that reads them from a file."""
    folder = Path(swift.loss_scale.base.__file__).parent / "config"
    return {name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in SCALES}


def models() -> dict[str, Any]:
    """model_type → its templates, and the models that are known by name; architecture → its model types."""
    types: dict[str, Any] = {}
    architectures: dict[str, list[str]] = {}
    seen: set[str] = set()
    for kind, meta in MODEL_MAPPING.items():
        names: dict[str, list[str]] = {}
        for group in meta.model_groups:
            for model in group.models:
                for place in (model.ms_model_id, model.hf_model_id, model.model_path):
                    name = place.rsplit("/", 1)[-1].lower() if isinstance(place, str) else ""
                    if name and name not in seen:
                        seen.add(name)
                        names.setdefault(group.template or meta.template or "", []).append(name)
        types[kind] = {
            **({"template": meta.template} if meta.template else {"candidates": meta.candidate_templates}),
            **({"multimodal": True} if meta.is_multimodal else {}),
            **({"names": {template: " ".join(sorted(one)) for template, one in names.items()}} if names else {}),
        }
        for architecture in meta.architectures or ["null"]:
            architectures.setdefault(architecture, []).append(kind)
    joined = {name: " ".join(kinds) for name, kinds in architectures.items()}
    return {"types": types, "architectures": joined}


def datasets() -> str:
    """The last parts of the names of datasets that are not prepared as one that is not known."""
    usual, names = DatasetMeta(), set[str]()
    for meta in DATASET_MAPPING.values():
        plain = type(meta.preprocess_func) is AutoPreprocessor and not meta.preprocess_func.columns
        if plain and all(getattr(meta, name) == getattr(usual, name) for name in ("subsets", "split", "loader")):
            continue
        places = (meta.ms_dataset_id, meta.hf_dataset_id, meta.dataset_path)
        names |= {DatasetSyntax.get_dataset_name(place) for place in places if place}
    return " ".join(sorted(names))


def main(folder: str | None = None) -> None:
    place, version = Path(folder) if folder else FOLDER, importlib.metadata.version("ms-swift")
    modelled = {
        name: facts_of(meta)
        for name, meta in TEMPLATE_MAPPING.items()
        if meta.template_cls.__name__ in KINDS and name not in NO_CHATS
    }
    others = sorted(set(TEMPLATE_MAPPING) - set(modelled))
    told = {
        "ms-swift": version,
        "templates": modelled,
        "others": " ".join(others),
        "agents": agents(),
        "other_agents": " ".join(sorted(set(agent_template_map) - set(agents()))),
        "scales": scales(),
    }
    for name, value in (("templates", told), ("models", {"ms-swift": version, **models(), "datasets": datasets()})):
        text = json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
        (place / f"{name}.json").write_text(text, encoding="utf-8")
    print(f"{len(modelled)} templates, {len(others)} others, {len(told['agents'])} agent templates; ms-swift {version}")


if __name__ == "__main__":
    main(*sys.argv[1:])
