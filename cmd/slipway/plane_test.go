package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-logr/logr"

	"slipway.dev/slipway/internal/plane"
)

func TestPlane_WritesItsWarningsToItsLogAndNoStep(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	logger := logr.FromSlogHandler(slog.NewTextHandler(&log, nil))
	tellLog(logger, plane.Step{Name: "api", Detail: "https://127.0.0.1:6443"})
	tellLog(logger, plane.Step{Name: "warning", Detail: "only 400 MiB are free"})
	if text := log.String(); !strings.Contains(text, "only 400 MiB are free") || strings.Contains(text, "6443") {
		t.Errorf("the log says: %s", text)
	}
}
