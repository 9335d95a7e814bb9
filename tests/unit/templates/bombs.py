"""Templates that ask for far more than an answer: what each family makes much out of little with.

`BOMBS` holds them all by name, `family/what`. None of them does harm on its own row: it must end in a sentence, or
render within the bound, and leave the process, the terminal and the other rows as they were.
"""

from __future__ import annotations

OPERATIONS = {
    "repeat": "{{ 'a' * 10**10 }}",
    "long_text": "{{ \"'ab', \" * 1400000 }}",
    "repeat_from_the_left": "{{ 10000000000 * 'a' }}",
    "repeat_list": "{{ [1] * 10**9 }}",
    "repeat_variable": "{% set n = 10000000000 %}{{ messages[0].role * n }}",
    "power": "{{ 9 ** (9 ** 9) }}",
    "power_string": "{{ (10 ** 5000) ** 5000 }}",
    "square_forever": (
        "{% set ns = namespace(x=7) %}{% for i in range(100) %}{% set ns.x = ns.x * ns.x %}{% endfor %}{{ ns.x }}"
    ),
    "power_float": "{{ 10.0 ** 10000 }}",
    "percent_width": "{{ '%10000000000d' % 1 }}",
    "percent_star": "{{ '%*d' % (9999999999, 1) }}",
    "percent_precision": "{{ '%.9999999999f' % 1.5 }}",
    "percent_many": "{% set big = 'x' * 60000000 %}{{ '%s%s%s%s' % (big, big, big, big) }}",
    "format_width": "{{ '{:10000000000}'.format(1) }}",
    "format_nested_width": "{{ '{:{}}'.format(1, 9999999999) }}",
    "format_map_width": "{{ '{a:10000000000}'.format_map({'a': 1}) }}",
    "format_filter": "{{ '%10000000000d' | format(1) }}",
    "format_long_number": "{{ '{:99999999999999999999999}'.format(1) }}",
    "center_filter": "{{ 'a' | center(10000000000) }}",
    "center_method": "{{ 'a'.center(10000000000) }}",
    "ljust": "{{ messages[0].content.ljust(10000000000) }}",
    "rjust": "{{ 'a'.rjust(10000000000) }}",
    "zfill": "{{ 'a'.zfill(10000000000) }}",
    "expandtabs": "{{ '\t'.expandtabs(10000000000) }}",
    "indent": "{{ 'a\nb' | indent(10000000000) }}",
    "indent_text": "{% set big = 'x' * 1000000 %}{{ ('a\n' * 1000000) | indent(big) }}",
    "tojson_indent": "{{ messages | tojson(indent=10000000000) }}",
    "tojson_separators": "{% set big = 'x' * 10000000 %}{{ ([1] * 1000000) | tojson(separators=(big, big)) }}",
    "replace_filter": "{% set big = 'x' * 1000000 %}{{ big | replace('x', big) }}",
    "replace_method": "{% set big = 'x' * 1000000 %}{{ big.replace('x', big) }}",
    "replace_empty": "{% set big = 'x' * 1000000 %}{{ big.replace('', big) }}",
    "join_filter": "{% set big = 'x' * 1000000 %}{{ range(100000) | join(big) }}",
    "join_method": "{% set big = 'x' * 1000000 %}{{ big.join(big) }}",
    "translate": "{% set big = 'x' * 1000000 %}{{ big.translate({120: big}) }}",
    "translate_fromkeys": "{% set big = 'x' * 1000000 %}{{ big.translate(dict.fromkeys([120], big)) }}",
    "double_plus": (
        "{% set ns = namespace(x='a') %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x }}"
    ),
    "double_tilde": (
        "{% set ns = namespace(x='a') %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}{{ ns.x }}"
    ),
    "double_block": (
        "{% set ns = namespace(x='a') %}{% for i in range(60) %}{% set b %}{{ ns.x }}{{ ns.x }}{% endset %}{% set ns.x"
        " = b %}{% endfor %}"
    ),
    "double_list": (
        "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x }}"
    ),
    "nested_list": (
        "{% set ns = namespace(x=['a']) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}"
    ),
    "nested_dict": (
        "{% set ns = namespace(x='a') %}{% for i in range(60) %}{% set ns.x = {'a': ns.x, 'b': ns.x} %}{% endfor %}{{"
        " ns.x | tojson }}"
    ),
    "nested_dict_call": (
        "{% set ns = namespace(x='a') %}{% for i in range(60) %}{% set ns.x = dict(a=ns.x, b=ns.x) %}{% endfor %}{{"
        " ns.x }}"
    ),
    "nested_tuple_straight": (
        "{% set x0 = ('a', 'a') %}" + "".join(f"{{% set x{i + 1} = (x{i}, x{i}) %}}" for i in range(60)) + "{{ x60 }}"
    ),
    "nested_namespace": (
        "{% set ns = namespace(x=['a']) %}{% for i in range(60) %}{% set ns.x = namespace(a=ns.x, b=ns.x) %}{% endfor"
        " %}{{ ns.x }}"
    ),
    "nested_recursion": (
        "{% macro f(x, n) %}{% if n %}{{ f([x, x], n - 1) }}{% else %}{{ x }}{% endif %}{% endmacro %}{{ f('a', 60) }}"
    ),
    "macro_varargs": (
        "{% macro f(n) %}{% if n %}{{ f(n - 1, varargs, varargs) }}{% else %}{{ varargs }}{% endif %}{% endmacro %}{{"
        " f(60, 1) }}"
    ),
    "namespace_chain": (
        "".join(f"{{% set n{i} = namespace(x=1) %}}" for i in range(61))
        + "".join(f"{{% set n{i}.x = [n{i + 1}, n{i + 1}] %}}" for i in range(60))
        + "{{ n0 }}"
    ),
    "nested_by_map": (
        "{% set ns = namespace(x='a') %}{% for i in range(60) %}{% set ns.x = ['', ''] | map('default', ns.x, true) |"
        " list %}{% endfor %}{{ ns.x }}"
    ),
    "nested_by_batch": (
        "{% set ns = namespace(x='a') %}{% for i in range(60) %}{% set ns.x = ['', ''] | map('default', ns.x, true) |"
        " batch(2) | first %}{% endfor %}{{ ns.x }}"
    ),
    "sum_of_mapped": (
        "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = ['', ''] | map('default', ns.x, true) |"
        " sum(start=[]) %}{% endfor %}{{ ns.x }}"
    ),
    "huge_range": "{% for i in range(10**9) %}{% endfor %}",
    "nested_loops": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "nested_loops_with_output": "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}",
    "filtered_loops": "{% for i in range(99999) %}{% for j in range(99999) if false %}{% endfor %}{% endfor %}",
    "big_output": "{% set big = 'x' * 1000000 %}{% for i in range(99999) %}{{ big }}{% endfor %}",
    "big_set_block": (
        "{% set big = 'x' * 1000000 %}{% set b %}{% for i in range(99999) %}{{ big }}{% endfor %}{% endset %}"
    ),
    "big_macro": (
        "{% set big = 'x' * 1000000 %}{% macro f() %}{% for i in range(99999) %}{{ big }}{% endfor %}{% endmacro %}{{"
        " f() }}"
    ),
    "big_filter_block": (
        "{% set big = 'x' * 1000000 %}{% filter upper %}{% for i in range(99999) %}{{ big }}{% endfor %}{% endfilter %}"
    ),
    "big_generation": (
        "{% set big = 'x' * 1000000 %}{% generation %}{% for i in range(99999) %}{{ big }}{% endfor %}{%"
        " endgeneration %}"
    ),
    "macro_forever": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "macro_tree": "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    "recursive_loop": "{% for m in messages recursive %}{{ loop(messages) }}{% endfor %}",
    "block_forever": "{% block a %}{{ self.a() }}{% endblock %}",
    "lipsum": "{{ lipsum(n=100000000) }}",
    "lipsum_words": "{{ lipsum(max=10000000000) }}",
    "batch_fill": "{{ [1] | batch(10000000000, 'x') | list }}",
    "slice_many": "{{ [1] | slice(10000000000) | list }}",
    "round_digits": "{{ 3 | round(100000000, 'ceil') }}",
    "wordwrap": "{% set big = 'x' * 1000000 %}{{ ('a ' * 1000000) | wordwrap(1, wrapstring=big) }}",
    "urlize_target": "{% set big = 'x' * 1000000 %}{{ ('http://a.de ' * 100000) | urlize(target=big) }}",
    "letters_to_list": "{{ ('x' * 60000000) | list | length }}",
    "split_letters": "{{ ('x ' * 30000000).split() | length }}",
    "sum_of_lists": (
        "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] | sum(start=[]) %}{% endfor"
        " %}{{ ns.x }}"
    ),
    "map_center": "{{ ['a'] | map('center', 10000000000) | list }}",
    "attr_of_method": "{{ ('a' | attr('center'))(10000000000) }}",
    "markup_center": "{{ ('a' | safe).center(10000000000) }}",
    "markup_format": "{{ ('{:10000000000}' | safe).format(1) }}",
    "markup_repeat": "{{ ('a' | safe) * 10000000000 }}",
    "markup_percent": "{{ ('%10000000000d' | safe) % 1 }}",
    "markup_autoescape": (
        "{% autoescape true %}{% set big = 'x' * 1000000 %}{{ big.replace('x', big) }}{% endautoescape %}"
    ),
    "bytes_repeat": "{{ 'a'.encode() * 10000000000 }}",
    "bytes_center": "{{ 'a'.encode().center(10000000000) }}",
    "bytes_percent": "{{ 'a%9999999999d'.encode() % 1 }}",
    "to_bytes": "{{ (1).to_bytes(10000000000, 'big') }}",
    "from_bytes_giant": (
        "{{ (1).from_bytes('x'.encode() * 60000000, 'big') // (1).from_bytes('y'.encode() * 30000000, 'big') }}"
    ),
    "int_filter_giant": "{{ ('f' * 60000000) | int(base=16) is divisibleby(3) }}",
    "punycode": "{{ ('ü' * 10000000).encode('punycode') }}",
    "idna": "{{ ('ü' * 10000000).encode('idna') }}",
    "striptags_comments": "{{ ('<!---->' * 8000000) | striptags }}",
    "striptags_method": "{{ (('<!---->' * 8000000) | safe).striptags() }}",
    "title_long": "{{ ('a ' * 30000000) | title }}",
    "pprint_long": "{{ (['ab'] * 1000000) | pprint }}",
    "urlencode_long": "{{ ('ü' * 60000000) | urlencode }}",
    "splitlines_returns": "{{ ('\\r' * 60000000).splitlines() | length }}",
    "split_words": "{{ ('xy ' * 20000000).split() | length }}",
    "nested_views": (
        "{% set ns = namespace(x={'a': 'a'}) %}{% for i in range(60) %}{% set ns.x = {'a': ns.x.items(), 'b':"
        " ns.x.values()} %}{% endfor %}{{ ns.x }}"
    ),
    "folded_at_compile_time": "{% if false %}{{ 'a' | center(10000000000) }}{% endif %}{{ 'a' | center(10000000000) }}",
}


