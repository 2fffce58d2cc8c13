package convert

func (l *loader) expandGroups(root map[string]any, defs []map[string]any, last int) []map[string]any {
	return nil
}
