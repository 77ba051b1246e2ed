package cloudinit

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// cloud-init renders user data as a Jinja template when its first line says so. Manifests count on it, commonly for
// {{ ds.meta_data.local_hostname }} as a node's name. But then the whole text is a template, and characters that
// mean nothing to their author, as in ${#array[@]} or docker's --format '{{json .}}', ruin all of it. So the writer
// takes the text apart: what names cloud-init's instance data is a template, everything else is text and is escaped.
// The reader, like cloud-init, takes every mark in a template for Jinja, and renders the little that is needed.

type segmentKind int

const (
	plain      segmentKind = iota
	expression             // {{ … }}
	statement              // {% … %}
	comment                // {# … #}
	verbatim               // between {% raw %} and {% endraw %}
	stray                  // an opening mark that opens nothing
)

type segment struct {
	kind segmentKind
	// text is the source; inner is what stands between the marks.
	text, inner string
}

// dialect says which marks count.
type dialect struct {
	expression func(inner string) bool
	statement  func(inner string) bool
	comments   bool
}

var (
	rawOpen  = regexp.MustCompile(`^\{%\s*raw\s*%\}`)
	rawClose = regexp.MustCompile(`\{%\s*endraw\s*%\}`)

	keyword = regexp.MustCompile(`^[-+]?\s*(?:if|elif|else|endif|for|endfor|set|endset|raw|endraw|macro|endmacro|filter|endfilter|with|endwith)\b`)
	quoted  = regexp.MustCompile(`^(?:'([^']*)'|"([^"]*)")$`)
	dotted  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+|\[(?:'[^']*'|"[^"]*")\])*$`)
	index   = regexp.MustCompile(`\[(?:'([^']*)'|"([^"]*)")\]`)
	// head is a variable and what may follow it in an expression.
	head = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)(?:\.[A-Za-z0-9_]+|\[(?:'[^']*'|"[^"]*")\])*\s*(?:$|[|~+*/%<>=!,(-]|(?:if|or|and|is|in|not)\b)`)
)

// instanceData are the names that cloud-init offers to a template.
var instanceData = []string{
	"ds", "v1", "merged_cfg", "merged_system_cfg", "sys_info", "system_info", "userdata", "vendordata",
	"availability_zone", "cloud_id", "cloud_name", "distro", "distro_release", "distro_version", "instance_id",
	"kernel_release", "local_hostname", "machine", "platform", "public_ssh_keys", "python_version", "region",
	"subplatform", "system_platform", "variant",
}

// everything is Jinja as cloud-init reads it.
func everything() dialect {
	all := func(string) bool { return true }
	return dialect{expression: all, statement: all, comments: true}
}

// written is what the author of a text meant as Jinja. Where there are statements they may have named variables.
func written(text string) dialect {
	isStatement := func(inner string) bool { return keyword.MatchString(inner) && !strings.Contains(inner, "\n") }
	d := dialect{statement: isStatement, expression: func(string) bool { return false }}
	named := slices.ContainsFunc(segments(text, d), func(s segment) bool { return s.kind == statement })
	d.expression = func(inner string) bool {
		inner = strings.Trim(inner, "-+ \t")
		if quoted.MatchString(inner) {
			// Only a mark is worth quoting: {{ '{{' }}.
			return strings.ContainsAny(inner, "{}")
		}
		m := head.FindStringSubmatch(inner)
		return m != nil && !strings.Contains(inner, "\n") && (named || slices.Contains(instanceData, m[1]))
	}
	return d
}

// segments takes a text apart. Joined, the segments' texts give the input again.
func segments(text string, d dialect) []segment {
	var out []segment
	for text != "" {
		i := strings.IndexByte(text, '{')
		if i < 0 {
			i = len(text)
		}
		if i > 0 {
			out = append(out, segment{kind: plain, text: text[:i], inner: text[:i]})
			text = text[i:]
			continue
		}
		s := d.opened(text)
		out = append(out, s)
		text = text[len(s.text):]
	}
	return out
}

// opened reads the segment that begins with the brace at the start of text.
func (d dialect) opened(text string) segment {
	if m := rawOpen.FindString(text); m != "" {
		if end := rawClose.FindStringIndex(text); end != nil {
			return segment{kind: verbatim, text: text[:end[1]], inner: text[len(m):end[0]]}
		}
	}
	for _, mark := range []struct {
		kind        segmentKind
		open, close string
		counts      func(string) bool
	}{
		{expression, "{{", "}}", d.expression},
		{statement, "{%", "%}", d.statement},
		{comment, "{#", "#}", func(string) bool { return d.comments }},
	} {
		if !strings.HasPrefix(text, mark.open) {
			continue
		}
		if end := strings.Index(text[2:], mark.close); end >= 0 && mark.counts(text[2:2+end]) {
			return segment{kind: mark.kind, text: text[:end+4], inner: text[2 : 2+end]}
		}
		return segment{kind: stray, text: mark.open, inner: mark.open}
	}
	return segment{kind: plain, text: text[:1], inner: text[:1]}
}

// hasTemplate tells whether a text holds an expression or statement that cloud-init has to render.
func hasTemplate(text string) bool {
	return slices.ContainsFunc(segments(text, written(text)), func(s segment) bool {
		return s.kind == expression || s.kind == statement || s.kind == verbatim
	})
}

// withoutDoubleQuotes writes ds["meta_data"] as ds['meta_data'], which is the same to Jinja: where YAML puts the text in
// double quotes, the escapes before those of the expression would hide it from Jinja. What has both kinds of quotes, or
// escapes of its own, is left alone.
func withoutDoubleQuotes(text string) string {
	if !strings.Contains(text, `"`) || !hasTemplate(text) {
		return text
	}
	var out strings.Builder
	for _, s := range segments(text, written(text)) {
		if (s.kind == expression || s.kind == statement) && !strings.ContainsAny(s.text, `'\`) {
			s.text = strings.ReplaceAll(s.text, `"`, "'")
		}
		out.WriteString(s.text)
	}
	return out.String()
}

// escapeNonTemplates makes a template of a text in which only what its author meant as Jinja is rendered.
func escapeNonTemplates(text string) string {
	var out strings.Builder
	for _, s := range segments(text, written(text)) {
		if s.kind == stray {
			out.WriteString("{{ '" + s.text + "' }}")
		} else {
			out.WriteString(s.text)
		}
	}
	return out.String()
}

// Variables are cloud-init's instance data by dotted path, such as "ds.meta_data.local_hostname" or "v1.instance_id".
type Variables map[string]string

// missing is what cloud-init puts in the place of a variable that it does not know.
const missing = "CI_MISSING_JINJA_VAR/"

// renderTemplate renders quoted strings, variables, comments and raw blocks. Everything else of Jinja is refused.
func renderTemplate(text string, vars Variables) (string, error) {
	var out strings.Builder
	after := plain
	for _, s := range segments(text, everything()) {
		switch s.kind {
		case plain:
			if after == verbatim {
				// cloud-init sets trim_blocks: the line break after a block belongs to the block.
				s.inner = strings.TrimPrefix(s.inner, "\n")
			}
			out.WriteString(s.inner)
		case verbatim:
			out.WriteString(s.inner)
		case expression:
			value, err := evaluate(s.inner, vars)
			if err != nil {
				return "", err
			}
			out.WriteString(value)
		case comment:
		case statement:
			return "", fmt.Errorf("template: statement %s is not supported", s.text)
		case stray:
			return "", fmt.Errorf("template: %s is not closed", s.text)
		}
		after = s.kind
	}
	return out.String(), nil
}

func evaluate(inner string, vars Variables) (string, error) {
	inner = strings.TrimSpace(inner)
	if m := quoted.FindStringSubmatch(inner); m != nil {
		return m[1] + m[2], nil
	}
	if !dotted.MatchString(inner) {
		return "", fmt.Errorf("template: expression {{ %s }} is not supported: only variables and quoted strings are", inner)
	}
	path := index.ReplaceAllString(inner, ".$1$2")
	if value, ok := vars[path]; ok {
		return value, nil
	}
	return missing + path, nil
}