def _long(names: str, count: int) -> str:
    return "".join(names.replace("#", str(number)) for number in range(count))


_WIDE = "range(99999) | map('center', 30000000)"
_NUMBERS = "range(100000, 199999) | list"
_TEXTS = "(['http://a.bc/?d=e&f ' * 1500] * 2000)"

LAZY = {
    f"{name}_of_wide": "{{ " + f"({_WIDE}) | {name}" + " }}"
    for name in (
        "list",
        "join",
        "sort",
        "unique | list",
        "batch(3) | list",
        "slice(3) | list",
        "groupby(0) | list",
        "last",
        "map('length') | max",
        "map('upper') | list",
        "map('length') | sum",
        "select('string') | list | length",
        "reject('none') | list | length",
        "map('tojson') | join",
        "map('reverse') | map('list') | list",
        "min",
        "max",
        "map('wordcount') | sum",
        "map('trim') | list",
        "map('replace', ' ', '') | join",
        "map('indent') | list",
        "map('e') | list",
        "map('urlize') | join",
        "map('title') | list",
        "list | tojson",
        "list | pprint",
        "list | string | length",
        "list | reverse | list",
        "map('wordwrap', 1) | join",
        "map('striptags') | list",
    )
} | {
    "sum_start": "{{ " + _WIDE + " | sum(start='') }}",
    "join_method": "{{ ''.join(" + _WIDE + ") | length }}",
    "fromkeys": "{{ dict.fromkeys(" + _WIDE + ") | length }}",
    "dict_of_zip": "{{ dict(" + _WIDE + " | batch(2)) | length }}",
    "loop_length": "{% for m in " + _WIDE + " %}{{ loop.length }}{% break %}{% endfor %}",
    "loop_last": "{% for m in " + _WIDE + " %}{{ loop.last }}{% endfor %}",
    "loop_previtem": "{% for m in " + _WIDE + " %}{{ loop.previtem | length }}{% endfor %}",
    "loop_changed": "{% for m in " + _WIDE + " %}{{ loop.changed(m) }}{% endfor %}",
    "varargs": "{% macro m() %}{{ varargs | length }}{% endmacro %}{{ m(*(" + _WIDE + ")) }}",
    "kwargs": "{% macro m() %}{{ kwargs | length }}{% endmacro %}{{ m(**dict(" + _WIDE + " | batch(2))) }}",
    "in_wide": "{{ 'x' in (" + _WIDE + ") }}",
    "unpacked": "{% set a, b = " + _WIDE + " %}",
    "namespace_of_wide": "{% set ns = namespace(" + _WIDE + " | batch(2)) %}",
    "cycler_of_wide": "{{ cycler(*(" + _WIDE + ")).next() | length }}",
    "joiner_wide": "{% set j = joiner('a' * 60000000) %}{% for i in range(99) %}{{ j() | length }}{% endfor %}",
}

