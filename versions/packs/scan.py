import ast
import json
import os
import sys

# Reads which node types sources define, without importing any of them. Standard
# input is {"packs": {name: path}, "core": a tree or "", "asked": [types]}; the
# answer is {"packs": {name: {"types": [...], "unclear": [...]}}, "core": [types]}.

MAPPINGS = "NODE_CLASS_MAPPINGS"
SKIPPED = {"__pycache__", "venv", "env", "site-packages", "node_modules", "tests", "test"}
MAX_FILE = 8 << 20


class Source:
    """One file: what it assigns to names, and where."""

    def __init__(self, path, data):
        self.path, self.data, self.tree = path, data, None

    def parse(self):
        self.tree = ast.parse(self.data, self.path)
        self.aliases = {}  # local name of what was imported -> its own name
        self.texts = {}    # name -> string constant of the module
        self.classes = {}  # class -> attribute -> string constant
        self.values = {}   # name -> expressions that are assigned or merged into it
        self.keys = {}     # name -> keys that are set one by one
        self.schemas = []  # calls of Schema(...)
        self.ids = []      # what is assigned to a schema's node_id
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and is_text(node.value):
                for target in node.targets:
                    self.texts.setdefault(name_of(target), node.value)
        for node in ast.walk(self.tree):
            self.see(node)

    def see(self, node):
        if isinstance(node, ast.ImportFrom):
            for a in node.names:
                self.aliases[a.asname or a.name] = a.name
        elif isinstance(node, ast.ClassDef):
            self.classes[node.name] = {
                t.id: s.value for s in node.body if isinstance(s, ast.Assign)
                for t in s.targets if isinstance(t, ast.Name) and is_text(s.value)}
            for s in node.body:
                if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name) and is_text(s.value):
                    self.classes[node.name][s.target.id] = s.value
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self.assign(target, node.value)
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign)) and node.value is not None:
            self.assign(node.target, node.value)
        elif isinstance(node, ast.Call):
            self.call(node)

    def assign(self, target, value):
        if isinstance(target, ast.Subscript):
            name = name_of(target.value)
            if name:
                self.keys.setdefault(name, []).append(target.slice)
            return
        name = name_of(target)
        if not name:
            return
        if isinstance(target, ast.Attribute) and name == "node_id":
            self.ids.append(value)
            return
        self.values.setdefault(name, []).append(value)

    def call(self, node):
        name = name_of(node.func)
        if name == "Schema":
            self.schemas.append(node)
        if isinstance(node.func, ast.Attribute) and name in ("update", "setdefault"):
            owner = name_of(node.func.value)
            if owner and name == "update":
                self.values.setdefault(owner, []).extend(node.args)
                self.keys.setdefault(owner, []).extend(ast.Constant(k.arg) for k in node.keywords if k.arg)
            elif owner and node.args:
                self.keys.setdefault(owner, []).append(node.args[0])


def is_text(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str) or isinstance(node, ast.JoinedStr)


