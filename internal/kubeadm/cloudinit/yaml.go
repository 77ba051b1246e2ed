package cloudinit

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Nodes are built instead of structs marshalled, because the style of every string has to be chosen here: cloud-init
// reads with a YAML 1.1 parser, which takes yes, 0644, 1:30 and = for something other than strings unless quoted.

// textNode returns a string as a literal block where that is exact and readable, in double quotes otherwise. A template
// with quotes of its own becomes a block too: it is rendered before YAML is read, and would meet our escapes.
func textNode(s string) *yaml.Node {
	style := yaml.DoubleQuotedStyle
	if literal(s) && (strings.Contains(s, "\n") || strings.ContainsAny(s, `"\`) && hasTemplate(s)) {
		style = yaml.LiteralStyle
	} else {
		s = withoutDoubleQuotes(s)
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: style}
}

// literal tells whether every reader agrees on the string as a literal block: plain characters, and lines of which none
// begins or ends with what an indentation or chomping rule could take away.
func literal(s string) bool {
	if s == "" || strings.HasSuffix(s, "\n\n") || strings.ContainsAny(s[:1], " \t\n") {
		return false
	}
	for line := range strings.SplitSeq(s, "\n") {
		if strings.HasSuffix(line, " ") || strings.HasPrefix(line, "\t") {
			return false
		}
	}
	return !strings.ContainsFunc(s, special)
}

// special tells whether a character needs an escape in somebody's YAML.
func special(r rune) bool {
	switch r {
	case '\n', '\t':
		return false
	case '\ufeff', '\u2028', '\u2029':
		return true
	default:
		return r > 0xffff || !unicode.IsPrint(r)
	}
}

// isText tells whether YAML can carry the string at all; bytes that are no UTF-8 are sent as base64.
func isText(s string) bool { return utf8.ValidString(s) }

func boolNode(b bool) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(b)}
}

func intNode(i int32) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(int64(i), 10)}
}

func listNode(items ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: items}
}

func textsNode(items []string) *yaml.Node {
	n := listNode()
	for _, s := range items {
		n.Content = append(n.Content, textNode(s))
	}
	return n
}

// mapping builds a YAML mapping in the order in which keys are set.
type mapping struct{ node yaml.Node }

func newMapping() *mapping {
	return &mapping{node: yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}}
}

func (m *mapping) set(key string, value *yaml.Node) {
	m.node.Content = append(m.node.Content, keyNode(key), value)
}

// keyNode leaves the keys that cloud-init defines bare, and quotes those that users choose (device names).
func keyNode(key string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}
	if strings.ContainsFunc(key, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

func (m *mapping) text(key, value string) {
	if value != "" {
		m.set(key, textNode(value))
	}
}

func (m *mapping) texts(key string, values []string) {
	if len(values) > 0 {
		m.set(key, textsNode(values))
	}
}

func (m *mapping) bool(key string, value *bool) {
	if value != nil {
		m.set(key, boolNode(*value))
	}
}

func (m *mapping) list(key string, items []*yaml.Node) {
	if len(items) > 0 {
		m.set(key, listNode(items...))
	}
}

func encode(root *mapping) ([]byte, error) {
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(&root.node); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	if err := e.Close(); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return out.Bytes(), nil
}

func toBase64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