NO_TICK = {
    "select_in": "{{ range(99999) | select('in', " + _NUMBERS + ") | list | length }}",
    "reject_in": "{{ range(99999) | reject('in', " + _NUMBERS + ") | list | length }}",
    "map_in": "{{ range(99999) | map('in', " + _NUMBERS + ") | list | length }}",
    "selectattr_in": "{{ ([{'a': 1}] * 99999) | selectattr('a', 'in', " + _NUMBERS + ") | list | length }}",
    "rejectattr_in": "{{ ([{'a': 1}] * 99999) | rejectattr('a', 'in', " + _NUMBERS + ") | list | length }}",
    "groupby_default": "{{ ([{'a': 1}] * 60000000) | groupby('a') | length }}",
    **{
        f"{name}_many": "{{ " + _TEXTS + f" | map('{name}') | map('length') | sum" + " }}"
        for name in ("urlize", "striptags", "title", "urlencode", "escape", "pprint", "list", "upper", "capitalize")
    },
    "wordwrap_many": "{{ " + _TEXTS + " | map('wordwrap', 2) | map('length') | sum }}",
    "replace_many": "{{ " + _TEXTS + " | map('replace', 'a', 'bb') | map('length') | sum }}",
    "truncate_many": "{{ " + _TEXTS + " | map('truncate', 9, false, 'x' * 9) | map('length') | sum }}",
    "split_many": "{{ range(99999) | map('center', 300000) | map('wordcount') | sum }}",
    "sort_texts": "{{ (range(99999) | map('center', 3000) | list) | sort | length }}",
    "sort_lists": "{{ ([range(9999) | list] * 99999) | sort | length }}",
    "unique_lists": "{{ range(99999) | map('center', 9000) | unique | list | length }}",
    "in_of_strings": "{{ (('a' * 30000000) ~ 'b') in (('a' * 60000000) ~ 'c') }}",
    "find_worst": "{{ ('a' * 60000000).find('a' * 30000000 ~ 'b') }}",
    "count_many": "{% for i in range(99999) %}{{ ('a' * 9000000).count('a') }}{% endfor %}",
    "compare_lists": "{% set a = [0] * 60000000 %}{% set b = [0] * 60000000 %}{{ a == b }}",
    "nested_equal": "{% set ns = namespace(a=[], b=[]) %}{% for i in range(40) %}{% set ns.a = [ns.a, ns.a] %}"
    "{% set ns.b = [ns.b, ns.b] %}{% endfor %}{{ ns.a == ns.b }}",
    "hash_of_tuples": "{% set ns = namespace(a=()) %}{% for i in range(60) %}{% set ns.a = (ns.a, ns.a) %}{% endfor %}"
    "{{ {ns.a: 1} | length }}",
}

