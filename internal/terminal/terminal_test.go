package terminal_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"slipway.dev/slipway/internal/terminal"
)

func TestDecide_FollowsFlagThenEnvironmentThenTerminal(t *testing.T) {
	t.Parallel()
	rows := []struct {
		reason string
		tty    bool
		color  terminal.ColorMode
		env    map[string]string
		want   bool
	}{
		{reason: "a terminal has colour", tty: true, want: true},
		{reason: "a pipe has none"},
		{reason: "NO_COLOR turns it off", tty: true, env: map[string]string{"NO_COLOR": "1"}},
		{reason: "an empty NO_COLOR says nothing", tty: true, env: map[string]string{"NO_COLOR": ""}, want: true},
		{reason: "FORCE_COLOR turns it on", env: map[string]string{"FORCE_COLOR": "1"}, want: true},
		{reason: "CLICOLOR_FORCE turns it on", env: map[string]string{"CLICOLOR_FORCE": "1"}, want: true},
		{reason: "NO_COLOR wins over FORCE_COLOR", tty: true, env: map[string]string{"NO_COLOR": "1", "FORCE_COLOR": "1"}},
		{reason: "the flag wins over NO_COLOR", color: terminal.ColorAlways, env: map[string]string{"NO_COLOR": "1"}, want: true},
		{reason: "the flag wins over FORCE_COLOR", tty: true, color: terminal.ColorNever, env: map[string]string{"FORCE_COLOR": "1"}},
		{reason: "a dumb terminal has none", tty: true, env: map[string]string{"TERM": "dumb"}},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			t.Parallel()
			s := terminal.Decide(&bytes.Buffer{}, terminal.Facts{TTY: r.tty, Color: r.color, Getenv: env(r.env)})
			if s.Color != r.want {
				t.Errorf("colour: %v, want %v", s.Color, r.want)
			}
		})
	}
}

func TestDecide_BelievesTheLocaleAboutUTF8(t *testing.T) {
	t.Parallel()
	rows := []struct {
		env  map[string]string
		want bool
	}{
		{env: nil, want: true},
		{env: map[string]string{"LANG": "en_GB.UTF-8"}, want: true},
		{env: map[string]string{"LANG": "C.utf8"}, want: true},
		{env: map[string]string{"LANG": "C"}},
		{env: map[string]string{"LANG": "C.UTF-8", "LC_ALL": "POSIX"}},
		{env: map[string]string{"LANG": "C", "LC_CTYPE": "C.UTF-8"}, want: true},
	}
	for _, r := range rows {
		if s := terminal.Decide(&bytes.Buffer{}, terminal.Facts{Getenv: env(r.env)}); s.UTF8 != r.want {
			t.Errorf("%v: UTF-8 %v, want %v", r.env, s.UTF8, r.want)
		}
	}
}

func TestNew_TakesAFileForNoTerminal(t *testing.T) {
	t.Parallel()
	if s := terminal.New(&bytes.Buffer{}, terminal.ColorAuto, env(nil)); s.TTY || s.Color || s.Columns() != 0 || s.Rows() != 0 {
		t.Errorf("a buffer is taken for a terminal: %+v", s)
	}
}

func TestRender_CutsBeforePaintingAndKeepsTheLastPiece(t *testing.T) {
	t.Parallel()
	s := terminal.Decide(&bytes.Buffer{}, terminal.Facts{TTY: true, Getenv: env(nil)})
	line := terminal.Line{}.Add(terminal.Red, "name").Add(terminal.Plain, " a long message")
	if got, want := s.Render(line, 10), "\x1b[31mname\x1b[0m a lo…"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	line = append(line, terminal.Cell{Text: " <-", Keep: true})
	if got, want := s.Render(line, 12), "\x1b[31mname\x1b[0m a l… <-"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStream_LetsNobodyCommandTheTerminal(t *testing.T) {
	t.Parallel()
	s := terminal.Decide(&bytes.Buffer{}, terminal.Facts{Getenv: env(nil)})
	const hostile = "\x1b]0;owned\x07\u009b2J\x7fend"
	if got := s.Text(hostile); strings.ContainsFunc(got, unicode.IsControl) || !strings.HasSuffix(got, "end") {
		t.Errorf("text: %q", got)
	}
	if got := s.Render(terminal.Line{}.Add(terminal.Plain, "a\nb\t"+hostile), 0); strings.ContainsFunc(got, unicode.IsControl) || !strings.HasPrefix(got, "a b ") {
		t.Errorf("line: %q", got)
	}
	var out bytes.Buffer
	s = terminal.Decide(&out, terminal.Facts{Getenv: env(nil)})
	if err := (terminal.Table{Header: []string{"NAME"}, Rows: [][]terminal.Cell{{{Text: "x\ny" + hostile}}}}).Write(s); err != nil {
		t.Fatal(err)
	}
	if got := strings.ReplaceAll(out.String(), "\n", ""); strings.ContainsFunc(got, unicode.IsControl) || strings.Count(out.String(), "\n") != 2 {
		t.Errorf("table: %q", out.String())
	}
}

func TestTable_CutsTheMessageButNeverAName(t *testing.T) {
	t.Parallel()
	table := terminal.Table{
		Header: []string{"NAME", "MESSAGE"}, Message: true,
		Rows: [][]terminal.Cell{{{Text: "a-very-long-name-of-a-cluster"}, {Text: "something happened to it"}}},
	}
	for width, want := range map[int]string{0: "something happened to it", 50: "something happene…", 30: ""} {
		var out bytes.Buffer
		s := terminal.Decide(&out, terminal.Facts{Width: width, Getenv: env(nil)})
		if err := table.Write(s); err != nil {
			t.Fatal(err)
		}
		row := strings.Split(out.String(), "\n")[1]
		name, message, _ := strings.Cut(row, "   ")
		if name != "a-very-long-name-of-a-cluster" || message != want {
			t.Errorf("width %d: %q and %q, want %q", width, name, message, want)
		}
	}
}

func env(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}
