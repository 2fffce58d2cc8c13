package evidence

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"memtrix"
	"memtrix/reports"
	"memtrix/reports/redact"
)

// File is one file of a bundle; its name has slashes.
type File struct {
	Name string
	Data []byte
}

// Bundle writes all files of a case, by name.
func Bundle(c *Case) ([]File, error) {
	var files []File
	add := func(name string, data []byte) {
		if len(data) > 0 {
			files = append(files, File{name, data})
		}
	}
	add("paste.txt", c.paste())
	add("log.txt", c.log())
	add("workflow.json", c.Workflow)
	for _, p := range c.Prompts {
		add(promptFile(p), p.Body)
	}
	add("packages.txt", c.packageList())
	add(specFile, c.spec())
	for _, doc := range []struct {
		name  string
		write func() ([]byte, error)
	}{{"system.json", c.system}, {"verdict.json", c.verdict}, {"comparison.csv", c.comparisonCSV}} {
		data, err := doc.write()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", doc.name, err)
		}
		add(doc.name, data)
	}
	stand, err := c.standInFiles()
	if err != nil {
		return nil, err
	}
	files = append(files, stand...)
	pictures, err := c.pictures()
	if err != nil {
		return nil, err
	}
	files = append(files, pictures...)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	files = append([]File{{"report.md", c.report(files)}}, files...)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return files, nil
}

// log is log.txt.
func (c *Case) log() []byte {
	if len(c.Log) == 0 {
		return nil
	}
	text := strings.Join(c.Log, "\n") + "\n"
	if c.Simulated() {
		text = simulatedLine + "\n" + c.simulatedSeconds() + "\n" + text
	}
	return []byte(text)
}

func (c *Case) packageList() []byte {
	if len(c.Packages) == 0 {
		return nil
	}
	text := strings.Join(c.Packages, "\n") + "\n"
	if c.Simulated() {
		text = "# " + simulatedLine + "\n" + text
	}
	return []byte(text)
}

// comparisonCSV is the table of report.md in bytes and seconds; nil where there is
// nothing to compare with.
func (c *Case) comparisonCSV() ([]byte, error) {
	if len(c.Compared) < 2 {
		return nil, nil
	}
	var b bytes.Buffer
	if c.Simulated() {
		fmt.Fprintf(&b, "# %s\n", simulatedLine)
	}
	w := csv.NewWriter(&b)
	w.Write([]string{"what", "version", "settings", "passed", "of", "ended", "vram_peak_bytes", "ram_peak_bytes", "prompt_seconds", "trials", "vram_peak_is_lower_bound"})
	for _, r := range c.Compared {
		var ids []string
		for _, id := range r.Trials {
			ids = append(ids, strconv.FormatInt(id, 10))
		}
		seconds := ""
		if r.Seconds != nil {
			seconds = strconv.FormatFloat(*r.Seconds, 'f', 3, 64)
		}
		w.Write([]string{r.What, r.Version, r.Settings, strconv.Itoa(r.Passed), strconv.Itoa(r.N), r.Outcome(), number(r.VRAM), number(r.RAM), seconds, strings.Join(ids, " "), map[bool]string{true: "yes"}[r.AtLeast]})
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

func number(v *int64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatInt(*v, 10)
}

// pictures are the timeline, drawn anew from the redacted trial.
func (c *Case) pictures() ([]File, error) {
	if len(c.Trial.Spans) == 0 {
		return nil, nil
	}
	var files []File
	for _, f := range []reports.Format{reports.PNG, reports.SVG} {
		var b bytes.Buffer
		if err := reports.Timeline(&b, c.Trial, f); err != nil {
			return nil, err
		}
		files = append(files, File{"timeline." + string(f), redact.PNG(b.Bytes())})
	}
	return files, nil
}

// fixed is the time of all files in a zip: the time of packing is nobody's business,
// and bundles of one trial are equal.
var fixed = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Zip writes files as a zip archive below one folder. Its errors are those of w.
func Zip(w io.Writer, folder string, files []File) error {
	z := zip.NewWriter(w)
	for _, f := range files {
		h := &zip.FileHeader{Name: folder + "/" + f.Name, Method: zip.Deflate, Modified: fixed}
		h.SetMode(0o644)
		part, err := z.CreateHeader(h)
		if err != nil {
			return fmt.Errorf("zip %s: %w", f.Name, err)
		}
		if _, err := part.Write(f.Data); err != nil {
			return fmt.Errorf("zip %s: %w", f.Name, err)
		}
	}
	return z.Close()
}

// Folder is the name of a trial's bundle.
func Folder(t *memtrix.Trial) string {
	name := "evidence-" + strconv.FormatInt(t.ID, 10)
	if t.Simulated {
		name += "-simulated"
	}
	return name
}