STRAIGHT = {
    **{f"sets_{count}": _long("{% set a# = 'a' * 33000000 %}", count) + "x" for count in (60, 600)},
    **{f"wide_sets_{count}": _long("{% set a# = '\u4e2d' * 33000000 %}", count) + "x" for count in (60, 600)},
    "lists": _long("{% set a# = [0] * 33000000 %}", 60) + "x",
    "namespace": "{% set ns = namespace() %}" + _long("{% set ns.a# = 'a' * 33000000 %}", 60) + "x",
    "slices": "{% set a = 'a' * 60000000 %}" + _long("{% set b# = a[#:] %}", 60) + "x",
    "list_slices": "{% set a = [0] * 9000000 %}" + _long("{% set b# = a[#:] %}", 90) + "x",
    "dict_of_tilde": "{% set a = 'a' * 33000000 %}{{ dict("
    + ", ".join(f"k{n}=a ~ {n}" for n in range(90))
    + ") | length }}",
    "list_of_tilde": "{% set a = 'a' * 33000000 %}{{ [" + ", ".join(f"a ~ {n}" for n in range(90)) + "] | length }}",
    "tilde": "{% set a = 'a' * 60000000 %}{{ (" + " ~ ".join(["a"] * 90) + ") | length }}",
    "plus": "{% set a = 'a' * 60000000 %}{{ (" + " + ".join(["a"] * 90) + ") | length }}",
    "plus_lists": "{% set a = [0] * 9000000 %}{{ (" + " + ".join(["a"] * 90) + ") | length }}",
    "upper": "{% set a = 'a' * 60000000 %}" + _long("{% set b# = a | upper %}", 60) + "x",
    "blocks": "{% set a = 'a' * 60000000 %}" + _long("{% set b# %}{{ a }}{% endset %}", 60) + "x",
    "calls": "{% macro m(a) %}{{ a }}{% endmacro %}{% set a = 'a' * 60000000 %}"
    + _long("{% set b# = m(a) %}", 60)
    + "x",
    "with": "{% set a = 'a' * 60000000 %}" + _long("{% with b# = a ~ '#' %}", 15) + "x" + "{% endwith %}" * 15,
    "output": "{% set a = 'a' * 60000000 %}" + "{{ a }}" * 60,
    "json": "{% set a = ['\x01' * 9000000] %}" + "{% set b = a | tojson %}" * 60 + "x",
    "json_kept": "{% set a = ['\x01' * 9000000] %}" + _long("{% set b# = a | tojson %}", 60) + "x",
    "generation": "{% set a = 'a' * 33000000 %}" + "{% generation %}{{ a }}{% endgeneration %}" * 60,
}

