package redact

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// ordinary are names of users and machines that many have: they tell nothing, and
// as words they mean something else.
var ordinary = []string{
	"root", "user", "users", "admin", "administrator", "ubuntu", "debian", "fedora", "centos", "arch", "pi", "vagrant",
	"comfy", "comfyui", "runner", "default", "default user", "all users", "public", "guest", "docker", "app", "home", "local",
	"localhost", "localdomain", "shared", "shares", "share", "runpod", "jupyter", "jovyan", "workspace", "test", "tests", "testing", "tmp", "temp",
	"model", "models", "data", "node", "nodes", "python", "cuda", "torch", "nvidia", "gpu", "cpu", "www-data", "nobody", "daemon",
	"ec2-user", "opc", "azureuser", "conda", "mambauser", "server", "client", "host", "system", "windows", "linux", "macos",
	"none", "null", "true", "false", "unknown", "name", "username", "hostname", "main", "master", "site", "page", "dev", "developer",
	"group", "everyone", "desktop", "laptop", "computer", "pc", "image", "images", "video", "output", "input", "memory", "error", "file", "files",
	"coder", "codespace", "vscode", "gitpod", "paperspace", "kaggle", "content", "colab", "sagemaker-user", "container", "worker", "build", "builder",
}

// common are words that are names of people, too: who is called so is taken out of
// paths, and the word stays elsewhere.
var common = strings.Fields(`max min ray art will mark bill grant rose may april june august summer grace faith hope joy dawn ivy lily daisy
	violet ruby pearl amber jade jack frank rich chance hunter mason parker tyler carter cooper taylor baker fisher porter guy gene dean drew
	pat sue jean penny sandy misty olive clay cliff rock rusty forest river lake brook glen dale heath lance miles page pierce rex robin jay
	drake lane reed stone west lee long young king prince duke earl bishop star moon sunny shadow cache load sampler latent batch vae clip
	unet lora flux sigma alpha beta gamma delta omega nova echo pixel studio render media music photo design work office game gaming audio
	storage backup prod stage staging net web api ssh git code core base lab labs ada turing tesla ampere hopper volta pascal maxwell kepler
	fermi blackwell tower device driver python3 weights offload pinned attention prompt queue text`)

const (
	// separators of paths: slashes of both kinds, doubled where they are escaped, and
	// as addresses write them.
	sep = `(?:[\\/]+|%2F|%5C)`
	// part is a folder's name.
	part = `(?:[^\s\\/:*?"'<>|%,;()\[\]{}$=]|%[013-46-9A-Fa-f][0-9A-Fa-f]|%2[0-9A-Ea-e]|%5[0-9ABD-Fabd-f]|\\+u[0-9A-Fa-f]{4})+`
	// spaced is one with spaces in it, of which the end shows in a following separator.
	spaced = `[^\s\\/:*?"'<>|%,;()\[\]{}$=]+(?: [^\s\\/:*?"'<>|%,;()\[\]{}$=]+){1,3}`
)

