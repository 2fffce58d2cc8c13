package past

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed releases.tsv
var releasesTable string

// known is a release of ComfyUI.
type known struct {
	release string
	pins    map[string]string // exact versions only
}

// knownReleases are releases by commit, for clones that lack tags and objects.
var knownReleases = sync.OnceValue(func() map[string]known {
	all := map[string]known{}
	lines := strings.Split(strings.TrimSpace(releasesTable), "\n")
	columns := strings.Split(lines[0], "\t")
	for _, line := range lines[1:] {
		fields := strings.Split(line, "\t")
		k := known{release: fields[0], pins: map[string]string{}}
		for i := 3; i < len(fields) && i < len(columns); i++ {
			if version, ok := strings.CutPrefix(fields[i], "=="); ok {
				k.pins[packageOf[columns[i]]] = version
			}
		}
		all[fields[1]] = k
	}
	return all
})

// packageOf are the names of packages by column.
var packageOf = map[string]string{
	"frontend": "comfyui-frontend-package", "aimdo": "comfy-aimdo", "kitchen": "comfy-kitchen", "torch": "torch",
}
