package comfysim

import (
	"fmt"
	"strings"
)

// simVersion is what differs between the versions that can be simulated.
type simVersion struct {
	name    string // as --sim-version wants it and as /system_stats tells it
	flags   string // which embedded table of flags
	banner  string // which embedded start-up script
	tags    bool   // "[INFO]" with colours before every line (since 0.23.0)
	dynamic bool   // dynamic VRAM exists (on by default since 0.16.0)
	// mapsFiles: under dynamic VRAM the model file stays mapped (aimdo before
	// 0.3); later versions read through a buffer.
	mapsFiles bool
	// pins: under dynamic VRAM weights that do not fit are pinned in RAM.
	pins        bool
	loadLine    int // form of the "loaded completely" lines, see loadlines.go
	forceNote   bool
	summary     int // 0 no memory summary after an OOM, 1 on one line, 2 with a line break
	missingType string
	createTime  bool // extra_data.create_time (since 0.3.69)
	// cachedState: a cached output node also ends in a progress_state frame.
	cachedState bool
	ramCache    bool // RAM pressure cache is the default (since 0.23.0)
	packageList bool // system.comfy_package_versions
	osName      string
	frontend    string // required_frontend_version
	templates   string
	pinShare    float64 // share of RAM that may be pinned
	baseAnon    int64   // MiB of the idle server with CUDA
	baseFile    int64
	regressed   bool // the invented regressions of 0.29.1-demo
}

var versionTable = []simVersion{
	{
		name: "0.3.64", flags: "0.3.64", banner: "0.3.64", loadLine: loadLineOld,
		missingType: "invalid_prompt", osName: "posix", frontend: "1.27.10", templates: "0.1.94",
		baseAnon: 537, baseFile: 406,
	},
	{
		name: "0.18.1", flags: "0.18.1", banner: "0.18", dynamic: true, mapsFiles: true,
		loadLine: loadLineNew, summary: 1, missingType: "missing_node_type", createTime: true,
		osName: "linux", frontend: "1.41.21", templates: "0.9.26", pinShare: 0.95,
		baseAnon: 554, baseFile: 410,
	},
	version029("0.29.0", false),
	version029("0.29.1-demo", true),
}

func version029(name string, regressed bool) simVersion {
	return simVersion{
		name: name, flags: "0.29.0", banner: "0.29", tags: true, dynamic: true, pins: true,
		loadLine: loadLineNew, forceNote: true, summary: 2, missingType: "missing_node_type",
		createTime: true, cachedState: true, ramCache: true, packageList: true,
		osName: "linux", frontend: "1.47.10", templates: "0.11.19", pinShare: 0.9,
		baseAnon: 573, baseFile: 421, regressed: regressed,
	}
}

// Versions lists the names that --sim-version takes. "0.29.1-demo" is invented.
func Versions() []string {
	names := make([]string, len(versionTable))
	for i, v := range versionTable {
		names[i] = v.name
	}
	return names
}

func versionNamed(name string) (simVersion, error) {
	for _, v := range versionTable {
		if v.name == name {
			return v, nil
		}
	}
	return simVersion{}, fmt.Errorf("known versions are %s", strings.Join(Versions(), ", "))
}
