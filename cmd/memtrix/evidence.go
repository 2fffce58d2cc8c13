package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"memtrix"
	"memtrix/comfyui"
	"memtrix/internal/files"
	"memtrix/reports"
	"memtrix/reports/evidence"
	"memtrix/results"
)

// evidenceCmd makes a bundle of a stored trial.
type evidenceCmd struct {
	Trial   int64  `arg:"" help:"A trial's number, as memtrix report --format json has it."`
	Output  string `short:"o" help:"A file that ends in .zip, or a folder; evidence-TRIAL.zip by default." placeholder:"FILE.zip|DIR" type:"path"`
	Results string `help:"Results folder." default:"memtrix-results" type:"existingdir"`
	Prompts bool   `name:"hide-prompts" help:"Take the texts of prompts and the names of output files out, too; their lengths stay."`
	Force   bool   `help:"Replace a file or a folder's files that are there."`
}

// Help is shown under --help.
func (evidenceCmd) Help() string {
	return `Makes of a trial a bundle for a bug report: paste.txt (a few lines for the issue), report.md in the layout of ComfyUI's bug form, the log, the workflow and the prompts as they were sent, the timeline, exact versions, how it ends on other versions and with other settings, and how to repeat it without memtrix and without a model.

User names, home folders, the trial's own folders, host names, addresses, e-mails, tokens, keys and passwords are taken out; look through it all the same before you publish it. What it cannot know is a secret that stands in a sentence. Prompts stay unless --hide-prompts.

Exit status: 0 when it is written, also for a trial that passed; 2 for wrong usage or a trial that is not there; 3 when it cannot be read or written.`
}

func (c *evidenceCmd) Run(a *app) error {
	db, err := openToRead(a, c.Results)
	if err != nil {
		return err
	}
	defer db.Close()
	t, err := db.Trial(a.ctx, c.Trial)
	switch {
	case errors.Is(err, results.ErrNotFound):
		return c.noTrial(a, db)
	case err != nil:
		return cannot{err}
	}
	in := evidence.Input{Trial: t, HidePrompts: c.Prompts}
	if in.Results, err = filepath.Abs(c.Results); err != nil {
		return cannot{err}
	}
	if in.Others, err = db.OfWorkflow(a.ctx, t.Cell.Workflow.Hash); err != nil {
		return cannot{err}
	}
	readRaw(&in)
	in.Users, in.Hosts = whoAmI()
	found, err := evidence.Gather(in)
	if err != nil {
		return cannot{err}
	}
	files, err := evidence.Bundle(found)
	if err != nil {
		return cannot{err}
	}
	out := c.Output
	if out == "" {
		out = evidence.Folder(t) + ".zip"
	}
	if err := writeBundle(out, c.Force, evidence.Folder(t), files); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%s: %d files about trial %d; paste.txt is for the issue, report.md has everything\n", reports.OneLine(out), len(files), t.ID)
	for _, m := range found.Unknown {
		fmt.Fprintln(a.stderr, "not known:", reports.OneLine(m))
	}
	if !found.Failed() {
		fmt.Fprintf(a.stderr, "nothing failed in trial %d: the bundle says so\n", t.ID)
	}
	return nil
}

// noTrial names the newest ones that there are.
func (c *evidenceCmd) noTrial(a *app, db *results.DB) error {
	ids, err := db.TrialIDs(a.ctx, 8)
	if err != nil {
		return cannot{err}
	}
	if len(ids) == 0 {
		return usage{fmt.Errorf("there is no trial in %s yet", db.Dir())}
	}
	var words []string
	for _, id := range ids {
		words = append(words, strconv.FormatInt(id, 10))
	}
	return usage{fmt.Errorf("there is no trial %d in %s; newest: %s (memtrix report --results %s shows them)", c.Trial, db.Dir(), strings.Join(words, ", "), db.Dir())}
}

// readRaw reads a trial's raw files. A folder that is gone is said to be.
func readRaw(in *evidence.Input) {
	t := in.Trial
	if t.Dir == "" {
		if t.Outcome.Kind != memtrix.NotApplicable {
			in.Missing = append(in.Missing, "the raw files: the trial has no folder")
		}
		return
	}
	if !files.Exist(t.Dir) {
		in.Missing = append(in.Missing, "the log and the events: the trial's folder is gone: "+t.Dir)
		return
	}
	read := func(name, what string) []byte {
		data, err := os.ReadFile(filepath.Join(t.Dir, name))
		if err != nil && (what != "" || !errors.Is(err, fs.ErrNotExist)) {
			in.Missing = append(in.Missing, fmt.Sprintf("%s: %v", what, err))
		}
		return data
	}
	in.Log = string(read(comfyui.LogFile, "the log"))
	in.Events = read(comfyui.EventsFile, "the events")
	in.Prompt = read(comfyui.PromptFile, "")
	if data := read(comfyui.CommandFile, ""); data != nil {
		if err := json.Unmarshal(data, &in.Command); err != nil {
			in.Missing = append(in.Missing, fmt.Sprintf("the command line: %s: %v", comfyui.CommandFile, err))
		}
	}
}

// whoAmI are the names of the person and the machine here: what a trial's files have
// of them is taken out wherever it stands.
func whoAmI() (users, hosts []string) {
	if u, err := user.Current(); err == nil {
		users = append(users, u.Username)
		if _, name, ok := strings.Cut(u.Username, `\`); ok { // DOMAIN\name
			users = append(users, name)
		}
		if len(strings.Fields(u.Name)) > 1 {
			users = append(users, u.Name)
		}
	}
	if h, err := os.Hostname(); err == nil {
		hosts = append(hosts, h)
	}
	return users, hosts
}

// writeBundle writes a zip file or a folder. What is there stays unless it may be
// replaced.
func writeBundle(out string, force bool, folder string, files []evidence.File) error {
	info, err := os.Stat(out)
	there := err == nil
	if strings.EqualFold(filepath.Ext(out), ".zip") {
		switch {
		case there && info.IsDir():
			return usage{fmt.Errorf("%s is a folder, not a zip file", out)}
		case there && !force:
			return usage{fmt.Errorf("%s is there already; --force replaces it", out)}
		}
		return writeZip(out, folder, files)
	}
	if there && !info.IsDir() {
		return usage{fmt.Errorf("%s is a file; give a folder, or a file that ends in .zip", out)}
	}
	if entries, err := os.ReadDir(out); err == nil && len(entries) > 0 && !force {
		return usage{fmt.Errorf("%s is not empty; --force replaces files in it", out)}
	}
	for _, f := range files {
		path := filepath.Join(out, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return unwritable(out, err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			return unwritable(out, err)
		}
	}
	return nil
}

// writeZip writes beside the name and renames, so that no half of a file has it.
func writeZip(out, folder string, files []evidence.File) error {
	f, done, err := create(out)
	if err != nil {
		return unwritable(out, err)
	}
	if err := evidence.Zip(f, folder, files); err != nil {
		_ = done(false)
		return unwritable(out, err)
	}
	if err := done(true); err != nil {
		return unwritable(out, err)
	}
	return nil
}
