package apply

import (
	"bytes"
	"fmt"
)

// yamlSafe writes the characters of a JSON text that YAML refuses or folds (DEL, the C1 controls, NEL among them, the byte
// order mark and the noncharacters) as escapes. The API server reads what is applied as YAML: without this a user's text
// with one of them could be stored by an ordinary write, but never handed on, or would lose its NEL without a word.
func yamlSafe(body []byte) []byte {
	if bytes.IndexFunc(body, unsafeInYAML) < 0 {
		return body
	}
	var out bytes.Buffer
	for _, r := range string(body) {
		if unsafeInYAML(r) {
			// They can stand in strings only, where JSON and YAML know this escape.
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.Bytes()
}

func unsafeInYAML(r rune) bool {
	return r >= 0x7f && r <= 0x9f || r == 0xfeff || r == 0xfffe || r == 0xffff
}
