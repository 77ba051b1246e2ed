package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"gopkg.in/natefinch/lumberjack.v2"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"slipway.dev/slipway/internal/cli"
	"slipway.dev/slipway/internal/manager"
	"slipway.dev/slipway/internal/plane"
	"slipway.dev/slipway/internal/statedir"
	"slipway.dev/slipway/internal/supervisor"
)

// runPlane is the plane's process: the child of `slipway up`.
func runPlane(ctx context.Context, opts cli.PlaneOptions) error {
	go tendMemory(ctx)
	log := logWriter(opts.StateDir)
	logger := logr.FromSlogHandler(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.Level(-opts.Verbosity)}))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger.WithName("apiserver").V(1))
	report := supervisor.NewReporter()
	return plane.Run(ctx, plane.Options{
		StateDir: opts.StateDir, Listen: opts.Listen, Port: opts.Port, Version: opts.Version, From: opts.From,
		Log: log, Metrics: metricsHandler(),
		Report: func(s plane.Step) {
			tellLog(logger, s)
			if err := renewUser(opts, s); err != nil {
				tellLog(logger, plane.Step{Name: "warning", Detail: "the credentials were renewed, but not in the user's kubeconfig: " + err.Error()})
			}
			report.Step(supervisor.Step(s))
		},
		Start: func(ctx context.Context, api plane.API) (<-chan error, error) {
			return manager.Start(ctx, api.Config, manager.Options{
				WebhookHost: api.WebhookHost, WebhookPort: api.WebhookPort, CertDir: api.CertDir, CABundle: api.CABundle,
				StateDir: api.StateDir, WithoutControllers: !opts.Controllers, WriteTrace: opts.WriteTrace,
				Report: func(name, detail string, since time.Time) {
					report.Step(supervisor.Step{Name: name, Detail: detail, Took: time.Since(since)})
				},
			})
		},
	})
}

// tellLog writes the plane's warnings to its log too: after --detach, nobody reads what it reports.
func tellLog(logger logr.Logger, s plane.Step) {
	if s.Name == "warning" {
		logger.Info("warning: " + s.Detail)
	}
}

// renewUser passes renewed credentials on.
func renewUser(opts cli.PlaneOptions, s plane.Step) error {
	if s.Name != "credentials" || opts.Renewed == nil {
		return nil
	}
	return opts.Renewed()
}

// metricsHandler serves the API server's metrics and the controllers' together.
func metricsHandler() http.Handler {
	return promhttp.HandlerFor(manager.Gather(legacyregistry.DefaultGatherer, metrics.Registry), promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// Limits of the plane's log.
const (
	logMegabytes = 20
	logFiles     = 3
)

// logWriter is the plane's rotated log.
func logWriter(stateDir string) io.Writer {
	return &lumberjack.Logger{Filename: statedir.LogFile(stateDir), MaxSize: logMegabytes, MaxBackups: logFiles}
}