var (
	// Home folders below their usual parents, also below a mount, in a container or
	// on another machine.
	posixHome = regexp.MustCompile(`(^|[^\w.~\-])((?:` + sep + `[\w.+$\-]+){0,3}` + sep + `(?:home|Users)` + sep + `)(` + part + `)`)
	winHome   = regexp.MustCompile(`(?i)((?:[A-Z]:|[A-Z]%3A|[\\/]mnt[\\/][a-z]|[\\/][a-z])` + sep + `(?:Users|Documents and Settings)` + sep + `)(?:(` + spaced + `)(` + sep + `)|(` + part + `))`)
	// Removable disks are mounted below the name of a user.
	mediaHome = regexp.MustCompile(`((?:/run)?/media/)([^\s/:"'<>]+)(/)`)
	tildeHome = regexp.MustCompile(`(^|[\s"'=:(])~([A-Za-z_][\w\-]*)(/)`)

	unc       = regexp.MustCompile(`(^|[^\w\\.:/>\]])(\\{2,8})([A-Za-z0-9][\w.\-]{2,})(\\{1,4}[\w$])`)
	prompt    = regexp.MustCompile(`(^|[\s"'(\[=,:])([A-Za-z_][\w.\-]*)@([A-Za-z0-9][\w\-]*)(:\s?[~/]|:[A-Za-z]:|[$#>]| ?[~%]| MINGW)`)
	atAddress = regexp.MustCompile(`\b([A-Za-z_][\w.\-]*)@(\d{1,3}(?:\.\d{1,3}){3})\b`)
	// What routers, companies and machines call themselves: some endings are nothing
	// else, the others are also parts of modules of Python.
	tunnel  = regexp.MustCompile(`(?i)\b([a-z0-9][a-z0-9\-]*(?:\.[a-z0-9\-]+)*\.(?:fritz\.box|home\.arpa|ts\.net|proxy\.runpod\.net|trycloudflare\.com|ngrok\.io|ngrok-free\.app|ngrok\.app|gradio\.live|loca\.lt|compute\.amazonaws\.com|compute\.internal))\b`)
	private = regexp.MustCompile(`(?i)\b([a-z0-9][a-z0-9\-]*(?:\.[a-z0-9\-]+)*\.(?:local|lan|internal|intranet|corp|home|localdomain))\b`)
	machine = regexp.MustCompile(`\b(DESKTOP-[A-Z0-9]{6,8}|LAPTOP-[A-Z0-9]{6,8}|WIN-[A-Z0-9]{8,12}|ip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}|[A-Za-z0-9]+s-(?:MacBook|iMac|Mac-mini|Mac-Studio|MBP|Air)[A-Za-z0-9\-]*)`)

	beforeHost = regexp.MustCompile(`(?i)(?:\b(?:on|to|from|at|host|hostname|server|ssh|ping|mount)["']?[ :=]\s*["']?)$`)
	afterHost  = regexp.MustCompile(`^:\d{2,5}\b`)

	email = regexp.MustCompile(`[A-Za-z0-9][A-Za-z0-9._%+\-]*(?:@|%40)[A-Za-z0-9](?:[A-Za-z0-9\-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9\-]+)*\.([A-Za-z]{2,12})\b`)

	mac     = regexp.MustCompile(`\b(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}\b|\b(?:[0-9A-Fa-f]{2}-){5}[0-9A-Fa-f]{2}\b`)
	gpuUUID = regexp.MustCompile(`\b((?:GPU|MIG)-)(?:GPU-)?([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})(?:/\d+/\d+)?`)
	ipv6    = regexp.MustCompile(`[0-9A-Fa-f]{1,4}(?::{1,2}[0-9A-Fa-f]{1,4}){2,7}(?:::)?`)
	ipv4    = regexp.MustCompile(`\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}`)
)

// endings of files, which addresses have none of.
var fileEndings = []string{"png", "jpg", "jpeg", "webp", "gif", "py", "json", "safetensors", "gguf", "ckpt", "txt", "log", "yaml", "yml", "mp4", "pt", "pth", "so", "dll"}

func (r *Redactor) emails(s string) string {
	return replace(email, s, func(m match) (string, bool) {
		whole := m.group(0)
		low := strings.ToLower(whole)
		if slices.Contains(fileEndings, strings.ToLower(m.group(1))) || strings.HasPrefix(low, "git@") {
			return "", false
		}
		return r.mark(Email, strings.Replace(low, "%40", "@", 1)), true
	})
}

// homes takes the names out of paths of home folders.
func (r *Redactor) homes(s string) string {
	s = replace(winHome, s, func(m match) (string, bool) {
		if name := m.group(2); name != "" {
			return m.group(1) + r.user(name) + m.group(3), true
		}
		name := sentenceEnd(m.group(4))
		return m.group(1) + r.user(decoded(name)) + m.group(4)[len(name):], true
	})
	s = replace(posixHome, s, func(m match) (string, bool) {
		if m.group(1) == ":" && strings.HasPrefix(m.group(2), "//") && strings.HasSuffix(strings.ToLower(m.before(5)), "http") ||
			strings.HasSuffix(strings.ToLower(m.before(5)), "https") {
			return "", false // a page of a site
		}
		name := sentenceEnd(m.group(3))
		if name == "" || name[0] == '.' {
			return "", false // ".cache" of a home folder that is called "home" itself
		}
		return m.group(1) + m.group(2) + r.user(decoded(name)) + m.group(3)[len(name):], true
	})
	s = replace(mediaHome, s, func(m match) (string, bool) { return m.group(1) + r.onlyHere(m.group(2)) + m.group(3), true })
	return replace(tildeHome, s, func(m match) (string, bool) { return m.group(1) + "~" + r.onlyHere(m.group(2)) + m.group(3), true })
}

