package manifests_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// This reader shares nothing with the product's. It takes cloud-config as cloud-init does: Jinja first, then YAML 1.1,
// where a scalar without quotes may be a truth value, a number, a time or nothing at all.

// wordings are the plain scalars that YAML 1.1 takes for something other than a string.
var wordings = map[string]*regexp.Regexp{
	"truth": regexp.MustCompile(`^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF|y|Y|n|N)$`),
	"null":  regexp.MustCompile(`^(?:~|null|Null|NULL|)$`),
	"whole": regexp.MustCompile(`^[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*(?::[0-5]?[0-9])*)$`),
	"broken": regexp.MustCompile(`^[-+]?(?:\.(?:inf|Inf|INF|nan|NaN|NAN)|[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|` +
		`(?:[0-9][0-9_]*)?\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[0-9][0-9_]*[eE][-+]?[0-9]+)$`),
	"time":  regexp.MustCompile(`^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt \t].*)?$`),
	"value": regexp.MustCompile(`^(?:=|<<)$`),
}

// unreadable is what a YAML 1.1 stream must not hold as it is.
var unreadable = regexp.MustCompile(`[^\t\n\r\x20-\x7e\x{85}\x{a0}-\x{d7ff}\x{e000}-\x{fffd}\x{10000}-\x{10ffff}]`)

// quotedMark and hostname are the only Jinja in the samples and in what comes of them.
var (
	quotedMark = regexp.MustCompile(`\{\{ '([^']*)' \}\}`)
	hostname   = regexp.MustCompile(`\{\{ ds\.meta_data\.local_hostname \}\}`)
)

const host = "host-of-the-test"

// cloudConfig parses cloud-config into maps, lists, strings, truth values and numbers.
func cloudConfig(data []byte) (map[string]any, error) {
	if template, isOne := bytes.CutPrefix(data, []byte("## template: jinja\n")); isOne {
		data = []byte(rendered(string(template)))
	}
	if !bytes.HasPrefix(data, []byte("#cloud-config\n")) {
		return nil, fmt.Errorf("it begins with %.40q", data)
	}
	if at := unreadable.FindIndex(data); at != nil {
		return nil, fmt.Errorf("YAML 1.1 refuses the character %q", data[at[0]:at[1]])
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	value, err := valueOf(doc.Content[0])
	if err != nil {
		return nil, err
	}
	return value.(map[string]any), nil
}

// rendered is what Jinja makes of the text, where each mark that is not put in quotes has to be the host's name.
func rendered(text string) string {
	const guard = "\x00"
	text = quotedMark.ReplaceAllStringFunc(text, func(m string) string {
		return strings.Join(strings.Split(quotedMark.FindStringSubmatch(m)[1], ""), guard)
	})
	text = hostname.ReplaceAllString(text, host)
	for _, mark := range []string{"{{", "{%", "{#"} {
		text = strings.ReplaceAll(text, mark, "<Jinja takes this: "+mark+">")
	}
	return strings.ReplaceAll(text, guard, "")
}

func valueOf(n *yaml.Node) (any, error) {
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			key, err := valueOf(n.Content[i])
			if err != nil {
				return nil, err
			}
			if m[key.(string)], err = valueOf(n.Content[i+1]); err != nil {
				return nil, err
			}
		}
		return m, nil
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			value, err := valueOf(item)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	case yaml.ScalarNode:
		return scalar(n)
	case yaml.DocumentNode, yaml.AliasNode:
	}
	return nil, fmt.Errorf("line %d: neither a mapping, a list nor a scalar", n.Line)
}

func scalar(n *yaml.Node) (any, error) {
	if n.Style&yaml.TaggedStyle != 0 {
		return nil, fmt.Errorf("line %d: the tag %s", n.Line, n.Tag)
	}
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return n.Value, nil
	}
	switch n.Value {
	case "true", "false":
		return n.Value == "true", nil
	}
	for what, pattern := range wordings {
		if !pattern.MatchString(n.Value) {
			continue
		}
		if number, err := strconv.Atoi(n.Value); what == "whole" && err == nil && strconv.Itoa(number) == n.Value {
			return number, nil
		}
		return nil, fmt.Errorf("line %d: %s without quotes is a %s in YAML 1.1", n.Line, n.Value, what)
	}
	return n.Value, nil
}
