"""Which rows an expression means, such as `len(messages) > 4 and trained < 0.2 and finding("EOS")`.

Evaluated by simpleeval, of which only what `_ALLOWED` names is taken: no attributes, powers, slices or nested loops,
and arithmetic of numbers alone. So each part works at most once on each piece of a row, and what an expression costs
grows with the row and its own length, both of which are bounded.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from sftui.errors import RecipeError
from sftui.model import Inspection, Row
from sftui.nearest import did_you_mean
from sftui.text import clip, many

if TYPE_CHECKING:
    from sftui.findings import Finding
    from sftui.repairs.model import RepairLayout

Given = TypeVar("Given")
Made = TypeVar("Made")
LONGEST, MOST_PARTS, DEEPEST = 1_000, 200, 40
"""Characters of an expression, parts of it, and how deeply they may be nested."""
MOST_REASONS = 20
"""Different reasons that are counted apart."""
FINDING, MARKED, UNMARKED = "finding", "marked", "none"
NO_MARKS: Mapping[int, str] = {}
OUTCOMES = ("nothing trained", "trained")
UNKNOWN = object()
"""What comes of a row for which an expression makes no sense."""
SEVERITIES = ("error", "warning", "info")
SHOWN = 60
"""Characters of it that an error shows."""


class Need(IntEnum):
    """What has to be known of a row: the record, what the trainer makes of it, or what is wrong with it."""

    RECORD = 0
    PREPARED = 1
    CHECKED = 2


class NotKnown(Exception):
    """A row does not have what the expression needs; the text says what."""


class RowValues:
    """What one row after the other has under each name; made when it is needed.

    `layout` says where rows keep their messages and texts, `inspect` prepares a row, `check` finds what is wrong, and
    `marks` are the kinds of those that are marked.
    """

    def __init__(
        self,
        layout: RepairLayout,
        inspect: Callable[[Row], Inspection],
        check: Callable[[Inspection], Iterable[Finding]],
        marks: Mapping[int, str] = NO_MARKS,
    ) -> None:
        self.layout, self._inspect, self._check, self._marks = layout, inspect, check, marks
        self.row = Row(0, None, "", "")
        self._inspection: Inspection | None = None

    def at(self, row: Row) -> None:
        """Go to another row."""
        self.row, self._inspection = row, None

    def __getitem__(self, name: str) -> Any:
        known = NAMES.get(name)
        if known is not None:
            return known.of(self)
        data = self.data
        if name not in data:
            raise NotKnown(f"no key `{name}`")
        return data[name]

    @property
    def data(self) -> Mapping[str, Any]:
        if self.row.data is None:
            raise NotKnown("the row cannot be read")
        return self.row.data

    # A dict is known as such in a tenth of the time that an abstract class takes.
    def messages(self) -> Sequence[Any]:
        """Every message of the row, in order."""
        data = self.data
        lists = [items for column in self.layout.columns if isinstance(items := data.get(column), (list, tuple))]
        return lists[0] if len(lists) == 1 else [item for items in lists for item in items]

    def roles(self) -> list[str]:
        key = self.layout.role
        found = [item.get(key) for item in self.messages() if type(item) is dict or isinstance(item, Mapping)]
        return [role for role in found if isinstance(role, str)]

    def texts(self) -> list[str]:
        key, data = self.layout.content, self.data
        said: list[Any] = [item.get(key) for item in self.messages() if type(item) is dict or isinstance(item, Mapping)]
        said += [data.get(column) for column in self.layout.texts]
        if all([type(content) is str for content in said]):
            return said
        found: list[str] = []
        for content in said:
            if isinstance(content, str):
                found.append(content)
            elif isinstance(content, (list, tuple)):
                parts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
                found += [part for part in parts if isinstance(part, str)]
        return found

    @property
    def inspection(self) -> Inspection:
        if self._inspection is None:
            self._inspection = _made(self._inspect, self.row)
        return self._inspection

    def prepared(self) -> Inspection:
        """The row as the trainer makes it; NotKnown where it cannot."""
        if self.inspection.problem is not None:
            raise NotKnown("the row cannot be prepared")
        return self.inspection

    def mark(self) -> str:
        return self._marks.get(self.row.index, UNMARKED)

    def found(self, code: str = "") -> bool:
        """Whether the row has such a finding."""
        return any(is_named(one, code) for one in _made(self._check, self.inspection))

    def codes(self) -> list[str]:
        return sorted({one.code for one in _made(self._check, self.inspection)})

    def outcome(self) -> str:
        made = self.inspection
        if made.problem is not None:
            return "failed"
        return (
            "dropped" if made.dropped is not None else "evaluates" if made.evaluates else OUTCOMES[bool(made.trained)]
        )


def _made(work: Callable[[Given], Made], given: Given) -> Made:
    """What a stage makes; that it fails is not the expression's fault, and must not look so."""
    try:
        return work(given)
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
        raise RuntimeError(f"{type(error).__name__}: {error}") from error


