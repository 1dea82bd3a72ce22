package host

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/host/agent"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/host/telemetry"
)

// endpointVariable is OpenTelemetry's standard variable for the collector.
const endpointVariable = "OTEL_EXPORTER_OTLP_ENDPOINT"

// NewTelemetry returns the configured telemetry; nil if it is disabled. With scraped, it also serves metrics.
func NewTelemetry(cfg *config.Config, version string, scraped bool, log hclog.Logger) (*telemetry.Telemetry, error) {
	set := cfg.Telemetry()
	o := telemetry.Options{Endpoint: cmp.Or(set.Endpoint, os.Getenv(endpointVariable)), Insecure: set.Insecure,
		Content: set.Content, Sample: set.Sample, Scraped: scraped, Version: version, Logger: log.Named("telemetry")}
	if o.Endpoint != "" {
		o.Headers = map[string]string{}
		for name, value := range set.Headers {
			filled, err := expandSecrets(cfg, value)
			if err != nil {
				return nil, fmt.Errorf("telemetry.headers.%s: %w", name, err)
			}
			o.Headers[name] = filled
		}
	}
	t, err := telemetry.StartTelemetry(o)
	if err != nil && set.Endpoint == "" && o.Endpoint != "" {
		return nil, fmt.Errorf("the variable %s, which stands in for it: %w", endpointVariable, err)
	}
	return t, err
}

// expandSecrets replaces placeholders of secrets in text by their values.
func expandSecrets(cfg *config.Config, text string) (string, error) {
	var failed error
	filled := regexp.MustCompile(`\$\{(\w+)\}`).ReplaceAllStringFunc(text, func(name string) string {
		value, err := session.FetchSecret(cfg, name[2:len(name)-1])
		if err != nil {
			failed = err
		}
		return value
	})
	return filled, failed
}

// tracedModel is a model whose requests are traced.
type tracedModel struct {
	agent.Model
	telemetry      *telemetry.Telemetry
	provider, name string
}

// Generate implements [agent.Model].
func (m *tracedModel) Generate(ctx context.Context, r agent.ModelRequest, onText func(string)) (*agent.ModelReply, error) {
	ctx, ended := m.telemetry.TraceModel(ctx, m.provider, m.name)
	reply, err := m.Model.Generate(ctx, r, onText)
	if err != nil {
		ended(0, 0, err)
		return nil, err
	}
	u := reply.Usage
	ended(u.Input+u.CacheRead+u.CacheWrite, u.Output, nil)
	return reply, nil
}
