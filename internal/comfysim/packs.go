package comfysim

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// packFile is the file by which a custom node pack says what its import would do
// here: no Python runs.
const packFile = "memtrix-sim.json"

// simPack is a custom node pack as that file tells it. A pack without the file is
// imported in no time and has no nodes.
type simPack struct {
	path string
	// Nodes are its node types; each passes an image on.
	Nodes []string `json:"nodes"`
	// Seconds and RAM (MiB) are what its import costs.
	Seconds float64 `json:"seconds"`
	RAM     int64   `json:"ram_mib"`
	// Error is the exception that ends its import, "" for none.
	Error string `json:"error"`
}

// importPacks does what init_external_custom_nodes does: each pack of each
// custom_nodes folder that the flags allow is imported, and then told with its time.
func (s *sim) importPacks(ctx context.Context) error {
	allowed := s.cfg.opts["--whitelist-custom-nodes"]
	if s.cfg.opts.has("--disable-all-custom-nodes") && len(allowed) == 0 {
		s.log.info("Skipping loading of custom nodes")
		return nil
	}
	var done []simPack
	for _, folder := range s.cfg.folders.custom {
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue // the real one would end here; a simulated base is often bare
		}
		for _, e := range entries {
			path := filepath.Join(folder, e.Name())
			info, err := os.Stat(path)
			if err != nil || e.Name() == "__pycache__" || !info.IsDir() && filepath.Ext(path) != ".py" || strings.HasSuffix(path, ".disabled") {
				continue
			}
			if s.cfg.opts.has("--disable-all-custom-nodes") && !slices.Contains(allowed, e.Name()) {
				s.log.info("Skipping %s due to disable_all_custom_nodes and whitelist_custom_nodes", e.Name())
				continue
			}
			p, err := s.importPack(ctx, path)
			if err != nil {
				return err
			}
			done = append(done, p)
		}
	}
	if len(done) == 0 {
		return nil
	}
	sort.SliceStable(done, func(i, j int) bool { return done[i].Seconds < done[j].Seconds })
	s.log.info("\nImport times for custom nodes:")
	for _, p := range done {
		failed := ""
		if p.Error != "" {
			failed = " (IMPORT FAILED)"
		}
		s.log.info("%6.1f seconds%s: %s", p.Seconds, failed, p.path)
	}
	s.log.info("")
	return nil
}

func (s *sim) importPack(ctx context.Context, path string) (simPack, error) {
	p := simPack{path: path}
	s.log.log(levelDebug, "Trying to load custom node %s", path)
	if data, err := os.ReadFile(filepath.Join(path, packFile)); err == nil {
		if err := json.Unmarshal(data, &p); err != nil {
			p.Error = fmt.Sprintf("%s: %v", packFile, err)
		}
	}
	if err := s.host.more(p.RAM*mib, 0, 0); err != nil {
		return p, err
	}
	if err := s.clock.wait(ctx, seconds(p.Seconds)); err != nil {
		return p, err
	}
	if p.Error != "" {
		s.log.warn("Traceback (most recent call last):\n  File \"%s\", line 1, in <module>\n%s\n", filepath.Join(path, "__init__.py"), p.Error)
		s.log.warn("Cannot import %s module for custom nodes: %s", path, p.Error)
		return p, nil
	}
	for _, name := range p.Nodes {
		if s.nodes[name] != nil {
			continue // ComfyUI's own win
		}
		info, err := packNode(name, filepath.Base(path))
		if err != nil {
			return p, err
		}
		s.nodes[name] = info
		s.nodeOrder = append(s.nodeOrder, name)
	}
	return p, nil
}

// packNode is a class that passes an image on, with a seed to vary.
func packNode(name, pack string) (*nodeInfo, error) {
	quoted, err := json.Marshal([]string{name, "custom_nodes." + pack})
	if err != nil {
		return nil, err
	}
	var words []json.RawMessage
	if err := json.Unmarshal(quoted, &words); err != nil {
		return nil, err
	}
	v, err := decodeJSON(fmt.Appendf(nil, `{"input": {"required": {"image": ["IMAGE"]}, "optional": {"seed": ["INT", {"default": 0, "min": 0, "max": 18446744073709551615}]}},
		"input_order": {"required": ["image"], "optional": ["seed"]}, "is_input_list": false,
		"output": ["IMAGE"], "output_is_list": [false], "output_name": ["IMAGE"],
		"name": %s, "display_name": %s, "description": "", "python_module": %s, "category": "simulated", "output_node": false}`, words[0], words[0], words[1]))
	if err != nil {
		return nil, err
	}
	return readNode(name, v.(object)), nil
}

// packFunction is what all nodes of packs do.
var packFunction = nodeFunction{"go", passOn("image")}
