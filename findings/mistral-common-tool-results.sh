#!/usr/bin/env bash
# mistral-common 1.13.1: before the tokenizers of versions up to 3, a tool's result that is JSON is parsed and written again. A
# result of 3.10 (a version, a price) becomes 3.1, 1e3 becomes 1000.0, of a key that stands twice one is left.
# From version 7 on results stay as they are, but the arguments of calls are rewritten in every version.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
python3 -m venv env
env/bin/pip install -q mistral-common==1.13.1
env/bin/python - <<'PY'
import mistral_common
from mistral_common.protocol.instruct.messages import AssistantMessage, ToolMessage, UserMessage
from mistral_common.protocol.instruct.normalize import InstructRequestNormalizer, InstructRequestNormalizerV7
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.tool_calls import FunctionCall, ToolCall

print("mistral-common", mistral_common.__version__)


def chat(text):
    call = ToolCall(id="abcdefghi", function=FunctionCall(name="newest", arguments=text))
    result = ToolMessage(content=text, tool_call_id="abcdefghi", name="newest")
    return ChatCompletionRequest(messages=[UserMessage(content="Which?"), AssistantMessage(tool_calls=[call]), result])


for text, rewritten in (("3.10", "3.1"), ("1e3", "1000.0"), ('{"a":1,"a":2}', '{"a": 2}'), ("v3.10", "v3.10")):
    for normalizer, expected in ((InstructRequestNormalizer, rewritten), (InstructRequestNormalizerV7, text)):
        _, called, result = normalizer.normalizer().from_chat_completion_request(chat(text)).messages
        arguments = called.tool_calls[0].function.arguments
        print(f"  {normalizer.__name__}: result {text} becomes {result.content}, arguments {arguments}")
        assert result.content == expected and arguments == rewritten
PY