class Name(NamedTuple):
    """What a name means, in words, what has to be known for it, and how it comes from a row."""

    words: str
    need: Need
    of: Callable[[RowValues], Any]


def _share(values: RowValues) -> float:
    made = values.prepared()
    return made.trained / made.received if made.received else 0.0


NAMES: Mapping[str, Name] = {
    "row": Name("the number of the row, from 0", Need.RECORD, lambda values: values.row.index),
    "data": Name(
        'the record: `data["score"]` is its key `score`, `"score" in data` whether it has one',
        Need.RECORD,
        lambda values: values.data,
    ),
    "roles": Name("the role of each message, as the data spells it", Need.RECORD, RowValues.roles),
    "texts": Name("the text of each message and of each text column", Need.RECORD, RowValues.texts),
    "text": Name("all of them, joined by line breaks", Need.RECORD, lambda values: "\n".join(values.texts())),
    "turns": Name("the number of messages", Need.RECORD, lambda values: len(values.messages())),
    "length": Name(
        "the number of characters in all of `texts`", Need.RECORD, lambda values: sum(map(len, values.texts()))
    ),
    "tokens": Name(
        "the number of tokens that the trainer receives", Need.PREPARED, lambda values: values.prepared().received or 0
    ),
    "trained_tokens": Name(
        "the number of tokens that carry loss", Need.PREPARED, lambda values: values.prepared().trained
    ),
    "trained": Name("their share of `tokens`, from 0 to 1", Need.PREPARED, _share),
    "dropped": Name(
        "whether the trainer drops the row", Need.PREPARED, lambda values: values.prepared().dropped is not None
    ),
    "outcome": Name(
        "what happens to the row: `trained`, `nothing trained`, `dropped`, `evaluates` or `failed`",
        Need.PREPARED,
        RowValues.outcome,
    ),
    "codes": Name("the codes of the row's findings", Need.CHECKED, RowValues.codes),
    MARKED: Name(
        "the row's review mark: `keep`, `drop`, `flag` or `none`, from the `--edits` file, otherwise from the"
        " inspector",
        Need.RECORD,
        RowValues.mark,
    ),
}
"""What an expression may name besides the keys of the record, which these names hide (`data` has all of them)."""


class Function(NamedTuple):
    """What a function does, in words, the fewest and the most values it takes, and its work."""

    words: str
    takes: tuple[int, int]
    work: Callable[..., Any]


FUNCTIONS: Mapping[str, Function] = {
    FINDING: Function(
        'whether the row has a finding: `finding("TRU")` with this code or any code that begins with it,'
        ' `finding("error")` of this severity, `finding()` any',
        (0, 1),
        bool,
    ),
    "len": Function("the length of a string or a list", (1, 1), len),
    "min": Function("the smallest of some values or of a list", (1, 9), min),
    "max": Function("the largest of some values or of a list", (1, 9), max),
    "sum": Function("the sum of a list of numbers", (1, 1), sum),
    "any": Function("whether any value of a list is true", (1, 1), any),
    "all": Function("whether all values of a list are true", (1, 1), all),
    "count": Function("how often a string or a list contains a value", (2, 2), lambda of, value: of.count(value)),
    "lower": Function("a text in lower case", (1, 1), str.lower),
    "startswith": Function("whether a string starts with another", (2, 2), str.startswith),
    "endswith": Function("whether a string ends with another", (2, 2), str.endswith),
}


