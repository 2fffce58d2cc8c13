// Package probe looks at a ComfyUI from inside: it carries a small Python module,
// puts it beside a trial, talks with it over a pair of sockets, and turns what it
// reports into the nouns of memtrix.
//
// The module (python/memtrix_probe; its __init__.py says what each record holds) is
// started in place of main.py and runs that. It wraps functions of ComfyUI by name
// and changes no result. A name that a version does not have is a missing meter, an
// exception of the module's own is swallowed, counted and told, and the server never
// waits for memtrix: what its socket does not take is dropped and counted.
//
// The package gives no verdicts, and invents nothing: what a version, a device or a
// mode does not tell is absent.
package probe
