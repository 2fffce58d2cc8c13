package diagnosis

import (
	"strings"

	"memtrix"
)

// PlatformOf is the system that paths and names in a log give away: "windows",
// "darwin", "linux", "" for nothing.
func PlatformOf(log []memtrix.LogLine) string {
	for _, l := range log {
		switch {
		case strings.Contains(l.Text, `:\`), strings.Contains(l.Text, "** Platform: Windows"):
			return "windows"
		case strings.Contains(l.Text, "** Platform: Darwin"), strings.Contains(l.Text, `"/Users/`), strings.Contains(l.Text, "Mac Version "):
			return "darwin"
		case strings.Contains(l.Text, "** Platform: Linux"), strings.Contains(l.Text, `"/home/`), strings.Contains(l.Text, `"/opt/`), strings.Contains(l.Text, `"/root/`):
			return "linux"
		}
	}
	return ""
}
