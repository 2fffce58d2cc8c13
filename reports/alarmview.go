package reports

import (
	"fmt"
	"slices"

	"memtrix/history"
)

// AlarmView is an alarm that is open or acknowledged as a page shows it.
type AlarmView struct {
	ID    int64  `json:"id"`
	State string `json:"state"`
	Title string `json:"title"`
	// Since names the session that opened it, and how it was confirmed.
	Since string `json:"since"`
	// Machine is set when the control moved, too.
	Machine bool         `json:"machine,omitempty"`
	Note    string       `json:"note,omitempty"`
	Causes  string       `json:"causes,omitempty"`
	Changes []ChangeView `json:"changes"`
	More    int          `json:"more,omitempty"` // changes that are not shown
}

// ChangeView is one change of an alarm.
type ChangeView struct {
	Text  string `json:"text"`
	Trial int64  `json:"trial"` // the first after it
}

// alarmViews are the alarms that somebody may still act on, the newest first.
func alarmViews(alarms []history.Alarm) []AlarmView {
	list := []AlarmView{}
	for _, a := range slices.Backward(alarms) {
		if a.State != history.Open && a.State != history.Acknowledged {
			continue
		}
		v := AlarmView{ID: a.ID, State: string(a.State), Title: OneLine(a.Title), Since: "session " + OneLine(a.Name), Machine: a.Machine, Note: OneLine(a.Note)}
		if a.Simulated {
			v.Title = "SIMULATED: " + v.Title
		}
		if a.Confirming > 0 {
			v.Since += fmt.Sprintf(", confirmed by %d of %s", a.Confirmed, plural(a.Confirming, "repeat", "repeats"))
		}
		if text := floorText(a); text != "" {
			v.Since += "; " + text
		}
		for i, c := range a.Changes {
			if i == shownChanges {
				v.More = len(a.Changes) - shownChanges
				break
			}
			v.Changes = append(v.Changes, ChangeView{OneLine(c.Where() + ": " + c.What()), c.TrialAfter})
		}
		if len(a.Changes) > 0 {
			v.Causes = OneLine(causesText(a.Changes[0].Causes, 8))
		}
		list = append(list, v)
	}
	return list
}
