package terminal

import (
	"strings"
	"unicode/utf8"
)

// Cell is one field of a table.
type Cell struct {
	Text  string
	Style Style
}

// Table is a table without borders: NAME first, AGE last, then the message if there is one.
type Table struct {
	Header []string
	Rows   [][]Cell
	// NoHeader leaves the header out.
	NoHeader bool
	// Message says that the last column is free text, which is cut to the width of a terminal.
	Message bool
}

const columnGap = 3

// Write prints the table.
func (t Table) Write(s Stream) error {
	widths := t.widths(s)
	var b strings.Builder
	if !t.NoHeader {
		header := make([]Cell, len(t.Header))
		for i, text := range t.Header {
			header[i] = Cell{Text: text}
		}
		t.line(&b, s, header, widths)
	}
	for _, row := range t.Rows {
		t.line(&b, s, row, widths)
	}
	_, err := s.Write([]byte(b.String()))
	return err
}

func (t Table) widths(s Stream) []int {
	widths := make([]int, len(t.Header))
	measure := func(i int, text string) { widths[i] = max(widths[i], utf8.RuneCountInString(s.Text(text))) }
	for i, text := range t.Header {
		if !t.NoHeader {
			measure(i, text)
		}
		for _, row := range t.Rows {
			measure(i, row[i].Text)
		}
	}
	return widths
}

func (t Table) line(b *strings.Builder, s Stream, cells []Cell, widths []int) {
	var line strings.Builder
	used := 0
	for i, cell := range cells {
		text := s.Text(cell.Text)
		if i == len(cells)-1 {
			if t.Message && s.Columns() > 0 {
				// A message without room is left out rather than wrapped into the next row.
				if text = s.Fit(text, max(s.Columns()-used, 1)); s.Columns()-used < minMessage {
					text = ""
				}
			}
			line.WriteString(s.Paint(cell.Style, text))
			break
		}
		line.WriteString(s.Paint(cell.Style, text))
		gap := widths[i] - utf8.RuneCountInString(text) + columnGap
		line.WriteString(strings.Repeat(" ", gap))
		used += widths[i] + columnGap
	}
	b.WriteString(strings.TrimRight(line.String(), " "))
	b.WriteByte('\n')
}

// minMessage is the room below which a message says nothing.
const minMessage = 8
