package redact

import (
	"regexp"
	"slices"
	"strings"
)

// form is what a kind of secret looks like, and where that is written down.
type form struct {
	name   string
	source string
	// hints are pieces of which one is in every match, in small letters.
	hints []string
	// re matches it; its group "secret" is what must go, the whole match if there is
	// no such group.
	re *regexp.Regexp
}

const gitleaks = "https://github.com/gitleaks/gitleaks/blob/master/config/gitleaks.toml"

// breaks are what stands between the lines of a key, as it is or escaped.
const breaks = `(?:\\+[nr]|[\s"',])*`

func of(name, source, hints, pattern string) form {
	return form{name, source, strings.Fields(hints), regexp.MustCompile(pattern)}
}

// pem is a private key in the form of https://www.rfc-editor.org/rfc/rfc7468, over
// several lines.
var pem = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:` + breaks + `(?:[A-Za-z0-9+/=]{20,}|(?:Proc-Type|DEK-Info): [A-Za-z0-9,\-]+))*` +
	`(?:` + breaks + `[A-Za-z0-9+/=]{0,80}` + breaks + `-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)?`)

// keys takes out private keys.
func (r *Redactor) keys(s string) string {
	if !strings.Contains(s, "PRIVATE KEY") {
		return s
	}
	return replace(pem, s, func(m match) (string, bool) { return r.secret(m.group(0)), true })
}

// forms are secrets that are known by how they begin, whatever stands before them.
// The first ones are those that would hide others.
var forms = []form{
	of("authorization header", "https://www.rfc-editor.org/rfc/rfc6750, https://www.rfc-editor.org/rfc/rfc7617", "authorization",
		`(?i)\bauthorization\b(?:\\*["'])?\s*[:=]\s*(?:\\*["'])?(?:(?:basic|bearer|digest|token|key)\s+)?(?P<secret>[^\s"'\\,;<>]{4,})`),
	of("bearer token", "https://www.rfc-editor.org/rfc/rfc6750", "bearer", `(?i)\bbearer\s+(?P<secret>[A-Za-z0-9\-._~+/]{12,}=*)`),
	of("cookie header", "https://www.rfc-editor.org/rfc/rfc6265", "cookie", `(?i)\b(?:set-)?cookie(?:\\*["'])?\s*:\s*(?:\\*["'])?(?P<secret>[^\s"'\\<>=;]+=[^\r\n"'\\<>]+)`),
	of("password in an address", "https://www.rfc-editor.org/rfc/rfc3986#section-3.2.1", "://",
		`(?i)\b[a-z][a-z0-9+.\-]*://(?P<secret>[^\s/@"'<>\\]+)@`),
	of("key in an address", "https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html and many others", "= %3d",
		`(?i)(?:[?&;]|&amp;|\\u0026)(?:[a-z0-9_\-]*token|[a-z0-9_\-]*api[_\-]?key|key|sig|signature|auth|password|passwd|secret|code|policy|x-amz-(?:signature|credential|security-token)|key-pair-id)(?:=|%3D)(?P<secret>[^&\s"'<>\\#]{4,})`),
	of("web token", "https://www.rfc-editor.org/rfc/rfc7519", "eyj", `\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*)?`),
	of("Hugging Face token", "https://huggingface.co/docs/hub/security-tokens", "hf_ api_org_", `\b(?:hf|api_org)_[A-Za-z0-9]{20,}\b`),
	of("GitHub token", "https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", `\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})\b`),
	of("GitLab token", "https://docs.gitlab.com/security/tokens/#token-prefixes", "glpat- glptt- glrt- glcbt- gldt- glft- glsoat- gloas-", `\bgl(?:pat|ptt|rt|cbt|dt|ft|soat|oas)-[A-Za-z0-9_\-.]{16,}`),
	of("key of comfy.org", "https://docs.comfy.org/interface/user", "comfyui-", `\bcomfyui-[0-9a-f]{40,}\b`),
	of("key of OpenAI, Anthropic, Stability, OpenRouter", gitleaks, "sk-", `\bsk-(?:[A-Za-z0-9]+-)*[A-Za-z0-9_\-]{20,}`),
	of("key of Stripe or ElevenLabs", gitleaks, "sk_ rk_", `\b(?:sk|rk)_(?:live_|test_)?[A-Za-z0-9]{24,}\b`),
	of("key of Replicate, Groq, xAI, RunPod, Fireworks", gitleaks, "r8_ gsk_ xai- rpa_ fw_ pplx-", `\b(?:r8_|gsk_|xai-|rpa_|fw_|pplx-)[A-Za-z0-9]{24,}\b`),
	of("AWS access key id", "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html", "akia asia abia acca aroa aida", `\b(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z0-9]{16}\b`),
	of("Google API key", "https://cloud.google.com/docs/authentication/api-keys", "aiza", `\bAIza[A-Za-z0-9_\-]{35}`),
	of("Google OAuth", gitleaks, "ya29. gocspx-", `\b(?:ya29\.[A-Za-z0-9_\-]{20,}|GOCSPX-[A-Za-z0-9_\-]{20,})`),
	of("Slack token", "https://docs.slack.dev/authentication/tokens", "xox xapp-", `\bx(?:ox[abeoprs]|app)-[A-Za-z0-9\-]{10,}`),
	of("web hook", "https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks, https://discord.com/developers/docs/resources/webhook", "hooks.slack.com webhooks",
		`(?i)(?:hooks\.slack\.com/services|discord(?:app)?\.com/api/webhooks)/(?P<secret>[A-Za-z0-9_/\-]+)`),
	of("Discord bot token", gitleaks, ".", `\b[MNO][A-Za-z0-9_\-]{23,27}\.[A-Za-z0-9_\-]{6}\.[A-Za-z0-9_\-]{27,40}`),
	of("Telegram bot token", "https://core.telegram.org/bots/api#authorizing-your-bot", ":aa", `\b[0-9]{8,10}:AA[A-Za-z0-9_\-]{32,34}`),
	of("npm token", gitleaks, "npm_", `\bnpm_[A-Za-z0-9]{36}\b`),
	of("PyPI token", "https://docs.github.com/en/code-security/secret-scanning/introduction/supported-secret-scanning-patterns", "pypi-", `\bpypi-[A-Za-z0-9_\-]{32,}`),
	of("Tailscale key", "https://tailscale.com/kb/1085/auth-keys", "tskey-", `\btskey-[a-z]+-[A-Za-z0-9\-]{16,}`),
	of("account key of Azure", gitleaks, "accountkey= sharedaccesskey=", `(?i)\b(?:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{20,}=*)`),
}

// schemes are the words before what a header of authorization carries.
var schemes = []string{"basic", "bearer", "digest", "token", "negotiate", "none", "null"}

// formHints are those of all forms.
var formHints = hintsOf(forms)

func hintsOf(forms []form) []string {
	var all []string
	for _, f := range forms {
		all = append(all, f.hints...)
	}
	return all
}

// secrets takes out what is known by its form.
func (r *Redactor) secrets(s string) string {
	low := strings.ToLower(s)
	for _, f := range forms {
		if !hasAny(low, f.hints) {
			continue
		}
		group := max(0, f.re.SubexpIndex("secret"))
		s = replace(f.re, s, func(m match) (string, bool) {
			whole, secret := m.group(0), m.group(group)
			// A user of git over ssh is no secret, and one without a password is none.
			if secret == "" || secret[0] == '<' || slices.Contains(schemes, strings.ToLower(secret)) || f.name == "password in an address" && secret == "git" {
				return "", false
			}
			from := m.loc[2*group] - m.loc[0]
			return whole[:from] + r.secret(secret) + whole[from+len(secret):], true
		})
	}
	return s
}
