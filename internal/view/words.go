package view

import (
	"unicode"
	"unicode/utf8"
)

// lowerFirst makes a sentence a part of another one. Names of kinds and abbreviations keep their capital.
func lowerFirst(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	second, _ := utf8.DecodeRuneInString(text[size:])
	if size == 0 || unicode.IsUpper(second) || !unicode.IsUpper(first) {
		return text
	}
	for i, r := range text {
		if i > 0 && unicode.IsUpper(r) {
			return text
		}
		if r == ' ' {
			break
		}
	}
	for _, kind := range []string{"Machine", "Node", "Cluster"} {
		if len(text) >= len(kind) && text[:len(kind)] == kind {
			return text
		}
	}
	return string(unicode.ToLower(first)) + text[size:]
}

// upperFirst begins a sentence.
func upperFirst(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}
