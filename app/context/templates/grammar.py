"""What may be written: output, `if`, `for` over a list, comparisons, a few filters and tests. Anything else is refused by its name.

The tree that passes is rewritten where it runs: loops and comparisons go through the meter, and an `if` without an `else` gives none.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jinja2 import TemplateError, nodes
from jinja2.parser import Parser

from app.config.agent_limits import TEMPLATE_DEPTH_MAX, TEMPLATE_LOOPS_MAX, TEMPLATE_NODES_MAX
from app.context.templates.keys import BRANCHES_MAX, Node, StateRoot, TooManyBranchesError, child, element, fixed, known, marked_secret, secret
from app.context.templates.sandbox import COMPARE, ITEMS, LOOP_KEYS, SAID_FILTERS, SANDBOX, TESTS

SYNTAX, UNKNOWN, SECRET = "template-syntax", "template-unknown-key", "template-secret-key"

_TOO_MANY = f"A key is described by more than {BRANCHES_MAX} schemas; name it in fewer."

KEYS_LISTED_MAX = 20
KEY_CHARS_SHOWN_MAX = 64

Root = Node | StateRoot
Names = Mapping[str, Root]
"""What a template may name, and what is known of each."""


class RefusedError(Exception):
    """A template that is not taken: a code of this file, and a sentence."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


def read_template(text: str, names: Names) -> nodes.Template:
    """The tree of a template, checked and ready to be compiled. Raises `RefusedError`."""
    tree: nodes.Template = _parsed(lambda: SANDBOX.parse(text))
    walk = _Walk()
    try:
        for statement in tree.body:
            walk.statement(statement, names, 0, 0)
    except TooManyBranchesError:
        raise RefusedError(UNKNOWN, _TOO_MANY) from None
    tree.set_environment(SANDBOX)
    return tree


def read_condition(text: str, names: Names) -> nodes.Template:
    """A condition as a template that puts out a character where it holds. Raises `RefusedError`."""
    expression = _parsed(lambda: _condition(text))
    try:
        test = _Walk().expression(expression, names, 0)
    except TooManyBranchesError:
        raise RefusedError(UNKNOWN, _TOO_MANY) from None
    body = nodes.If(test, [nodes.Output([nodes.TemplateData("1", lineno=1)], lineno=1)], [], [], lineno=1)
    tree = nodes.Template([body], lineno=1)
    tree.set_environment(SANDBOX)
    return tree


def _condition(text: str) -> nodes.Expr:
    parser = Parser(SANDBOX, text, state="variable")
    expression = parser.parse_expression()
    if not parser.stream.eos:
        parser.fail("one expression is taken")
    return expression


def _parsed(parse: Any) -> Any:
    try:
        return parse()
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        raise RefusedError(SYNTAX, f"Line {line} is no template syntax that is known." if line else "This is no template.") from None
    except (RecursionError, ValueError, OverflowError, MemoryError):
        raise RefusedError(SYNTAX, "It nests too deep, or holds a number that is too long.") from None


def _no(node: nodes.Node, what: str) -> RefusedError:
    return RefusedError(SYNTAX, f"Line {node.lineno}: {what}")


