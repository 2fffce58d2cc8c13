// Package standin makes stand-ins for model files: safetensors files with the
// tensor names, shapes and types of a model family, and no real weights. A server
// loads one as it loads the real file, and takes the memory that the real file
// takes. Most are sparse files of zeros, which take no disk and no time.
//
// It knows which families there are (families_*.go), what their files hold
// (shapes/), which of them a file's name means (recognise.go), and writes them.
//
// It refuses to overwrite any file, to guess a family from a name that does not
// tell it, and to take the place of files that are no safetensors files. What
// comes out of a stand-in is no picture: it is for memory and time only. Where
// reading from disk is what matters, zeros that are nowhere on the disk are wrong:
// such files must be filled with random numbers.
package standin
