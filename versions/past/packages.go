package past

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"memtrix/versions/installs"
)

// pin reads "name==version" of a requirements file or of pip freeze.
func pin(line string) (name, version string, ok bool) {
	line, _, _ = strings.Cut(line, "#")
	line, _, _ = strings.Cut(line, ";")
	name, version, ok = strings.Cut(strings.TrimSpace(line), "==")
	if !ok || strings.ContainsAny(name, " <>=~!@[") {
		return "", "", false
	}
	return Name(name), strings.TrimSpace(version), true
}

// pins are the exact versions that a requirements file asks for.
func pins(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		if name, version, ok := pin(line); ok {
			all[name] = version
		}
	}
	return all
}

// updater compares the requirements that the portable updater last installed with
// those of the code: it copies them to update/current_requirements.txt after pip
// went well, and says nothing when it did not (ComfyUI, .ci/update_windows/update.py).
func (f *finder) updater() {
	file := f.in.On.Join(f.in.Dir, "update", "current_requirements.txt")
	data, err := f.in.On.Read(file)
	if err != nil {
		return
	}
	wanted, err := f.in.On.Read(f.in.On.Join(f.in.Tree, "requirements.txt"))
	if err != nil || same(string(data), string(wanted)) {
		return
	}
	info, err := f.in.On.Stat(file)
	if err != nil {
		return
	}
	f.warn("the updater last installed packages on %s; the code asks for others now (its pip may have failed, or the code was updated in another way)", info.ModTime().Format(time.DateOnly))
	f.add(State{When: info.ModTime(), Packages: pins(string(data)), Source: "updater's current_requirements.txt of " + info.ModTime().Format(time.DateOnly)})
}

func same(a, b string) bool {
	return strings.ReplaceAll(a, "\r\n", "\n") == strings.ReplaceAll(b, "\r\n", "\n")
}

// Day is a day on which packages were installed.
type Day struct {
	// Date is its beginning, local time.
	Date time.Time `json:"date"`
	// Packages are those of that day by name; which they replaced is not known.
	Packages map[string]string `json:"packages"`
}

// Days tells on which days the packages of an installation were put there, newest
// first.
func Days(in installs.Install) []Day { return days(packages(in)) }

// days groups packages by the day on which they were installed, newest first.
func days(all []installed) []Day {
	var found []Day
	for _, p := range all {
		if p.when.IsZero() {
			continue
		}
		y, mo, d := p.when.Local().Date()
		date := time.Date(y, mo, d, 0, 0, 0, 0, time.Local)
		i := slices.IndexFunc(found, func(f Day) bool { return f.Date.Equal(date) })
		if i < 0 {
			i = len(found)
			found = append(found, Day{Date: date, Packages: map[string]string{}})
		}
		found[i].Packages[p.name] = p.version
	}
	slices.SortFunc(found, func(a, b Day) int { return b.Date.Compare(a.Date) })
	return found
}

// Memory are the packages of that day that decide about memory, with their
// versions, sorted.
func (d Day) Memory() []string {
	var names []string
	for name, version := range d.Packages {
		if weight(name) < 2 && !strings.HasPrefix(name, "nvidia-") {
			names = append(names, fmt.Sprintf("%s %s", name, version))
		}
	}
	slices.Sort(names)
	return names
}
