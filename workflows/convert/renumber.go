package convert

import "slices"

// renumber gives nodes of subgraph definitions ids of their own where the root
// or an earlier definition has the same id (subgraphDeduplication.ts), in place.
// It gives the last id that is in use.
func renumber(root map[string]any, defs []map[string]any) (last int) {
	last, _ = whole(root["last_node_id"])
	if n, ok := whole(dict(root["state"])["lastNodeId"]); ok {
		last = max(last, n)
	}
	used := map[string]bool{}
	for _, item := range list(root["nodes"]) {
		if id, ok := dict(item)["id"].(float64); ok {
			used[number(id)] = true
		}
	}
	changed := map[string]map[string]any{} // definition -> old id -> new one
	for _, def := range defs {
		moved := map[string]any{}
		for _, item := range list(def["nodes"]) {
			n := dict(item)
			id := idOf(n["id"])
			if used[id] {
				for last++; used[number(float64(last))]; last++ {
				}
				moved[id] = float64(last)
				n["id"] = float64(last)
				used[number(float64(last))] = true
				continue
			}
			used[id] = true
			if v, ok := whole(n["id"]); ok {
				last = max(last, v)
			}
		}
		if len(moved) > 0 {
			moveLinks(def, moved)
			changed[text(def["id"])] = moved
		}
	}
	for _, g := range slices.Concat(defs, []map[string]any{root}) {
		for _, item := range list(g["nodes"]) {
			n := dict(item)
			moved := changed[text(n["type"])]
			for _, entry := range list(dict(n["properties"])["proxyWidgets"]) {
				if pair := list(entry); len(pair) > 0 {
					if id, ok := moved[idOf(pair[0])]; ok {
						pair[0] = idOf(id)
					}
				}
			}
		}
	}
	return last
}

func moveLinks(def, moved map[string]any) {
	for _, item := range list(def["links"]) {
		if row := list(item); len(row) >= 5 {
			for _, at := range []int{1, 3} {
				if id, ok := moved[idOf(row[at])]; ok {
					row[at] = id
				}
			}
		}
		o := dict(item)
		for _, end := range []string{"origin_id", "target_id"} {
			if id, ok := moved[idOf(o[end])]; ok {
				o[end] = id
			}
		}
	}
}

// definitions gives the subgraphs of a file, those within others too.
func definitions(root map[string]any) []map[string]any {
	var defs []map[string]any
	seen := map[string]bool{}
	var add func(g map[string]any)
	add = func(g map[string]any) {
		for _, item := range list(dict(g["definitions"])["subgraphs"]) {
			if d := dict(item); d != nil && text(d["id"]) != "" && !seen[text(d["id"])] {
				seen[text(d["id"])] = true
				defs = append(defs, d)
				add(d)
			}
		}
	}
	add(root)
	return defs
}

// leavesFirst orders definitions so that those that others use come before them.
func leavesFirst(defs []map[string]any) []map[string]any {
	byID := map[string]map[string]any{}
	for _, d := range defs {
		byID[text(d["id"])] = d
	}
	var out []map[string]any
	state := map[string]int{} // 1 on the way, 2 done
	var visit func(d map[string]any)
	visit = func(d map[string]any) {
		id := text(d["id"])
		if state[id] != 0 {
			return
		}
		state[id] = 1
		for _, item := range list(d["nodes"]) {
			if inner := byID[text(dict(item)["type"])]; inner != nil {
				visit(inner)
			}
		}
		state[id] = 2
		out = append(out, d)
	}
	for _, d := range defs {
		visit(d)
	}
	return out
}