def _of_numbers(work: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Arithmetic that makes nothing longer: of texts and lists it would."""

    def checked(left: Any, right: Any) -> Any:
        if not isinstance(left, (int, float)) or not isinstance(right, (int, float)):
            raise TypeError("arithmetic takes numbers only")
        return work(left, right)

    return checked


_OPERATORS: Mapping[type, Callable[..., Any]] = {
    ast.Add: _of_numbers(operator.add),
    ast.Sub: _of_numbers(operator.sub),
    ast.Mult: _of_numbers(operator.mul),
    ast.Div: _of_numbers(operator.truediv),
    ast.FloorDiv: _of_numbers(operator.floordiv),
    ast.Mod: _of_numbers(operator.mod),
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Gt: operator.gt,
    ast.Lt: operator.lt,
    ast.GtE: operator.ge,
    ast.LtE: operator.le,
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.In: lambda value, of: value in of,
    ast.NotIn: lambda value, of: value not in of,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_LOOPS = (ast.ListComp, ast.GeneratorExp)
_ALLOWED = (
    *(ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.BinOp, ast.Compare, ast.Call, ast.Name, ast.Load, ast.Store),
    *(ast.Constant, ast.Subscript, ast.List, ast.Tuple, *_LOOPS, ast.comprehension, *_OPERATORS),
)
_WORDS = {
    ast.Attribute: "a `.` after a value",
    ast.Slice: "a slice",
    ast.Lambda: "`lambda`",
    ast.Pow: "`**`",
    ast.JoinedStr: "an f-string",
    ast.NamedExpr: "`:=`",
    ast.Dict: "a `{}`",
    ast.IfExp: "`if … else`",
    ast.Starred: "a `*` before a value",
}


class Filter:
    """An expression that is true for some rows. `need` is what has to be known of them, `keys` are the names that must
    be keys of the record; `marks`: it asks how rows are marked. RecipeError for what is no such expression."""

    def __init__(self, text: str) -> None:
        from simpleeval import EvalWithCompoundTypes

        self.text = text.strip()
        self._tree = self._parsed()
        self.need, self.marks, keys = Need.RECORD, False, dict[str, None]()
        for name in self._checked(self._tree, ()):
            if name == FINDING:
                self.need = Need.CHECKED
            elif name in NAMES:
                self.need, self.marks = max(self.need, NAMES[name].need), self.marks or name == MARKED
            else:
                keys[name] = None
        self.keys = tuple(keys)
        self._evaluator = EvalWithCompoundTypes(_OPERATORS, {name: one.work for name, one in FUNCTIONS.items()})
        nodes, functions = self._evaluator.nodes, self._evaluator.functions
        # It would search each value for functions and modules at each step, all messages of a row, too. Of those that
        # might be there none is called: functions are called by their names alone. That search is most of its time, and
        # the three steps below, of which there are most, take half of the rest.
        evaluate = self._evaluator._eval = lambda node: nodes[type(node)](node)
        nodes[ast.Constant] = lambda node: node.value
        nodes[ast.Name] = lambda node: self._evaluator.names[node.id]
        nodes[ast.Call] = lambda node: functions[node.func.id](*map(evaluate, node.args))

    def on(self, values: RowValues) -> Callable[[], bool]:
        """What says whether it is true for the row that the values are at; NotKnown where it makes no sense there."""
        value = self.value_on(values)
        return lambda: bool(value())

    def value_on(self, values: RowValues) -> Callable[[], Any]:
        """What says what it comes to for the row that the values are at; NotKnown where it makes no sense there."""
        from simpleeval import InvalidExpression

        evaluator, text, tree = self._evaluator, self.text, self._tree
        evaluator.names, evaluator.functions[FINDING] = values, values.found

        def value() -> Any:
            try:
                return evaluator.eval(text, tree)
            except NotKnown:
                raise
            except KeyError as error:
                raise NotKnown(f"no key `{error.args[0]}`") from error
            except InvalidExpression as error:
                raise NotKnown("a list is too long for a loop") from error
            except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, RecursionError) as error:
                raise NotKnown(str(error) or type(error).__name__) from error

        return value

    def refuse_unknown(self, keys: Iterable[str]) -> None:
        """RecipeError where a name is no key of the data, which has these."""
        known = list(keys)
        for name in self.keys:
            if name not in known:
                names = [*known, *NAMES, *FUNCTIONS]
                raise self._refused(f"there is no `{name}`", fix=did_you_mean(name, names, _listed(known)))

    def _refused(self, why: str, fix: str = "`sftui help where` lists what an expression may contain") -> RecipeError:
        return RecipeError(f"the filter `{clip(self.text, SHOWN)}` cannot be used", why=why, fix=fix)

    def _parsed(self) -> ast.expr:
        if not self.text:
            raise self._refused(
                "the expression is empty", 'write, for example, `len(messages) > 4` or `"tool" in roles`'
            )
        if len(self.text) > LONGEST:
            raise self._refused(f"it has {len(self.text):,} characters, more than {LONGEST:,}")
        try:
            with warnings.catch_warnings():  # of a backslash in a text
                warnings.simplefilter("ignore")
                return ast.parse(self.text, mode="eval").body
        except SyntaxError as error:
            place = f" at character {error.offset}" if error.offset else ""  # 0: it ends too early
            raise self._refused(f"it is not an expression{place}") from error
        except (ValueError, RecursionError, MemoryError) as error:
            raise self._refused("it is not an expression") from error

    def _checked(self, tree: ast.expr, own: tuple[str, ...]) -> Iterator[str]:
        """The names that the expression needs, each part of it looked at once."""
        parts, waiting = 0, [(tree, 1, own)]
        while waiting:
            node, depth, own = waiting.pop()
            parts += 1
            if parts > MOST_PARTS or depth > DEEPEST:
                raise self._refused(f"it has more than {MOST_PARTS} parts, or more than {DEEPEST} nested")
            if not isinstance(node, _ALLOWED):
                kind = type(node)
                raise self._refused(f"it may not contain {_WORDS.get(kind, f'`{kind.__name__.lower()}`')}")
            if isinstance(node, ast.Constant) and not isinstance(node.value, (str, int, float, type(None))):
                raise self._refused("its values are strings and numbers")
            if isinstance(node, ast.Name):
                if own and node.id not in own:
                    raise self._refused(
                        f"inside the loop it may only use `{own[0]}`, not `{node.id}`",
                        "combine conditions with `and` outside it",
                    )
                yield from () if own else (node.id,)
            inner: list[Any]
            if isinstance(node, _LOOPS):
                [loop, *more] = node.generators
                if own or more or not isinstance(loop.target, ast.Name) or loop.is_async:
                    raise self._refused("each loop may go over one list, with no loop inside another")
                waiting.append((loop.iter, depth + 1, own))
                own, inner = (loop.target.id,), [node.elt, *loop.ifs]
            elif isinstance(node, ast.Call):
                if self._called(node) == FINDING:
                    if own:
                        raise self._refused("`finding()` must be outside the loop")
                    yield FINDING
                inner = node.args
            else:
                inner = list(ast.iter_child_nodes(node))
            waiting += [(one, depth + 1, own) for one in reversed(inner)]

    def _called(self, node: ast.Call) -> str:
        """The function of a call that makes sense."""
        if not isinstance(node.func, ast.Name) or node.keywords:
            raise self._refused(
                "a function is called by name, with positional values only", f"there are {_named(FUNCTIONS)}"
            )
        name = node.func.id
        if name not in FUNCTIONS:
            raise self._refused(
                f"there is no function `{name}`", did_you_mean(name, FUNCTIONS, f"there are {_named(FUNCTIONS)}")
            )
        least, most = FUNCTIONS[name].takes
        if not least <= len(node.args) <= most:
            raise self._refused(f"`{name}` takes {least if least == most else f'{least} to {most}'} values")
        for value in node.args if name == FINDING else ():
            from sftui.findings import CODES

            code = value.value if isinstance(value, ast.Constant) else None
            if not isinstance(code, str):
                raise self._refused("`finding` takes a code in quotes", 'write, for example, `finding("EOS")`')
            if code not in SEVERITIES and not any(known.startswith(code.upper()) for known in CODES):
                raise self._refused(
                    f"there is no code `{code}`", did_you_mean(code, CODES, "`sftui explain` lists them")
                )
        return name


class FilterCount:
    """How many rows there were, how many of them match, and of how many that is not known, and why."""

    def __init__(self, wanted: Filter, values: RowValues) -> None:
        self.rows = self.matched = 0
        self.unknown: Counter[str] = Counter()
        self._values, self._matches = values, wanted.on(values)

    def add(self, row: Row) -> bool:
        """Take a row in; whether it matches. What an expression makes no sense for does not."""
        found = self._known(row, self._matches) is True
        self.matched += found
        return found

    def _known(self, row: Row, evaluate: Callable[[], Any]) -> Any:
        """What comes of a row; UNKNOWN, and the reason counted, where that makes no sense."""
        self.rows += 1
        self._values.at(row)
        try:
            return evaluate()
        except NotKnown as why:
            reason = str(why)
            known = reason in self.unknown or len(self.unknown) < MOST_REASONS
            self.unknown[reason if known else "other reasons"] += 1
            return UNKNOWN

    def decides(self, row: Row) -> bool:
        """The same of a row that is counted already."""
        self._values.at(row)
        try:
            return self._matches()
        except NotKnown:
            return False

    def sentences(self) -> Iterator[str]:
        """`312 of 41,203 rows match`, and why some could not."""
        found = f"{self.matched:,} of {many(self.rows, 'row')} match"
        yield "; ".join((found, *(f"no match in {many(n, 'row')}: {why}" for why, n in self.unknown.most_common())))


def is_named(finding: Finding, wanted: str) -> bool:
    """Whether a finding has a severity, a code or one that begins so."""
    return finding.severity.value == wanted or finding.code.startswith(wanted.upper())


def _named(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _listed(keys: Iterable[str]) -> str:
    return f"the data has {_named(keys)}; there are also {_named(NAMES)}"