// decoded is a name as it is, of one as addresses write it.
func decoded(name string) string {
	if plain, err := url.PathUnescape(name); err == nil && utf8.ValidString(plain) {
		return plain
	}
	return name
}

// sentenceEnd is a name without the dots of a sentence.
func sentenceEnd(name string) string { return strings.TrimRight(name, ".!") }

// onlyHere takes a name out of one place, and does not look for it elsewhere: it may
// be one of a disk.
func (r *Redactor) onlyHere(name string) string {
	low := strings.ToLower(name)
	if slices.Contains(ordinary, low) || strings.HasPrefix(name, "<") {
		return name
	}
	return r.mark(User, low)
}

// endings of names of hosts, as tunnel and private have them.
var hostEndings = []string{".local", ".lan", ".internal", ".intranet", ".corp", ".home", "fritz.box", ".ts.net", "runpod.net", "trycloudflare.com", "ngrok", "gradio.live", "loca.lt", "amazonaws.com"}

func (r *Redactor) hosts(s string) string {
	low := strings.ToLower(s)
	if strings.Contains(low, `\\`) {
		s = replace(unc, s, func(m match) (string, bool) {
			name := strings.ToLower(m.group(3))
			if name == "wsl" || name == "wsl.localhost" || name == "tsclient" {
				return "", false
			}
			return m.group(1) + m.group(2) + r.host(m.group(3)) + m.group(4), true
		})
	}
	if strings.Contains(low, "@") {
		s = replace(prompt, s, func(m match) (string, bool) {
			return m.group(1) + r.user(m.group(2)) + "@" + r.host(m.group(3)) + m.group(4), true
		})
		s = replace(atAddress, s, func(m match) (string, bool) {
			return r.user(m.group(1)) + "@" + m.group(2), !r.versions[m.group(2)]
		})
	}
	if hasAny(low, hostEndings) {
		s = r.domains(s)
	}
	if !hasAny(low, []string{"desktop-", "laptop-", "win-", "ip-", "s-"}) {
		return s
	}
	return replace(machine, s, func(m match) (string, bool) { return r.host(m.group(1)), true })
}

// domains takes out names of hosts by their endings.
func (r *Redactor) domains(s string) string {
	s = replace(tunnel, s, func(m match) (string, bool) { return r.host(m.group(1)), true })
	return replace(private, s, func(m match) (string, bool) {
		shown := strings.HasSuffix(m.before(3), "://") || strings.HasSuffix(m.before(1), "@") || afterHost.MatchString(m.after(8))
		asHost := beforeHost.MatchString(m.before(20)) && !strings.HasPrefix(m.after(7), " import") && !strings.HasPrefix(m.after(1), "(")
		if !shown && !asHost {
			return "", false
		}
		return r.host(m.group(1)), true
	})
}

// cards takes out the identifiers of graphics cards.
func (r *Redactor) cards(s string) string {
	return replace(gpuUUID, s, func(m match) (string, bool) {
		return m.group(1) + r.mark(GPU, strings.ToLower(m.group(2))), true
	})
}