@dataclass(slots=True)
class _Walk:
    """One walk over a tree; `count` is of the nodes seen so far, `judged` what is known of values' secrecy."""

    count: int = 0
    judged: dict[tuple[int, ...], bool] = field(default_factory=dict)

    def _secret(self, node: Node) -> bool:
        key = tuple([id(schema) for schema, _ in node])
        if key not in self.judged:
            self.judged[key] = secret(node)
        return self.judged[key]

    def _enter(self, node: nodes.Node, depth: int) -> None:
        self.count += 1
        if self.count > TEMPLATE_NODES_MAX:
            raise RefusedError(SYNTAX, f"A template may have {TEMPLATE_NODES_MAX} names, values, operators and tags.")
        if depth > TEMPLATE_DEPTH_MAX:
            raise _no(node, f"expressions and tags may nest {TEMPLATE_DEPTH_MAX} deep.")

    def statement(self, node: nodes.Node, names: Names, depth: int, loops: int) -> None:
        self._enter(node, depth)
        match node:
            case nodes.Output():
                node.nodes = [one if isinstance(one, nodes.TemplateData) else self.expression(one, names, depth + 1) for one in node.nodes]
                self.count += len(node.nodes)
            case nodes.If():
                node.test = self.expression(node.test, names, depth + 1)
                for inner in (*node.body, *node.elif_, *node.else_):
                    self.statement(inner, names, depth + 1, loops)
            case nodes.For():
                self._loop(node, names, depth, loops)
            case _:
                raise _no(node, f"the tag `{type(node).__name__.lower()}` is not taken; there are `if` and `for`.")

    def _loop(self, node: nodes.For, names: Names, depth: int, loops: int) -> None:
        if node.recursive or node.test is not None:
            raise _no(node, "a loop is plain: no `recursive`, no `if`.")
        if loops >= TEMPLATE_LOOPS_MAX:
            raise _no(node, f"loops may stand {TEMPLATE_LOOPS_MAX} deep.")
        target = node.target
        if not isinstance(target, nodes.Name) or target.name in names or target.name.startswith("_") or target.name == "loop":
            raise _no(node, "a loop has one variable, with a name of its own that does not begin with `_`.")
        over = self._path(node.iter, names) if isinstance(node.iter, (nodes.Name, nodes.Getattr, nodes.Getitem)) else None
        each: Node = () if over is None or isinstance(over, StateRoot) else element(over)
        if not each or isinstance(over, StateRoot) or over is None or marked_secret(over):
            node.iter = self.expression(node.iter, names, depth + 1)
        else:  # what is said of an element is judged where it is said
            self._enter(node.iter, depth + 1)
        own: Names = {**names, target.name: each, "loop": _LOOP}
        before = self.count
        for inner in node.body:
            self.statement(inner, own, depth + 1, loops + 1)
        cost = self.count - before + 1
        for inner in node.else_:
            self.statement(inner, names, depth + 1, loops)
        node.iter = _filter(node.iter, ITEMS, [nodes.Const(cost, lineno=node.lineno)])

    def expression(self, node: nodes.Node, names: Names, depth: int) -> nodes.Expr:
        """The expression as it is to run. Raises `RefusedError`."""
        self._enter(node, depth)

        def inner(one: nodes.Node) -> nodes.Expr:
            return self.expression(one, names, depth + 1)

        match node:
            case nodes.Const():
                if isinstance(node.value, float) and not math.isfinite(node.value):
                    raise _no(node, "a number has to be finite.")
            case nodes.Name() | nodes.Getattr() | nodes.Getitem():
                found = self._path(node, names)
                if isinstance(found, StateRoot):
                    raise RefusedError(UNKNOWN, f"Line {node.lineno}: name a key of `state`; it has {_listed(found.known())}.")
                if self._secret(found):
                    raise RefusedError(SECRET, f"Line {node.lineno}: `{_said(node)}` is secret, or holds a secret; no template may say it.")
            case nodes.List() | nodes.Tuple():
                node.items = [inner(one) for one in node.items]
            case nodes.And() | nodes.Or():
                node.left, node.right = inner(node.left), inner(node.right)
            case nodes.Not():
                node.node = inner(node.node)
            case nodes.Neg(node=nodes.Const(value=int() | float())):
                inner(node.node)
            case nodes.CondExpr():
                node.test, node.expr1 = inner(node.test), inner(node.expr1)
                node.expr2 = nodes.Const(None, lineno=node.lineno) if node.expr2 is None else inner(node.expr2)
            case nodes.Compare():
                return self._compare(node, inner)
            case nodes.Test():
                if node.name not in TESTS or node.args or node.kwargs or node.dyn_args or node.dyn_kwargs:
                    raise _no(node, f"there is no such test; there are {', '.join(TESTS)}.")
                node.node = inner(node.node)
            case nodes.Filter():
                self._filter(node, inner)
            case _:
                raise _no(node, f"`{type(node).__name__.lower()}` is not taken in an expression.")
        assert isinstance(node, nodes.Expr)
        return node

    def _compare(self, node: nodes.Compare, inner: Any) -> nodes.Expr:
        if len(node.ops) != 1:
            raise _no(node, "compare two values at a time.")
        operand = node.ops[0]
        return _filter(inner(node.expr), COMPARE, [nodes.Const(operand.op, lineno=node.lineno), inner(operand.expr)])

    def _filter(self, node: nodes.Filter, inner: Any) -> None:
        arguments, _ = SAID_FILTERS.get(node.name, (0, None))
        named = [one for one in node.kwargs if not (node.name == "default" and one.key == "boolean")]
        if node.name not in SAID_FILTERS or node.node is None:
            raise _no(node, f"there is no such filter; there are {', '.join(SAID_FILTERS)}.")
        if len(node.args) + len(node.kwargs) > arguments or named or node.dyn_args or node.dyn_kwargs:
            raise _no(node, f"the filter `{node.name}` takes at most {arguments} arguments.")
        node.node = inner(node.node)
        node.args = [inner(one) for one in node.args]
        for one in node.kwargs:
            one.value = inner(one.value)

    def _path(self, node: nodes.Node, names: Names) -> Root:
        """What is known of a name, a key or a place. Raises `RefusedError`."""
        match node:
            case nodes.Name():
                if node.name not in names:
                    raise RefusedError(UNKNOWN, f"Line {node.lineno}: there is no `{_short(node.name)}`; there are {_listed(sorted(names))}.")
                return names[node.name]
            case nodes.Getattr():
                return self._key(node, self._path(node.node, names), node.attr)
            case nodes.Getitem(arg=nodes.Const(value=str() as key)):
                return self._key(node, self._path(node.node, names), key)
            case nodes.Getitem(arg=nodes.Const(value=int() as place)) if not isinstance(place, bool):
                owner = self._path(node.node, names)
                if not isinstance(owner, StateRoot):
                    each = element(owner)
                    if marked_secret(owner) or (not each and self._secret(owner)):
                        raise RefusedError(SECRET, f"Line {node.lineno}: `{_said(node)}` is of a secret; no template may say it.")
                    return each
        raise _no(node, "keys are read off names, by a plain key or place: `state.a`, `state['a b']`, `state.list[0]`.")

    def _key(self, node: nodes.Getattr | nodes.Getitem, owner: Root, key: str) -> Node:
        if isinstance(owner, StateRoot):
            found, there = owner.child(key), owner.known()
        else:
            if marked_secret(owner):
                raise RefusedError(SECRET, f"Line {node.lineno}: `{_said(node)}` is of a secret; no template may say it.")
            found, there = child(owner, key), known(owner)
        if found is None or key.startswith("_"):
            detail = f"Line {node.lineno}: there is no key `{_short(key)}` where `{_said(node)}` looks for it; the schema has {_listed(there)}."
            raise RefusedError(UNKNOWN, detail)
        return found


_LOOP: Node = fixed(*LOOP_KEYS)


def _filter(value: nodes.Node, name: str, arguments: list[nodes.Expr]) -> nodes.Filter:
    return nodes.Filter(value, name, arguments, [], None, None, lineno=value.lineno)


def _said(node: nodes.Node) -> str:
    """A path as it is written."""
    match node:
        case nodes.Getattr():
            return _short(f"{_said(node.node)}.{node.attr}")
        case nodes.Getitem(arg=nodes.Const(value=key)):
            return _short(f"{_said(node.node)}[{key!r}]")
        case nodes.Name():
            return _short(node.name)
    return "…"


def _short(text: str) -> str:
    return text if len(text) <= KEY_CHARS_SHOWN_MAX else text[: KEY_CHARS_SHOWN_MAX - 1] + "…"


def _listed(names: list[str]) -> str:
    shown = [_short(name) for name in names[:KEYS_LISTED_MAX]]
    return ", ".join(shown + ["…"] * (len(names) > KEYS_LISTED_MAX)) or "none"
