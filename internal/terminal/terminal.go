// Package terminal decides how a stream is written to: with colour or without, with which symbols, and how wide.
package terminal

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// ColorMode is the value of --color.
type ColorMode string

// The colour modes.
const (
	ColorAuto   ColorMode = "auto"
	ColorAlways ColorMode = "always"
	ColorNever  ColorMode = "never"
)

// Facts are what the decisions about one stream rest on.
type Facts struct {
	// TTY says that the stream is a terminal.
	TTY bool
	// Width is the terminal's width in columns; 0 when the stream is none, or its width is not known.
	Width int
	// Color is what the user asked for.
	Color ColorMode
	// Getenv looks up an environment variable.
	Getenv func(string) string
}

// Stream is one output stream with its abilities. The zero value without a writer is not usable.
type Stream struct {
	io.Writer
	// TTY says that a person may be looking, and that lines can be redrawn.
	TTY bool
	// Color says that colour may be used.
	Color bool
	// UTF8 says that symbols outside ASCII may be used.
	UTF8 bool
	// Width bounds a line; 0 is no bound.
	Width int

	size func() (columns, rows int)
}

// New looks at a writer and decides how to write to it.
func New(w io.Writer, color ColorMode, getenv func(string) string) Stream {
	facts := Facts{Color: color, Getenv: getenv}
	file, ok := w.(*os.File)
	if ok && term.IsTerminal(int(file.Fd())) {
		facts.TTY = true
		facts.Width, _ = sizeOf(file)
	}
	s := Decide(w, facts)
	if facts.TTY {
		s.size = func() (int, int) { return sizeOf(file) }
	}
	return s
}

// Decide returns the stream for the given facts.
//
// Colour: --color decides, then NO_COLOR, then FORCE_COLOR or CLICOLOR_FORCE, then whether the stream is a terminal that is
// not dumb. Symbols: the locale decides; without any locale variable, as in most containers, UTF-8 is taken for granted.
func Decide(w io.Writer, f Facts) Stream {
	dumb := f.Getenv("TERM") == "dumb"
	s := Stream{Writer: w, TTY: f.TTY && !dumb, Width: f.Width, UTF8: utf8Locale(f.Getenv)}
	switch {
	case f.Color == ColorAlways:
		s.Color = true
	case f.Color == ColorNever, f.Getenv("NO_COLOR") != "":
	case f.Getenv("FORCE_COLOR") != "", f.Getenv("CLICOLOR_FORCE") != "":
		s.Color = true
	default:
		s.Color = s.TTY
	}
	return s
}

// Columns is the width at this moment, so that a redraw follows a resize; 0 is no bound.
func (s Stream) Columns() int {
	if s.size == nil {
		return s.Width
	}
	columns, _ := s.size()
	return columns
}

// Rows is the terminal's height at this moment; 0 when it is not known.
func (s Stream) Rows() int {
	if s.size == nil {
		return 0
	}
	_, rows := s.size()
	return rows
}

func sizeOf(file *os.File) (columns, rows int) {
	columns, rows, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, rows
}

func utf8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := getenv(name); value != "" {
			folded := strings.ToLower(value)
			return strings.Contains(folded, "utf-8") || strings.Contains(folded, "utf8")
		}
	}
	return true
}
