package comfysim

import (
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// handler has every route twice, under / and under /api.
func (s *sim) handler() http.Handler {
	mux := http.NewServeMux()
	route := func(pattern string, h http.HandlerFunc) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" "+path, h)
		mux.HandleFunc(method+" /api"+path, h)
	}
	route("GET /ws", s.serveSocket)
	route("GET /prompt", func(w http.ResponseWriter, _ *http.Request) {
		status, _ := statusData(s.queue.count()).get("status")
		answer(w, http.StatusOK, status)
	})
	route("POST /prompt", s.postPrompt)
	route("GET /queue", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, s.queue.view()) })
	route("POST /queue", s.postQueue)
	route("POST /interrupt", s.postInterrupt)
	route("POST /free", s.postFree)
	route("GET /history", s.getHistory)
	route("GET /history/{id}", s.getHistory)
	route("POST /history", s.postHistory)
	route("GET /object_info", s.getObjectInfo)
	route("GET /object_info/{class}", s.getObjectInfo)
	route("GET /system_stats", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, s.systemStats()) })
	route("GET /features", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, serverFeatures(s.cfg)) })
	route("GET /view", s.getView)
	mux.HandleFunc("GET /internal/logs/raw", s.getLogs)
	mux.HandleFunc("PATCH /internal/logs/subscribe", s.patchLogs)
	return mux
}

func answer(w http.ResponseWriter, status int, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		serverError(w)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	// Who attaches to it must know that nothing here is a measurement.
	w.Header().Set("Server", "comfysim")
	w.WriteHeader(status)
	_, _ = w.Write(data) // the client may be gone
}

// serverError is what aiohttp answers to an exception in a handler.
func serverError(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = io.WriteString(w, "500 Internal Server Error\n\nServer got itself in trouble")
}

// body reads a request's JSON object; it answers when it cannot.
func body(w http.ResponseWriter, r *http.Request) (object, bool) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 100<<20))
	if err != nil {
		http.Error(w, "Maximum request body size 104857600 exceeded.", http.StatusRequestEntityTooLarge)
		return nil, false
	}
	v, err := decodeJSON(data)
	o, ok := v.(object)
	if err != nil || !ok {
		serverError(w)
		return nil, false
	}
	return o, true
}

func (s *sim) postQueue(w http.ResponseWriter, r *http.Request) {
	if o, ok := body(w, r); ok {
		editList(o, s.queue.delete)
	}
}

func (s *sim) postHistory(w http.ResponseWriter, r *http.Request) {
	if o, ok := body(w, r); ok {
		editList(o, s.queue.forget)
	}
}

// editList does {"clear": true} and {"delete": [ids]}.
func editList(o object, remove func([]string)) {
	if clear, _ := o.get("clear"); clear == true {
		remove(nil)
	}
	if list, _ := o.get("delete"); list != nil {
		ids, _ := list.([]any)
		remove(append([]string{}, toStrings(ids)...))
	}
}

func (s *sim) postInterrupt(w http.ResponseWriter, r *http.Request) {
	data, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20)) // a body that cannot be read is none
	v, _ := decodeJSON(data)
	o, _ := v.(object)
	id, _ := o.get("prompt_id")
	want, _ := id.(string)
	switch {
	case want == "":
		s.log.info("Global interrupt (no prompt_id specified)")
		s.interrupt.Store(true)
	case want == s.queue.runningID():
		s.log.info("Interrupting prompt %s", want)
		s.interrupt.Store(true)
	default:
		s.log.info("Prompt %s is not currently running, skipping interrupt", want)
	}
}

func (s *sim) postFree(w http.ResponseWriter, r *http.Request) {
	o, ok := body(w, r)
	if !ok {
		return
	}
	unload, _ := o.get("unload_models")
	free, _ := o.get("free_memory")
	s.queue.setFlags(queueFlags{unload: unload == true, free: free == true})
}

