package cli

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"
)

// canAsk tells whether somebody is there to answer.
func (a *app) canAsk() bool {
	file, ok := a.env.Stdin.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// irreversible is what wants more than --yes: what is to be done to which cluster, why, and by which command.
type irreversible struct{ what, cluster, because, command string }

// consentByName asks for the name of the cluster; scripts give it with --yes --confirm NAME.
func (a *app) consentByName(ctx context.Context, i irreversible, confirmed string) error {
	what, inScripts := "refused to "+i.what, a.try("%s --yes --confirm %s", i.command, i.cluster)
	switch {
	case a.flags.yes && confirmed == i.cluster:
		return nil
	case a.flags.yes && confirmed != "":
		return refused(what, fmt.Sprintf("--confirm names another: %q", confirmed), "--confirm "+confirmed, inScripts)
	case a.flags.yes:
		return refused(what, i.because, "--yes", inScripts)
	case !a.canAsk():
		return refused(what, "nobody is there to confirm it, since standard input is no terminal", "standard input", inScripts)
	}
	answer, err := a.ask(ctx, "Type the name of the cluster to go on: ")
	if err != nil {
		return err
	}
	if answer != i.cluster {
		return refused(what, "what was typed is not its name", fmt.Sprintf("%q", answer), a.try("%s", i.command))
	}
	return nil
}

// consent asks yes or no, with no as the default.
func (a *app) consent(ctx context.Context, what, command string) error {
	switch {
	case a.flags.yes:
		return nil
	case !a.canAsk():
		return refused("refused to "+what, "nobody is there to agree, since standard input is no terminal", "standard input", a.try("%s --yes", command))
	}
	answer, err := a.ask(ctx, "Do it? [y/N] ")
	if err != nil {
		return err
	}
	switch strings.ToLower(answer) {
	case "y", "yes":
		return nil
	}
	return refused("did not "+what, "you said no", "standard input", a.try("%s", command))
}

// ask prints a question and reads a line. Ctrl-C ends the question.
func (a *app) ask(ctx context.Context, question string) (string, error) {
	fmt.Fprint(a.talk, question)
	type line struct {
		text string
		err  error
	}
	// The read cannot be interrupted: on Ctrl-C its goroutine is left to the end of the process.
	read := make(chan line, 1)
	go func() {
		text, err := bufio.NewReader(a.env.Stdin).ReadString('\n')
		read <- line{text, err}
	}()
	select {
	case l := <-read:
		if l.err != nil && l.text == "" {
			return "", nil // The end of the input is an empty answer, which is no consent.
		}
		return strings.TrimSpace(l.text), nil
	case <-ctx.Done():
		fmt.Fprintln(a.talk)
		a.say("Nothing was changed.")
		return "", interrupted()
	}
}
