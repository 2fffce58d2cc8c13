package comfyui

import "memtrix/internal/pyjson"

// standardJSON makes JSON of what a server sends. Python writes NaN.
func standardJSON(data []byte) []byte { return pyjson.Standard(data) }
