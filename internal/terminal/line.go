package terminal

import (
	"strings"
	"unicode/utf8"
)

// Line is a line of text in pieces, so that it can be cut to a width before it is painted.
type Line []Cell

// Add appends a piece.
func (l Line) Add(style Style, text string) Line { return append(l, Cell{Text: text, Style: style}) }

// Render returns the line for a stream, cut to a width in columns; width 0 is no bound.
func (s Stream) Render(l Line, width int) string {
	var b strings.Builder
	used := 0
	if n := len(l) - 1; width > 0 && n > 0 && l[n].Keep {
		last := s.inLine(l[n].Text)
		room := width - utf8.RuneCountInString(last)
		return s.Render(l[:n], max(room, 1)) + s.Paint(l[n].Style, last)
	}
	for i, cell := range l {
		text := s.inLine(cell.Text)
		if i == len(l)-1 {
			text = strings.TrimRight(text, " ")
		}
		if width > 0 {
			if used >= width {
				break
			}
			text = s.Fit(text, width-used)
		}
		used += utf8.RuneCountInString(text)
		b.WriteString(s.Paint(cell.Style, text))
	}
	return b.String()
}
