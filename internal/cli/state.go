package cli

import (
	"slipway.dev/slipway/internal/terminal"
	"slipway.dev/slipway/internal/view"
)

// symbolOf is the symbol that repeats a state's word.
func symbolOf(s view.State) string {
	switch s {
	case view.Ready:
		return "✔"
	case view.Working:
		return "◐"
	case view.Waiting:
		return "◌"
	case view.Stuck:
		return "▲"
	case view.Failed:
		return "✗"
	case view.Paused:
		return "‖"
	case view.Deleting:
		return "↓"
	case view.Unknown:
		return "?"
	default:
		return "?"
	}
}

// styleOf is the colour that repeats a state's word.
func styleOf(s view.State) terminal.Style {
	switch s {
	case view.Ready:
		return terminal.Green
	case view.Working, view.Waiting:
		return terminal.Yellow
	case view.Stuck:
		return terminal.BrightYellow
	case view.Failed:
		return terminal.Red
	case view.Paused:
		return terminal.Blue
	case view.Deleting:
		return terminal.DimRed
	case view.Unknown:
		return terminal.Magenta
	default:
		return terminal.Plain
	}
}
