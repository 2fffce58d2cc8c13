package main

import (
	"fmt"
	"slices"

	"memtrix/bisect/account"
	"memtrix/bisect/axes"
	"memtrix/versions"
)

// stages runs one search after the other: along the axis that was asked for or fits, and
// further into what it found.
func (s *specSearch) stages() error {
	list, err := s.first()
	if err != nil {
		return err
	}
	settings := s.ends.bad.Settings
	s.acc = account.Account{Dir: s.ends.dir, Python: s.ends.python, Command: commandLine()}
	s.acc.Cell = fmt.Sprintf("%s, %s", s.spec.Workflows[0].Name, settings)
	if h := s.spec.Hardware[0].Name; h != "as-is" {
		s.acc.Cell += ", " + h
	}
	if s.floor != nil {
		over, err := s.floors(list)
		s.acc.Floors = &s.floor.ends
		if over != nil {
			s.acc.Stages = append(s.acc.Stages, *over)
		}
		if err != nil || over != nil {
			return err
		}
	}
	for {
		stage, err := s.search(list)
		if stage.Report != nil && len(stage.Report.Runs) > 0 {
			s.acc.Stages = append(s.acc.Stages, stage)
		}
		if err != nil {
			return err
		}
		next, err := s.next(stage)
		if err != nil || next == nil {
			return err
		}
		list = *next
	}
}

// first is the list to begin with.
func (s *specSearch) first() (axes.List, error) {
	e := s.ends
	if e.proposed != "" {
		fmt.Fprintln(s.app.stderr, e.proposed)
	}
	if e.listed != nil {
		l := axes.List{Axis: axes.Versions, Why: "the versions of the spec, as they stand there"}
		for _, v := range e.listed {
			name := firstOf(v.Entry.Name, v.Entry.Version, v.Entry.Sim, v.Entry.Path)
			l.Candidates = append(l.Candidates, axes.Candidate{State: v, Name: name, Thing: name, Group: name, Prior: 1})
		}
		return l, nil
	}
	if s.cmd.Axis == "settings" {
		return s.settings()
	}
	if err := s.look("bad", &e.bad); err != nil {
		return axes.List{}, err
	}
	if e.dir != "" && e.good.Entry.Path == "" && e.good.Entry.Python == "" {
		e.good.Entry.Python = e.bad.Version.Python // of the installation: its environment, or what one is based on
	}
	if err := s.look("good", &e.good); err != nil {
		return axes.List{}, err
	}
	if e.dir != "" {
		e.python = e.bad.Version.Python
	}
	d := axes.Compare(e.good, e.bad)
	kind, why, err := axes.Decide(d)
	if s.cmd.Axis != "" {
		kind, why, err = axes.Kind(s.cmd.Axis), "asked for", nil
	}
	if err != nil {
		return axes.List{}, usage{err}
	}
	l, err := s.along(kind, e.good, e.bad, d)
	l.Why = why
	return l, err
}

func firstOf(names ...string) string {
	i := slices.IndexFunc(names, func(n string) bool { return n != "" })
	return names[max(i, 0)]
}

func (s *specSearch) settings() (axes.List, error) {
	l := axes.OfSettings(s.ends.good, s.ends.bad)
	l.Why = "asked for"
	if len(l.Candidates) < 2 {
		return l, usage{fmt.Errorf("the settings of good and bad are the same (%s): name them, --good \"cache=classic\" --bad \"cache=none\"", s.ends.bad.Settings)}
	}
	return l, nil
}

// along makes the list of an axis, or says that nothing differs along it.
func (s *specSearch) along(kind axes.Kind, good, bad axes.State, d axes.Differences) (axes.List, error) {
	nothing := func(what string) error {
		return usage{fmt.Errorf("--axis %s: the %s of good and bad are the same", kind, what)}
	}
	switch kind {
	case axes.Commits:
		if !d.Commit {
			return axes.List{}, nothing("commits")
		}
		return s.history(good, bad)
	case axes.Packages:
		if versions.Unbuilt(good.Version) || versions.Unbuilt(bad.Version) {
			return axes.List{}, cannot{fmt.Errorf("the packages of good and bad are not known")}
		}
		if len(d.Packages) == 0 {
			return axes.List{}, nothing("packages")
		}
		return axes.OfPackages(bad, good.Version.Packages, bad.Version.Packages), nil
	case axes.Nodes:
		if len(d.Packs) == 0 {
			return axes.List{}, nothing("listed custom nodes (custom-nodes: of the two versions)")
		}
		return axes.OfNodes(good, bad), nil
	case axes.Settings:
		return s.settings()
	}
	return axes.OfAll(good, bad, d), nil
}

// next is the list that goes further into what a stage found, nil for the end.
func (s *specSearch) next(st account.Stage) (*axes.List, error) {
	if !st.Found() || st.Report.From != st.Report.To {
		return nil, nil
	}
	before, first := st.Before(), st.First()
	switch st.List.Axis {
	case axes.Which:
		return s.into(before, first)
	case axes.Packages:
		return s.releases(before, first)
	case axes.Nodes:
		return s.packCommits(before, first)
	case axes.Pack:
		return s.insidePack(before, first)
	case axes.Commits:
		if l, err := s.inside(before, first); l != nil || err != nil {
			return l, err
		}
		if s.cmd.Axis == "" {
			return s.codeOrPackages(before, first)
		}
	}
	return nil, nil
}

