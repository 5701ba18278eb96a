// SPDX-License-Identifier: MIT

// An OpenTelemetry Collector that prints the profiles it is sent, of Debian's packages of its sources.
package main

import (
	"os"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/debugexporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

func factories() (f otelcol.Factories, err error) {
	f.Telemetry = otelconftelemetry.NewFactory()
	f.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory())
	if err == nil {
		f.Exporters, err = otelcol.MakeFactoryMap[exporter.Factory](debugexporter.NewFactory())
	}
	return
}

func main() {
	set := otelcol.CollectorSettings{BuildInfo: component.NewDefaultBuildInfo(), Factories: factories}
	set.ConfigProviderSettings.ResolverSettings = confmap.ResolverSettings{
		DefaultScheme:     "file",
		ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory()},
	}
	if otelcol.NewCommand(set).Execute() != nil {
		os.Exit(1)
	}
}