// addresses takes out those of machines. Fewer colons, dashes or dots make none.
func (r *Redactor) addresses(s string) string {
	if strings.Count(s, ":") >= 2 {
		s = replace(ipv6, s, r.six)
	}
	if strings.Count(s, ".") >= 3 {
		s = replace(ipv4, s, r.four)
	}
	if strings.Count(s, ":") < 5 && strings.Count(s, "-") < 5 {
		return s
	}
	return replace(mac, s, func(m match) (string, bool) {
		// More of the same is a fingerprint.
		if b, a := m.before(1), m.after(1); b == ":" || a == ":" || b == "-" || a == "-" {
			return "", false
		}
		return r.mark(MAC, strings.ToLower(strings.ReplaceAll(m.group(0), "-", ":"))), true
	})
}

// six takes out IPv6 addresses that lead somewhere; scopes of C++, times and slices
// of Python are written with colons, too.
func (r *Redactor) six(m match) (string, bool) {
	if b := m.before(1); b != "" && (alphanumeric(b[0]) || b == ":" || b == "_") {
		return "", false
	}
	if a := m.after(1); a != "" && (alphanumeric(a[0]) || a == "_") {
		return "", false
	}
	ip, err := netip.ParseAddr(m.group(0))
	if err != nil || !ip.Is6() || ip.Is4In6() || !ip.IsGlobalUnicast() && !ip.IsLinkLocalUnicast() {
		return "", false
	}
	first := m.group(0)[0] | 0x20 // a small letter
	if first != '2'|0x20 && first != '3'|0x20 && first != 'f' {
		return "", false // no address that is given to anybody begins otherwise
	}
	return r.mark(IP, ip.String()), true
}

var (
	// What stands before a version: a name of a package, a comparison, the word.
	beforeVersion = regexp.MustCompile(`(?i)(?:(?:[=<>~!]=|[<>~])\s*|\.so\.|\bv|\bversion["']?\s*[:=]?\s*["']?|\brelease\s*:?\s*|\bdriver\s*:?\s*|[A-Za-z0-9_]-|_|` +
		`\b(?:nvidia|cuda|cudnn|cublas|cufft|cufile|curand|cusolver|cusparse|cutlass|nccl|nvjitlink|nvtx|torch|opencv|onnxruntime|tensorrt|python|package|directml|vulkan|chrome|rocm|hip|oneapi|libnv)[\w.\-]*["']?\s*[|:=, (]*\s*["']?)$`)
	// What stands before an address.
	beforeAddress = regexp.MustCompile(`(?i)(?:://|@|\b(?:ip|host|hosts|hostname|address|addr|listen|listening on|bind|peer|peername|server|client|connect(?:ed|ion)?(?: to| from)?|from|to|at|remote|gateway|dns|proxy|on)["']?\s*[:=]?\s*[\("'\[]*\s*["']?)$`)
	afterAddress  = regexp.MustCompile(`^(?::\d{1,5}\b|/\d{1,2}\b|', \d+\)|", \d+\))`)
)

// four takes out IPv4 addresses. Versions of four numbers look the same: known ones
// stay unless they stand where only an address can, others stay where a package's
// name is before them.
func (r *Redactor) four(m match) (string, bool) {
	text := m.group(0)
	ip, err := netip.ParseAddr(text)
	if err != nil || ip.IsLoopback() || ip.IsUnspecified() || strings.HasPrefix(text, "255.") {
		return "", false
	}
	if b := m.before(2); b != "" {
		c := b[len(b)-1]
		if alphanumeric(c) && !strings.HasSuffix(strings.ToLower(b), "v") || c == '.' && len(b) == 2 && b[0] >= '0' && b[0] <= '9' {
			return "", false
		}
	}
	if a := m.after(2); a != "" && (alphanumeric(a[0]) || a[0] == '_' || a[0] == '.' && len(a) == 2 && alphanumeric(a[1]) || a[0] == '+' ||
		a[0] == '-' && len(a) == 2 && (lower(a[1]) || upper(a[1]))) { // of a kernel: 5.15.153.1-microsoft
		return "", false
	}
	before := m.before(60)
	switch {
	case strings.HasSuffix(before, "://"), strings.HasSuffix(before, "@"), afterAddress.MatchString(m.after(8)):
	case r.versions[text]:
		return "", false
	case beforeAddress.MatchString(before):
	case beforeVersion.MatchString(before):
		return "", false
	}
	return r.mark(IP, text), true
}
