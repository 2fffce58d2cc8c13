package comfyui

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// parserText has each form of flag that releases have, and prints, as some custom
// nodes' patches do.
const parserText = `
import argparse, enum, os
import comfy.options

class Method(enum.Enum):
    NONE = "none"
    AUTO = "auto"

class Feature(enum.Enum):
    A = "a"

class EnumAction(argparse.Action):
    def __init__(self, **kw):
        kind = kw.pop("type")
        kw["choices"] = tuple(e.value for e in kind)
        super().__init__(**kw)

def is_valid_directory(path):
    return path

print("noise")
parser = argparse.ArgumentParser()
parser.add_argument("-p", "--port", type=int, default=8188)
g = parser.add_mutually_exclusive_group()
g.add_argument("--low", action="store_true")
g.add_argument("--ram", nargs="*", type=float, default=[])
parser.add_argument("--method", type=Method, default=Method.NONE, action=EnumAction)
parser.add_argument("--fast", nargs="*", type=Feature)
parser.add_argument("--async", nargs="?", const=2, default=None, type=int)
parser.add_argument("--root", type=is_valid_directory, default=os.path.basename(os.path.dirname(os.path.dirname(__file__))))
args = parser.parse_args() if comfy.options.args_parsing else parser.parse_args([])
`

func TestReadFlags(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	dir := filepath.Join(t.TempDir(), "tree é")
	put(t, filepath.Join(dir, "comfy", "options.py"), "args_parsing = False\n")
	put(t, filepath.Join(dir, "comfy", "cli_args.py"), parserText)
	flags, err := ReadFlags(context.Background(), python, dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(flags)
	if err != nil {
		t.Fatal(err)
	}
	want := `[` + strings.Join([]string{
		`{"choices":null,"const":null,"default":8188,"dest":"port","group":null,"kind":"Store","names":["-p","--port"],"nargs":null,"type":"int"}`,
		`{"choices":null,"const":true,"default":false,"dest":"low","group":0,"kind":"StoreTrue","names":["--low"],"nargs":0,"type":null}`,
		`{"choices":null,"const":null,"default":[],"dest":"ram","group":0,"kind":"Store","names":["--ram"],"nargs":"*","type":"float"}`,
		`{"choices":["none","auto"],"const":null,"default":"none","dest":"method","group":null,"kind":"Enum","names":["--method"],"nargs":null,"type":null}`,
		`{"choices":null,"const":null,"default":null,"dest":"fast","group":null,"kind":"Store","names":["--fast"],"nargs":"*","type":"Feature"}`,
		`{"choices":null,"const":2,"default":null,"dest":"async","group":null,"kind":"Store","names":["--async"],"nargs":"?","type":"int"}`,
		`{"choices":null,"const":null,"default":"tree \u00e9","dest":"root","group":null,"kind":"Store","names":["--root"],"nargs":null,"type":"is_valid_directory"}`,
	}, ",") + `]`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if entries, _ := os.ReadDir(filepath.Join(dir, "comfy")); len(entries) != 2 {
		t.Errorf("it wrote into the tree: %v", entries)
	}
	if name := flags[0].Name(); name != "--port" {
		t.Errorf("name %s", name)
	}
	for i, want := range []string{"INT", "", "[FLOAT ...]", "{none|auto}", "[FEATURE ...]", "[INT]", "IS_VALID_DIRECTORY"} {
		if got := flags[i].Values(); got != want {
			t.Errorf("%s takes %q, want %q", flags[i].Name(), got, want)
		}
	}
}

func TestReadFlagsErrors(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	for _, c := range []struct{ name, python, code, want string }{
		{"no tree", python, "", "cli_args.py"},
		{"no python", "/nonexistent/python", "parser = 1", "/nonexistent/python"},
		{"no parser", python, "x = 1", "cannot import name 'parser'"},
		{"it exits", python, "raise SystemExit(3)", "exit status 3"},
		{"empty", python, "import argparse\nparser = argparse.ArgumentParser()", "its parser has none"},
	} {
		dir := t.TempDir()
		if c.code != "" {
			put(t, filepath.Join(dir, "comfy", "cli_args.py"), c.code)
		}
		_, err := ReadFlags(context.Background(), c.python, dir)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// What the parser said counts although a child of it keeps the pipes open.
func TestReadFlagsBesideAChild(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "comfy", "cli_args.py"), "")
	python := filepath.Join(t.TempDir(), "python")
	said := `[{"names": ["--cpu"], "dest": "cpu", "kind": "StoreTrue"}]`
	if err := os.WriteFile(python, []byte("#!/bin/sh\nsleep 8 &\necho '"+said+"'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if flags, err := ReadFlags(t.Context(), python, dir); err != nil || len(flags) != 1 {
		t.Errorf("got %+v, %v", flags, err)
	}
}
