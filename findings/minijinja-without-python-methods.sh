#!/usr/bin/env bash
# minijinja 3.1.0, the Jinja in Rust of several servers: two things that published chat templates do with a text are errors
# there, and valid in jinja2: the % of Python ("%s, %s" % …) and .rsplit(). They compile, and stop when a row gets there:
# a template that renders a first test may stop at the first row with a tool call.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
python3 -m venv env
env/bin/pip install -q minijinja==3.1.0 jinja2==3.1.6
env/bin/python - <<'PY'
from importlib.metadata import version
import jinja2
import minijinja

print("minijinja", version("minijinja"), "and jinja2", version("jinja2"))
rows = [{"content": "Hi."}, {"content": "think</think>Hi.", "call": "add"}]
templates = {
    "{% if call %}{{ '<%s>' % call }}{% else %}{{ content }}{% endif %}": ["Hi.", "<add>"],
    "{% if '</think>' in content %}{{ content.rsplit('</think>')[-1] }}{% else %}{{ content }}{% endif %}": ["Hi.", "Hi."],
}
for source, expected in templates.items():
    environment = minijinja.Environment(templates={"chat": source})
    assert [jinja2.Template(source).render(row) for row in rows] == expected
    assert environment.render_template("chat", **rows[0]) == expected[0]
    try:
        environment.render_template("chat", **rows[1])
    except minijinja.TemplateError as error:
        print(f"  {source}\n    jinja2: {expected}; minijinja: {expected[0]!r}, then {str(error).splitlines()[0]}")
    else:
        raise SystemExit("minijinja renders the second row now")
PY
