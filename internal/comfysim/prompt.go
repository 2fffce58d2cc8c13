package comfysim

import (
	"encoding/json"
	"net/http"

	"github.com/google/uuid"
)

// postPrompt is POST /prompt: validation, then the queue.
func (s *sim) postPrompt(w http.ResponseWriter, r *http.Request) {
	s.log.info("got prompt")
	o, ok := body(w, r)
	if !ok {
		return
	}
	value, there := o.get("prompt")
	if !there {
		answer(w, http.StatusBadRequest, object{
			{"error", problem("no_prompt", "No prompt provided", "No prompt provided", nil)}, {"node_errors", object{}}})
		return
	}
	prompt, ok := value.(object)
	if !ok {
		serverError(w)
		return
	}
	number := s.number(o)
	g := newGraph(prompt)
	v := s.validate(g)
	if v.err != nil {
		s.log.warn("invalid prompt: %s", pyRepr(v.err))
		answer(w, http.StatusBadRequest, object{{"error", v.err}, {"node_errors", v.nodeErrors}})
		return
	}
	item := s.newItem(o, prompt, g, v.good)
	item.number = number
	// The answer is on its way before the first event, as in the recordings.
	answer(w, http.StatusOK, object{{"prompt_id", item.id}, {"number", number}, {"node_errors", v.nodeErrors}})
	s.queue.put(item)
}

// number is the place in the queue: the smaller, the sooner.
func (s *sim) number(o object) float64 {
	if given, ok := o.get("number"); ok {
		if n, ok := given.(json.Number); ok {
			if f, err := n.Float64(); err == nil {
				return f
			}
		}
	}
	n := float64(s.queue.takeNumber())
	if front, _ := o.get("front"); front == true {
		return -n
	}
	return n
}

func (s *sim) newItem(o, prompt object, g *graph, outputs []string) *queueItem {
	item := &queueItem{id: uuid.NewString(), prompt: prompt, graph: g, outputs: outputs, extra: object{}}
	item.serial = s.queue.takeSerial()
	if extra, _ := o.get("extra_data"); extra != nil {
		if e, ok := extra.(object); ok {
			item.extra = e
		}
	}
	if client, ok := o.get("client_id"); ok {
		item.extra = item.extra.with("client_id", client)
	}
	if client, ok := item.extra.get("client_id"); ok {
		item.client, _ = client.(string)
	}
	if id, _ := o.get("prompt_id"); id != nil {
		item.id = pyStr(id)
	}
	if s.cfg.ver.createTime {
		item.extra = item.extra.with("create_time", millis())
	}
	return item
}
