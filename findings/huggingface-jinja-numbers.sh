#!/usr/bin/env bash
# @huggingface/jinja 0.5.11, which renders chat templates in JavaScript: numbers of the data are JavaScript's. A tool call's
# 1.0 is written as 1, and an id of more than 53 bits is rounded, so the text is another than transformers' Jinja makes
# of the same row and template. A 1.0 that stands in the template itself stays 1.0.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
npm init -y >npm.log && npm install --silent @huggingface/jinja@0.5.11 >>npm.log
python3 -m venv env
env/bin/pip install -q jinja2==3.1.6
cat >row.json <<'JSON'
{"call": {"temperature": 1.0, "order": 9007199254740993}}
JSON
cat >template.jinja <<'JINJA'
{{ call.temperature }} {{ call.order }} {{ 1.0 }}
JINJA
cat >look.mjs <<'JS'
import { readFileSync } from "node:fs";
import { Template } from "@huggingface/jinja";
const row = JSON.parse(readFileSync("row.json", "utf8"));
console.log(new Template(readFileSync("template.jinja", "utf8").trim()).render(row));
JS
python=$(env/bin/python -c 'import json, jinja2; print(jinja2.Template(open("template.jinja").read()).render(json.load(open("row.json"))))')
javascript=$(node look.mjs)
echo "@huggingface/jinja $(node -p 'require("./node_modules/@huggingface/jinja/package.json").version')"
echo "  jinja2 3.1.6:       $python"
echo "  @huggingface/jinja: $javascript"
[ "$python" = "1.0 9007199254740993 1.0" ] && [ "$javascript" = "1 9007199254740992 1.0" ]
