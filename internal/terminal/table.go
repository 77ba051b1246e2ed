package terminal

import (
	"strings"
	"unicode/utf8"
)

// Cell is one field of a table.
type Cell struct {
	Text  string
	Style Style
	// Keep says that, at the end of a line, it is shown however long the text before it is.
	Keep bool
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
func (t Table) Write(s Stream) error { return t.write(s, 0) }

// WriteCut prints the table, each line cut to the width of a terminal but for the first column, which is the name.
func (t Table) WriteCut(s Stream) error {
	width := s.Columns()
	if width > 0 {
		for _, row := range t.Rows {
			width = max(width, utf8.RuneCountInString(row[0].Text))
		}
	}
	return t.write(s, width)
}

func (t Table) write(s Stream, width int) error {
	var b strings.Builder
	for _, line := range t.Lines(s) {
		b.WriteString(strings.TrimRight(s.Render(line, width), " "))
		b.WriteByte('\n')
	}
	_, err := s.Write([]byte(b.String()))
	return err
}

// Lines returns the lines of the table, with a message already cut to the stream's width.
func (t Table) Lines(s Stream) []Line {
	widths := t.widths(s)
	var lines []Line
	if !t.NoHeader {
		header := make([]Cell, len(t.Header))
		for i, text := range t.Header {
			header[i] = Cell{Text: text}
		}
		lines = append(lines, t.line(s, header, widths))
	}
	for _, row := range t.Rows {
		lines = append(lines, t.line(s, row, widths))
	}
	return lines
}

func (t Table) widths(s Stream) []int {
	widths := make([]int, len(t.Header))
	measure := func(i int, text string) { widths[i] = max(widths[i], utf8.RuneCountInString(s.inLine(text))) }
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

func (t Table) line(s Stream, cells []Cell, widths []int) Line {
	var line Line
	used := 0
	for i, cell := range cells {
		text := s.inLine(cell.Text)
		if i == len(cells)-1 {
			if t.Message {
				text = fitMessage(s, text, used)
			}
			return line.Add(cell.Style, text)
		}
		line = line.Add(cell.Style, text)
		line = line.Add(Plain, strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)+columnGap))
		used += widths[i] + columnGap
	}
	return line
}

// fitMessage cuts the message column, never a name. A message without room is left out rather than wrapped.
func fitMessage(s Stream, text string, used int) string {
	width := s.Columns()
	switch {
	case width <= 0:
		return text
	case width-used < minMessage:
		return ""
	default:
		return s.Fit(text, width-used)
	}
}

// minMessage is the room below which a message says nothing.
const minMessage = 8