func (s *sim) getHistory(w http.ResponseWriter, r *http.Request) {
	limit, _ := strconv.Atoi(r.URL.Query().Get("max_items")) // 0 without one
	offset := -1
	if n, err := strconv.Atoi(r.URL.Query().Get("offset")); err == nil {
		offset = n
	}
	answer(w, http.StatusOK, s.queue.past(r.PathValue("id"), limit, offset))
}

func (s *sim) getObjectInfo(w http.ResponseWriter, r *http.Request) {
	out := object{}
	for _, name := range s.nodeOrder {
		if want := r.PathValue("class"); want == "" || want == name {
			out = append(out, pair{name, s.nodes[name].objectInfo(&s.cfg.folders)})
		}
	}
	answer(w, http.StatusOK, out)
}

// getView serves what the server wrote or was given.
func (s *sim) getView(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	root := map[string]string{"": s.cfg.folders.output, "output": s.cfg.folders.output,
		"temp": s.cfg.folders.temp, "input": s.cfg.folders.input}[q.Get("type")]
	name := filepath.Join(q.Get("subfolder"), filepath.Base(q.Get("filename")))
	if root == "" || q.Get("filename") == "" || !filepath.IsLocal(name) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", mime.TypeByExtension(filepath.Ext(name)))
	_, _ = w.Write(data) // the client may be gone
}

func serverFeatures(c *config) object {
	limit := c.opts.float("--max-upload-size", 100)
	return object{{"supports_preview_metadata", true}, {"max_upload_size", int64(limit * float64(mib))}}
}

// systemStats is GET /system_stats, with the fields of the version.
func (s *sim) systemStats() object {
	c := s.cfg
	templates := any(nil)
	if !c.bareEnv() {
		templates = c.ver.templates
	}
	system := object{{"os", c.ver.osName}, {"ram_total", c.ram}, {"ram_free", s.host.available()},
		{"comfyui_version", c.ver.name}, {"required_frontend_version", c.ver.frontend},
		{"installed_templates_version", templates}, {"required_templates_version", c.ver.templates}}
	if c.ver.packageList {
		system = append(system, pair{"comfy_package_versions", c.packages()})
	}
	system = append(system, pair{"python_version", c.pythonVersion()}, pair{"pytorch_version", c.torchVersion()},
		pair{"embedded_python", false})
	if c.ver.packageList {
		system = append(system, pair{"deploy_environment", "local-git"})
	}
	system = append(system, pair{"argv", append([]string{"main.py"}, c.argv...)})
	return object{{"system", system}, {"devices", []any{s.device()}}}
}

func (c *config) packages() []any {
	var out []any
	add := func(name string, installed any, required string) {
		out = append(out, object{{"name", name}, {"installed", installed}, {"required", required}})
	}
	for _, p := range [][2]string{{"comfyui-frontend-package", c.ver.frontend},
		{"comfyui-workflow-templates", c.ver.templates}, {"comfyui-embedded-docs", "0.5.9"}} {
		installed := any(p[1])
		if c.bareEnv() {
			installed = nil
		}
		add(p[0], installed, p[1])
	}
	add("comfy-kitchen", c.kitchenVersion(), "0.2.22")
	add("comfy-aimdo", "0.4.10", "0.4.10")
	return out
}

// device is the numbers of the device in use. On the CPU they are RAM. Under
// dynamic VRAM torch holds no weights, only a small pool.
func (s *sim) device() object {
	c := s.cfg
	if !c.cuda {
		free := s.host.available()
		return object{{"name", c.deviceName()}, {"type", "cpu"}, {"index", nil}, {"vram_total", c.ram},
			{"vram_free", free}, {"torch_vram_total", c.ram}, {"torch_vram_free", free}}
	}
	st := s.card.stats()
	return object{{"name", c.deviceName()}, {"type", "cuda"}, {"index", 0}, {"vram_total", st.total},
		{"vram_free", st.free + st.cached}, {"torch_vram_total", st.torch + st.cached}, {"torch_vram_free", st.cached}}
}