COMPILING = {
    "fold_center": "{{ [" + ", ".join(["'a' | center(60000000)"] * 300) + "] | length }}",
    "fold_multiply": "{{ [" + ", ".join(["'a' * 60000000"] * 300) + "] | length }}",
    "fold_plus": "{{ 'a' | center(60000000)" + " ~ 'a' | center(60000000)" * 60 + " }}",
    "fold_list": "{{ [" + ", ".join(["[0] * 9000000"] * 90) + "] | length }}",
    "fold_range_free": "{{ ('a' * 9000000) | list | sort | join | list | sort | join | length }}",
    "fold_power": "{{ 9 ** 9 ** 9 }}",
    "fold_wordwrap": "{{ ('a ' * 9000000) | wordwrap(1) | length }}",
    "fold_urlize": "{{ ('http://a.bc ' * 900000) | urlize | length }}",
    "fold_if": "{% if 'a' | center(60000000) | list | length %}{% endif %}",
    "fold_dict": "{{ {" + ", ".join(f"'{n}': 'a' | center(60000000)" for n in range(90)) + "} | length }}",
    "macros": _long("{% macro m#(a) %}x{% endmacro %}", 6000),
    "macros_calling": _long("{% macro m#(a) %}{{ m#(a) }}{% endmacro %}", 4000),
    "sets": _long("{% set a# = # %}", 9000) + "x",
    "blocks": _long("{% block b# %}x{% endblock %}", 5000),
    "loops": _long("{% for a# in [] %}{% endfor %}", 6000),
    "ifs": _long("{% if a# %}{% endif %}", 9000),
    "elifs": "{% if a %}" + _long("{% elif a# %}", 9000) + "{% endif %}",
    "in_chain": "{{ 1 " + "in a " * 20000 + "}}",
    "compare_chain": "{{ 1 " + "< 2 " * 30000 + "}}",
    "filters_2000": "{{ 'a'" + " | upper" * 2000 + " }}",
    "filters_300": "{{ 'a'" + " | upper" * 300 + " }}",
    "tests_chain": "{{ a " + "is defined " * 900 + "}}",
    "attributes": "{{ a" + ".b" * 30000 + " }}",
    "items": "{{ a" + "[0]" * 30000 + " }}",
    "calls": "{{ a" + "()" * 30000 + " }}",
    "concat": "{{ " + " ~ ".join(["a"] * 30000) + " }}",
    "ands": "{{ " + " and ".join(["a"] * 30000) + " }}",
    "deep_with": "{% with %}" * 900 + "{% endwith %}" * 900,
    "deep_filter": "{% filter upper %}" * 300 + "{% endfilter %}" * 300,
    "deep_for": "{% for a in b %}" * 19 + "{% endfor %}" * 19,
    "wide_dict": "{{ {" + ", ".join(f"'{n}': {n}" for n in range(16000)) + "} | length }}",
    "arguments": "{{ raise_exception(" + ", ".join(map(str, range(30000))) + ") }}",
    "conditions": "{{ " + "a if b else " * 9000 + "c }}",
    "comments": "{#" + "x" * 260000 + "#}",
    "raw": "{% raw %}" + "{{ x }}" * 30000 + "{% endraw %}",
    "long_name": "{{ " + "a" * 250000 + " }}",
    "long_text": "{{ '" + "a" * 250000 + "' | length }}",
    "outputs": "{{ a }}" * 37000,
    "unclosed": "{{ " * 60000,
    "tags": "{% generation %}" * 200 + "x" + "{% endgeneration %}" * 200,
}

