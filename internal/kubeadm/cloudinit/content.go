package cloudinit

import (
	"fmt"
	"strings"
	"text/template"

	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
)

// Values are what a file with contentFormat Template may refer to. The names are the contract; they may grow.
type Values struct {
	// ControlPlaneVersion is the version of the cluster's control plane, with its v: {{ .controlPlane.version }}. A
	// worker may run an older version than its control plane, and kubeadm has to match the latter.
	ControlPlaneVersion string
}

// maxRendered bounds a rendered file: what is longer than user data can be is a loop.
const maxRendered = 1 << 20

// Render returns the file with its template executed; a file that is no template comes back as it is. Unknown names
// are errors, and there are no functions beyond text/template's own.
func Render(f bootstrapv1.File, v Values) (bootstrapv1.File, error) {
	if f.ContentFormat != bootstrapv1.FileContentFormatTemplate {
		return f, nil
	}
	t, err := template.New("content").Option("missingkey=error").Parse(f.Content)
	if err != nil {
		return f, fmt.Errorf("file %s: parse template: %w", f.Path, err)
	}
	out := &limited{left: maxRendered}
	err = t.Execute(out, map[string]any{
		"controlPlane": map[string]any{"version": v.ControlPlaneVersion},
	})
	if err != nil {
		return f, fmt.Errorf("file %s: render template: %w", f.Path, err)
	}
	f.Content = out.text.String()
	f.ContentFormat = bootstrapv1.FileContentFormatRaw
	return f, nil
}

// limited is a text that may not outgrow its bound.
type limited struct {
	text strings.Builder
	left int
}

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, fmt.Errorf("the result is longer than %d bytes", maxRendered)
	}
	return l.text.Write(p)
}