// inside are the commits of the branch that a merge brought in; nil where it is none, or
// was looked into.
func (s *specSearch) inside(before, first axes.Candidate) (*axes.List, error) {
	if !s.closed(first) {
		return nil, nil
	}
	l, err := s.history(before.State, first.State)
	if err != nil {
		return nil, err
	}
	return longer(ofMerge(l, first)), nil
}

// insidePack is the same of a node pack.
func (s *specSearch) insidePack(before, first axes.Candidate) (*axes.List, error) {
	if !s.closed(first) {
		return nil, nil
	}
	l, err := s.packCommits(before, first)
	if l == nil || err != nil {
		return nil, err
	}
	return longer(ofMerge(*l, first)), nil
}

// closed reports whether a candidate is a merge that was not looked into yet, which it
// then counts as.
func (s *specSearch) closed(c axes.Candidate) bool {
	if !c.Merge || slices.Contains(s.opened, c.Commit) {
		return false
	}
	s.opened = append(s.opened, c.Commit)
	return true
}

func ofMerge(l axes.List, merge axes.Candidate) axes.List {
	l.Merge = merge.Commit
	l.Why = fmt.Sprintf("%s is a merge: the commits of its branch, and the merge itself", merge.Name)
	return l
}

// into goes along the axis that a comparison of all of them found.
func (s *specSearch) into(before, first axes.Candidate) (*axes.List, error) {
	var kind axes.Kind
	switch first.Thing {
	case "settings":
		l := axes.OfSettings(before.State, first.State)
		l.Why = "the settings did it"
		return longer(l), nil
	case "nodes":
		l := axes.OfNodes(before.State, first.State)
		l.Why = "the custom nodes did it"
		return longer(l), nil
	case "packages":
		kind = axes.Packages
	default:
		kind = axes.Commits
	}
	good, bad := before.State, first.State
	if err := s.look("good", &good); err != nil {
		return nil, err
	}
	if err := s.look("bad", &bad); err != nil {
		return nil, err
	}
	l, err := s.along(kind, good, bad, axes.Compare(good, bad))
	l.Why = "the " + string(kind) + " did it"
	if err != nil {
		return nil, err
	}
	return longer(l), nil
}

// longer is nil for a list on which nothing is left to be told apart.
func longer(l axes.List) *axes.List {
	if len(l.Candidates) < 3 {
		if l.Axis != axes.Packages || len(l.Candidates) < 2 {
			return nil
		}
	}
	return &l
}

// codeOrPackages looks, where the first bad commit came with other packages, whether
// its code did it or they did.
func (s *specSearch) codeOrPackages(before, first axes.Candidate) (*axes.List, error) {
	good, bad := before.State, first.State
	if err := s.look("good", &good); err != nil {
		return nil, err
	}
	if err := s.look("bad", &bad); err != nil {
		return nil, err
	}
	d := axes.Compare(good, bad)
	if !d.Commit || len(d.Packages) == 0 {
		return nil, nil
	}
	l := axes.OfAll(good, bad, d)
	l.Why = fmt.Sprintf("the commit came with other packages (%d differ): its code, or they", len(d.Packages))
	return longer(l), nil
}

// releases lists the versions of a package between two.
func (s *specSearch) releases(before, first axes.Candidate) (*axes.List, error) {
	name := axes.SinglePackage(before, first)
	if name == "" {
		return nil, nil
	}
	e := first.Entry
	between, err := s.ready.world.provider.PackageVersions(s.app.ctx, request(e), name, before.Entry.Overrides[name], e.Overrides[name])
	if err != nil {
		if s.app.ctx.Err() != nil {
			return nil, s.app.ctx.Err()
		}
		fmt.Fprintf(s.app.stderr, "warning: which versions of %s lie between is not known: %v\n", name, err)
		return nil, nil
	}
	return axes.OfReleases(before, first, between), nil
}

// packCommits lists the commits of a node pack between two.
func (s *specSearch) packCommits(before, first axes.Candidate) (*axes.List, error) {
	pack, from, to, ok := axes.SinglePack(before, first)
	if !ok {
		return nil, nil
	}
	start, steps, err := s.ready.world.provider.PackHistory(s.app.ctx, pack.Git, from, to)
	if err != nil {
		return nil, s.wrong(err)
	}
	commits := []axes.Commit{{Hash: start.Hash, Subject: start.Subject, Date: start.Date, Requirements: start.Requirements}}
	for _, x := range steps {
		commits = append(commits, axes.Commit{Hash: x.Hash, Subject: x.Subject, Date: x.Date, Merge: x.Merge(), Files: x.Files, Requirements: x.Requirements})
	}
	return axes.OfPack(before, first, commits), nil
}