def name_of(node):
    """x of "x" and of "module.x"."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    return None


class Reader:
    """The node types of some files that belong together."""

    def __init__(self, root, paths):
        self.root, self.types, self.unclear = root, set(), []
        self.sources = []
        for path in paths:
            try:
                if os.path.getsize(path) <= MAX_FILE:
                    with open(path, "rb") as f:
                        self.sources.append(Source(path, f.read()))
            except OSError as e:
                self.unclear.append("%s: %s" % (os.path.relpath(path, root), e.strerror))

    def holding(self, *words):
        """The files in which one of the words stands, parsed."""
        wanted = [w.encode() for w in words]
        for s in self.sources:
            if s.tree is None and any(w in s.data for w in wanted):
                try:
                    s.parse()
                except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
                    s.tree = False
                    self.unclear.append("%s cannot be read: %s" % (self.place(s), e))
            if s.tree and any(w in s.data for w in wanted):
                yield s

    def place(self, source, node=None):
        where = os.path.relpath(source.path, self.root)
        return where if node is None or not hasattr(node, "lineno") else "%s:%d" % (where, node.lineno)

    def doubt(self, source, node, what):
        self.unclear.append("%s: %s" % (self.place(source, node), what))

    def read(self, words=None):
        if words is None:
            words = [MAPPINGS, "Schema"]
        first = list(self.holding(*words))
        todo, done = [(MAPPINGS, first)], set()
        while todo:
            name, sources = todo.pop()
            if name in done:
                continue
            done.add(name)
            if sources is None:
                sources = list(self.holding(name))
                if not any(name in s.values or name in s.keys for s in sources):
                    self.unclear.append("%s is filled by code" % name)
            for s in sources:
                linked = set()
                for value in s.values.get(name, []):
                    self.mapping(s, value, linked)
                for key in s.keys.get(name, []):
                    self.key(s, key)
                for other in linked:
                    todo.append((other, None))
        for s in first:
            for call in s.schemas:
                self.schema(s, call)
            for node in s.ids:
                self.key(s, node)

    def mapping(self, s, node, linked):
        """Takes the keys of an expression that is a mapping."""
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values):
                if key is None:
                    self.mapping(s, value, linked)
                else:
                    self.key(s, key)
        elif isinstance(node, (ast.Name, ast.Attribute)):
            name = name_of(node)
            name = s.aliases.get(name, name)
            if name != MAPPINGS:
                linked.add(name)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            self.mapping(s, node.left, linked)
            self.mapping(s, node.right, linked)
        elif isinstance(node, ast.IfExp):
            self.mapping(s, node.body, linked)
            self.mapping(s, node.orelse, linked)
        elif isinstance(node, ast.BoolOp):
            for value in node.values:
                self.mapping(s, value, linked)
        elif isinstance(node, ast.Call):
            self.mapping_call(s, node, linked)
        elif not (isinstance(node, ast.Constant) and node.value is None):
            self.doubt(s, node, "node types made by code")

    def mapping_call(self, s, node, linked):
        name = name_of(node.func)
        if name == "dict":
            for arg in node.args:
                self.mapping(s, arg, linked)
            for k in node.keywords:
                if k.arg:
                    self.types.add(k.arg)
                else:
                    self.mapping(s, k.value, linked)
        elif name == "copy" and isinstance(node.func, ast.Attribute):
            self.mapping(s, node.func.value, linked)
        elif name == "getattr" and len(node.args) > 1 and isinstance(node.args[1], ast.Constant) and node.args[1].value == MAPPINGS:
            pass  # that of another file, which is read as well
        else:
            self.doubt(s, node, "node types made by code")

    def key(self, s, node):
        text = self.text(s, node)
        if text is None and self.of_classes(s, node):
            return
        if text is None:
            self.doubt(s, node, "a node type made by code")
        else:
            self.types.add(text)

    def of_classes(self, s, node):
        """cls.NAME, and node.NAME of a loop over classes: what classes have there."""
        if not isinstance(node, ast.Attribute):
            return False
        found = set()
        for sources in ([s], list(self.holding(node.attr))):
            for x in sources:
                for attributes in x.classes.values():
                    if node.attr in attributes:
                        found.add(self.text(x, attributes[node.attr]))
            if found:
                break
        self.types |= found - {None}
        return bool(found) and None not in found

    def schema(self, s, call):
        ids = [k.value for k in call.keywords if k.arg == "node_id"] or call.args[:1]
        for node in ids:
            self.key(s, node)

    def text(self, s, node, depth=0):
        """The text that an expression is, None where only running it would tell."""
        if depth > 8:
            return None
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        if isinstance(node, ast.JoinedStr):
            return self.join(s, node.values, depth)
        if isinstance(node, ast.FormattedValue) and node.conversion == -1 and node.format_spec is None:
            return self.text(s, node.value, depth + 1)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self.join(s, [node.left, node.right], depth)
        if isinstance(node, ast.Name):
            return self.constant(s, s.aliases.get(node.id, node.id), depth)
        if isinstance(node, ast.Attribute):
            return self.attribute(s, node, depth)
        return None

    def join(self, s, nodes, depth):
        parts = [self.text(s, n, depth + 1) for n in nodes]
        return None if None in parts else "".join(parts)

    def constant(self, s, name, depth):
        """A name that is one text wherever it is assigned."""
        for sources in ([s], list(self.holding(name))):
            found = {self.text(x, x.texts[name], depth + 1) for x in sources if name in x.texts}
            if found:
                return found.pop() if len(found) == 1 else None
        return None

    def attribute(self, s, node, depth):
        owner = name_of(node.value)
        owner = s.aliases.get(owner, owner)
        for sources in ([s], list(self.holding("class %s" % owner))):
            for x in sources:
                value = x.classes.get(owner, {}).get(node.attr)
                if value is not None:
                    return self.text(x, value, depth + 1)
        return self.constant(s, node.attr, depth) if isinstance(node.value, ast.Name) and owner not in s.classes else None


def files_of(path):
    if os.path.isfile(path):
        return [path]
    found = []
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(d for d in folders if d not in SKIPPED and not d.startswith("."))
        found += [os.path.join(folder, n) for n in sorted(names) if n.endswith(".py")]
    return found


def core_files(tree):
    found = [os.path.join(tree, "nodes.py")]
    for folder in ("comfy_extras", "comfy_api_nodes"):
        found += files_of(os.path.join(tree, folder))
    return [f for f in found if os.path.isfile(f)]


def core_types(tree, asked):
    """Those of the asked types that a tree has by itself; all where none is asked."""
    files, found = core_files(tree), set()
    for part in (files[:1], files[1:]):
        missing = asked - found
        if asked and not missing:
            break
        r = Reader(tree, part)
        # Only files that write an asked name can define it.
        r.read([q + t + q for t in missing for q in "\"'"] if asked else None)
        found |= r.types & missing if asked else r.types
    return found


def main():
    asked = json.load(sys.stdin)
    said = {"packs": {}, "core": []}
    for name, path in asked["packs"].items():
        r = Reader(path if os.path.isdir(path) else os.path.dirname(path), files_of(path))
        r.read()
        if not r.types and not r.unclear:
            r.unclear.append("no node types stand in its source")
        said["packs"][name] = {"types": sorted(r.types), "unclear": r.unclear}
    if asked["core"]:
        said["core"] = sorted(core_types(asked["core"], set(asked["asked"])))
    json.dump(said, sys.stdout)


main()
