package comfyui

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// allocatorVariables change how memory is taken, and so what is measured. A spec
// that wants one sets it.
var allocatorVariables = []string{
	"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF",
	"PYTORCH_NO_CUDA_MEMORY_CACHING", "PYTORCH_NO_HIP_MEMORY_CACHING",
	"PYTORCH_MPS_HIGH_WATERMARK_RATIO", "PYTORCH_MPS_LOW_WATERMARK_RATIO",
	"CUDA_LAUNCH_BLOCKING", "CUDA_MODULE_LOADING",
	"PYTHONMALLOC", "PYTHONMALLOCSTATS", "PYTHONTRACEMALLOC",
	"MALLOC_ARENA_MAX", "MALLOC_ARENA_TEST", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_",
	"MALLOC_MMAP_THRESHOLD_", "MALLOC_MMAP_MAX_", "MALLOC_CONF", "MALLOC_CHECK_", "MALLOC_PERTURB_",
}

// unwanted says which variables of the person's shell a server does not inherit.
// Which cards are visible is theirs to say and stays.
func unwanted(name, value string) bool {
	switch {
	case slices.Contains(allocatorVariables, name), strings.HasPrefix(name, "MIMALLOC_"):
		return true
	case name == "LD_PRELOAD", name == "GLIBC_TUNABLES":
		return strings.Contains(value, "malloc")
	case name == "PYTHONDONTWRITEBYTECODE", name == "PYTHONSTARTUP", name == "PYTHONINSPECT":
		// Without compiled files each start would be a cold one.
		return true
	}
	return false
}

// environ is the environment of a server: the person's, cleaned, with what keeps
// Python's and the compilers' caches out of the tree and the home folder. The
// spec's own variables win over everything; an empty value unsets one.
func environ(base []string, cacheDir string, spec map[string]string) []string {
	set := map[string]string{}
	for _, kv := range base {
		name, value, ok := strings.Cut(kv, "=")
		if ok && name != "" && !unwanted(name, value) {
			set[name] = value
		}
	}
	set["PYTHONUNBUFFERED"] = "1"
	if cacheDir != "" {
		set["PYTHONPYCACHEPREFIX"] = filepath.Join(cacheDir, "pycache")
		set["TRITON_CACHE_DIR"] = filepath.Join(cacheDir, "triton")
		set["TORCHINDUCTOR_CACHE_DIR"] = filepath.Join(cacheDir, "inductor")
	}
	for name, value := range spec {
		set[name] = value
		if value == "" {
			delete(set, name)
		}
	}
	env := make([]string, 0, len(set))
	for _, name := range slices.Sorted(maps.Keys(set)) {
		env = append(env, name+"="+set[name])
	}
	return env
}

// Environ is the environment in which a server of a trial with these variables is
// started, but for the folders of caches: what is worth recording of it.
func Environ(spec map[string]string) []string { return environ(os.Environ(), "", spec) }
