"""The house rules, counted. Each test names every place that breaks its rule, so that one run tells all."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
CODE = ("app", "migrations", "tests", "bench")
SKIPPED = {"__pycache__", "node_modules", "build", "dist"}
HIDDEN_BUT_OURS = {".ci", ".gitignore", ".dockerignore", ".compose-lint.yml"}

FILE_LINES_MAX = 300
FUNCTION_LINES_MAX = 60
VAGUE = {"util", "utils", "helper", "helpers", "common", "manager", "managers", "misc", "stuff"}
PURE = ("entries", "models", "turn", "context", "formats")

# Modules that something other than an import starts: the command line and the server by name, a make target, alembic.
STARTED = re.compile(r"app\.main|app\.cli(\..*)?|app\.api\.openapi|.*\.__main__|app\.testing(\..*)?|app\.client(\..*)?")

# The words are put together here so that this file does not break its own rule.
UNFINISHED = re.compile(r"\b(?:" + "|".join(["TO" + "DO", "FIX" + "ME", "HA" + "CK", "XX" + "X"]) + r")\b")
HOSTS = re.compile("|".join(re.escape(a + b) for a, b in (
    ("pypi", ".org"), ("pythonhosted", ".org"), ("npmjs", "."), ("docker", ".io"), ("ghcr", ".io"), ("quay", ".io"), ("gcr", ".io"),
    ("crates", ".io"), ("deb.debian", ".org"), ("mcr.micro", "soft.com"), ("public.ecr", ".aws"),
)))  # fmt: skip
MACHINE = re.compile("|".join(("/" + "root/", "/" + r"home/\w", "/" + "work/", "/tmp/" + "plan", "/tmp/" + "lab", r"/Users/\w", r"\.lib" + "rary/")))


@cache
def texts() -> dict[Path, str]:
    """Every text file of the project, by its path from the root."""
    found = {}
    for path in sorted(ROOT.rglob("*")):
        relative = path.relative_to(ROOT)
        hidden = {part for part in relative.parts if part.startswith(".")} - HIDDEN_BUT_OURS
        if path.is_file() and not hidden and not SKIPPED.intersection(relative.parts) and not relative.parts[0].endswith(".egg-info"):
            try:
                found[relative] = path.read_text("utf-8")
            except UnicodeDecodeError:
                continue
    return found


@cache
def trees() -> dict[Path, ast.Module]:
    """Every Python file of the project, parsed."""
    return {path: ast.parse(text) for path, text in texts().items() if path.suffix == ".py" and path.parts[0] in CODE}


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def lines_with(pattern: re.Pattern[str], but: tuple[str, ...] = ()) -> list[str]:
    return [
        f"{path}:{number}: {line.strip()[:120]}"
        for path, text in texts().items()
        if path.name not in but
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


def test_files_are_short():
    counted = {
        path: text.count("\n")
        for path, text in texts().items()
        if path.parts[0] in CODE and path.suffix in (".py", ".sql") and "golden" not in path.parts
    }
    frozen = (("migrations", "versions"), ("migrations", "sql"))  # what has landed there is never edited again, whatever its length
    assert not {str(path): lines for path, lines in counted.items() if lines > FILE_LINES_MAX and path.parts[:2] not in frozen}


def test_functions_are_short():
    long = [
        f"{path}:{node.lineno} {node.name}: {node.end_lineno - node.lineno + 1} lines"
        for path, tree in trees().items()
        for node in functions(tree)
        if node.end_lineno is not None and node.end_lineno - node.lineno + 1 > FUNCTION_LINES_MAX
    ]
    assert not long


def test_every_package_says_what_it_is():
    silent = [str(path) for path, tree in trees().items() if path.parts[0] == "app" and path.name == "__init__.py" and not ast.get_docstring(tree)]
    folders = {path.parent for path in trees() if path.parts[0] == "app"}
    silent += [f"{folder}: no __init__.py" for folder in folders if folder / "__init__.py" not in trees()]
    assert not silent


def test_every_floor_says_which_it_is_and_what_it_may_not_do():
    wrong = []
    for path, tree in trees().items():
        if len(path.parts) == 3 and path.parts[0] == "app" and path.name == "__init__.py":
            docstring = ast.get_docstring(tree) or ""
            if not re.search(r"\b([Ff]loor|[Gg]round)\b", docstring) or not re.search(
                r"\b(no|No|not|never|nothing|Nothing|[Oo]nly|hold no)\b", docstring
            ):
                wrong.append(str(path))
    assert not wrong


def test_every_module_says_what_it_is():
    assert not [str(path) for path, tree in trees().items() if path.parts[0] == "app" and tree.body and not ast.get_docstring(tree)]


def test_no_vague_names():
    vague = [str(path) for path in texts() if VAGUE.intersection(part.split(".")[0].lower() for part in path.parts)]
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+", node.name)}
                if VAGUE.intersection(words):
                    vague.append(f"{path}:{node.lineno} {node.name}")
    assert not vague


def test_nothing_is_left_for_later():
    assert not lines_with(UNFINISHED)


def test_nothing_is_a_stub():
    stubs = []
    for path, tree in trees().items():
        protocols = [
            node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and any("Protocol" in ast.unparse(base) for base in node.bases)
        ]
        allowed = {id(each) for node in protocols for each in functions(node)}
        for node in functions(tree):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            empty = (
                path.parts[0] in ("app", "migrations")
                and bool(body)
                and all(isinstance(each, ast.Pass) or ast.unparse(each) == "..." for each in body)
            )
            declared = any(ast.unparse(each).endswith(("overload", "abstractmethod")) for each in node.decorator_list)
            raises = any(isinstance(each, ast.Raise) and "NotImplementedError" in ast.unparse(each) for each in ast.walk(node))
            # A docstring alone is a function that does nothing on purpose, and says so.
            if (empty and id(node) not in allowed and not declared) or raises:
                stubs.append(f"{path}:{node.lineno} {node.name}")
    assert not stubs


def test_each_silenced_check_names_its_rule_and_reason():
    silenced = re.compile(r"#\s*(?:type:\s*ignore|noqa)")
    reasoned = re.compile(r"#\s*(?:type:\s*ignore\[[\w,-]+\]|noqa:\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*)\s*(?:#|—|:|-)?\s*\w{3,}.*")
    bare = [f"{path}:{n}" for path, text in texts().items() if path.suffix == ".py" for n, line in enumerate(text.splitlines(), 1)
            if path.name != "test_tidy.py" and (found := silenced.search(line)) and not reasoned.match(line[found.start():])]  # fmt: skip
    assert not bare


def test_no_host_of_a_registry_and_no_path_of_a_machine():
    assert not lines_with(HOSTS)
    assert not lines_with(MACHINE)


def test_json_is_stored_as_text():
    sql = [path for path in texts() if path.parts[0] in ("app", "migrations") and path.suffix in (".py", ".sql")]
    assert not [str(path) for path in sql if re.search(r"\bjsonb\b", re.sub(r"(?m)(#|--).*$", "", texts()[path]))]


def test_pure_floors_read_no_clock_and_draw_no_chance():
    """What import contracts cannot see: a method of an allowed module, and a builtin."""
    forbidden = re.compile(r"(?:datetime|date)\.(?:now|utcnow|today)|(?:uuid\.)?uuid[1-8]|open|input|print|__import__|breakpoint")
    found = []
    for path, tree in trees().items():
        if path.parts[0] == "app" and path.parts[1] in PURE:
            calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
            found += [f"{path}:{node.lineno} {ast.unparse(node.func)}" for node in calls if forbidden.fullmatch(ast.unparse(node.func))]
            found += [f"{path}:{node.lineno} a coroutine" for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef | ast.Await)]
    assert not found


def imported_modules(path: Path, tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("app."):
            yield node.value.split(":")[0]  # named in a text, for a server or an importlib call
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"\w+\.py", node.value):
            yield ".".join((*path.parent.parts, node.value.removesuffix(".py")))  # a neighbour that is started as a program


def test_no_module_is_dead():
    """A module that no other module of the product imports serves nobody; a test does not keep it alive."""
    used = {name for path, tree in trees().items() if path.parts[0] in ("app", "migrations") for name in imported_modules(path, tree)}
    dead = []
    for path in trees():
        if path.parts[0] == "app" and path.name != "__init__.py":
            name = ".".join(path.with_suffix("").parts)
            if name not in used and not STARTED.fullmatch(name):
                dead.append(name)
    assert not dead


def test_tests_claim_no_room_of_another():
    """Tests mirror `app/`: a file under tests/<room>/ for a room that does not exist tests nothing of ours."""
    rooms = {path.name for path in (ROOT / "app").iterdir() if path.is_dir()}
    others = {"golden", "transcripts", "fakes", "judges", "third_party", "cases", "corpus", "database", "migrations"}
    others |= {"bench", "service", "readme", "__pycache__"}
    assert not [str(path) for path in (ROOT / "tests").iterdir() if path.is_dir() and path.name not in rooms | others]
