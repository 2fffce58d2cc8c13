// Package installs finds the ComfyUI installations of a machine, and what each
// keeps: its code, its Python environment, its logs, the place where its launch
// flags are written. It knows git checkouts and unpacked archives, the portable
// build for Windows, both desktop programs, comfy-cli, Stability Matrix and
// Pinokio.
//
// It only looks: nothing is run, asked over a network or written. Files are read
// through an fs.FS and paths are taken apart as text in the manner of the machine
// that they are of, so that a Windows folder can be read on Linux (and is, in
// tests).
package installs