SLOW = {
    "loops_2": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "loops_filtered": "{% for a in range(99999) %}{% for b in range(99999) if b < 0 %}{% endfor %}{% endfor %}",
    "loop_of_range_list": "{% for a in range(99999) %}{% set b = range(99999) | list %}{% endfor %}",
    "loop_of_sort": "{% for a in range(99999) %}{% set b = range(99999) | sort(reverse=true) %}{% endfor %}",
    "loop_of_join": "{% for a in range(99999) %}{% set b = range(99999) | join %}{% endfor %}",
    "loop_of_sum": "{% for a in range(99999) %}{% set b = range(99999) | sum %}{% endfor %}",
    "loop_of_json": "{% for a in range(99999) %}{% set b = range(99999) | list | tojson %}{% endfor %}",
    "macro_tree": "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(40) }}",
    "caller_tree": "{% macro f(n) %}{% if n %}{% call f(n - 1) %}{% endcall %}{% call f(n - 1) %}{% endcall %}"
    "{% endif %}{% endmacro %}{{ f(40) }}",
    "cycler": "{% set c = cycler(1, 2) %}{% for a in range(99999) %}{% for b in range(99999) %}{{ c.next() }}"
    "{% endfor %}{% endfor %}",
    "lipsum": "{{ lipsum(n=90000, max=10000) }}",
    "lipsum_loop": "{% for a in range(99999) %}{% set b = lipsum(n=100) %}{% endfor %}",
    "random": "{% for a in range(99999) %}{% set b = range(99999) | list | random %}{% endfor %}",
    "strftime": "{% for a in range(99999) %}{% for b in range(99) %}{{ strftime_now('%c' * 900) }}"
    "{% endfor %}{% endfor %}",
    "strftime_wide": "{{ strftime_now('%c' * 30000000) }}",
    "int_digits": "{{ ('9' * 60000000) | int }}",
    "float_digits": "{{ ('9' * 60000000) | float }}",
    "filesizeformat": "{% for a in range(99999) %}{% for b in range(999) %}{{ b | filesizeformat }}"
    "{% endfor %}{% endfor %}",
    "xmlattr": "{{ dict.fromkeys(range(99999), '<' * 9999) | xmlattr }}",
    "include": "{% include ['a'] * 60000000 %}",
    "import": "{% import 'a' * 60000000 as b %}",
}

FAMILIES = {
    "operations": OPERATIONS,
    "lazy": LAZY,
    "no_tick": NO_TICK,
    "straight": STRAIGHT,
    "compiling": COMPILING,
    "slow": SLOW,
}
BOMBS = {f"{family}/{name}": source for family, some in FAMILIES.items() for name, source in some.items()}
