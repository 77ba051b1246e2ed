package terminal

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Style is one of the sixteen-colour palette's styles, so that the user's theme decides how it looks.
type Style string

// The styles. Colour repeats a word, it never replaces it.
const (
	Plain        Style = ""
	Bold         Style = "1"
	Dim          Style = "2"
	Red          Style = "31"
	Green        Style = "32"
	Yellow       Style = "33"
	Blue         Style = "34"
	Magenta      Style = "35"
	BrightYellow Style = "1;93"
	DimRed       Style = "2;31"
)

// Paint returns the text in a style, or as it is when the stream takes no colour.
func (s Stream) Paint(style Style, text string) string {
	if !s.Color || style == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}

// Text returns the text with what the stream cannot show replaced: the few symbols that we print outside ASCII, and
// control characters, by which whoever wrote a message could command the terminal. Line ends and tabs stay.
func (s Stream) Text(text string) string {
	if strings.ContainsFunc(text, commands) {
		text = strings.Map(func(r rune) rune {
			if commands(r) {
				return utf8.RuneError
			}
			return r
		}, text)
	}
	if s.UTF8 {
		return text
	}
	return ascii.Replace(text)
}

// commands tells whether a terminal acts on a character instead of showing it.
func commands(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

// inLine is Text for what must stay on its line.
func (s Stream) inLine(text string) string {
	return lineEnds.Replace(s.Text(text))
}

//nolint:gochecknoglobals // a constant that Go cannot spell as one
var lineEnds = strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ")

// ascii stands for the symbols, tree lines and punctuation that we print. What users wrote is left alone.
//
//nolint:gochecknoglobals // a constant that Go cannot spell as one
var ascii = strings.NewReplacer(
	"✔", "ok", "◐", "..", "◌", "--", "▲", "!!", "✗", "xx", "‖", "||", "↓", "dd",
	"├─", "|-", "└─", "`-", "│", "|", "→", "->", "←", "<-", "…", "...", "–", "-",
)

// Fit cuts a line to a width in columns and marks the cut. Width 0 is no bound. The line must hold no colour.
func (s Stream) Fit(line string, width int) string {
	if width <= 0 || utf8.RuneCountInString(line) <= width {
		return line
	}
	mark := s.Text("…")
	keep := max(width-utf8.RuneCountInString(mark), 0)
	return string([]rune(line)[:keep]) + mark
}

// Pad fills text with blanks up to a width in columns.
func Pad(text string, width int) string {
	if n := width - utf8.RuneCountInString(text); n > 0 {
		return text + strings.Repeat(" ", n)
	}
	return text
}
