package matrix

import (
	"fmt"
	"strings"
)

// StandIns says which missing models are stood in for.
type StandIns struct {
	// Missing: those of all workflows, not of the built-in ones alone.
	Missing bool
	// Random: they are filled with random numbers, not with zeros.
	Random bool
	// FullSize: they may take their whole size where there are no sparse files.
	// No key of the spec says it, since it is about one machine's disk.
	FullSize bool
	// Families are what a person said of files: name in its folder to "FAMILY"
	// or "FAMILY DTYPE".
	Families map[string]string
	// places are where the spec says so.
	places map[string]pos
}

// CheckStandIns holds what standins: says of each file against a judge of families.
// The error is of type Errors, at the places in the spec.
func (s *Spec) CheckStandIns(judge func(family string) error) error {
	var errs Errors
	for name, at := range s.StandIns.places {
		if err := judge(s.StandIns.Families[name]); err != nil {
			errs = append(errs, SpecError{File: s.File, Line: at.line, Col: at.col, Msg: fmt.Sprintf("standins: %s: %v", shorten(name), err)})
		}
	}
	if len(errs) == 0 {
		return nil
	}
	errs.sort()
	return errs
}

// standIns reads the spec's keys about stand-in models.
func (r *specReader) standIns(f field) {
	s := &r.spec.StandIns
	switch f.key {
	case "standin":
		text, ok := r.word(f.value, "standin")
		if ok && text != "missing" {
			r.fail(position(f.value), "standin takes missing, not %q (a file's family is said in standins:)", shorten(text))
		}
		s.Missing = true
	case "standin-fill":
		text, ok := r.word(f.value, "standin-fill")
		if ok && text != "zero" && text != "random" {
			r.fail(position(f.value), "standin-fill takes zero or random, not %q", shorten(text))
		}
		s.Random = text == "random"
	case "standins":
		s.Families, s.places = map[string]string{}, map[string]pos{}
		fields, _ := r.mapping(f.value, "standins")
		for _, one := range fields {
			if text, ok := r.word(one.value, "standins: "+one.key); ok {
				name := strings.ReplaceAll(one.key, `\`, "/")
				s.Families[name], s.places[name] = text, position(one.value)
			}
		}
		s.Missing = true // why else say it
	}
}
