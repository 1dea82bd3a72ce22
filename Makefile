# The product is built with Go alone. What the sandbox and the tests need besides is installed by .ci/install.

GO      ?= go
# One set of build flags for programs, tests and vet, so that nothing is compiled twice.
export CGO_ENABLED := 0
export GOFLAGS     := -trimpath
PLUGINS := filesystem grep shell
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# A picoclaw that is no release writes plugins that build with the sources here; a release says nothing of this machine.
SOURCE  := $(if $(filter-out $(shell git tag --points-at HEAD 2>/dev/null),$(VERSION)),$(CURDIR))
LDFLAGS := -s -w
# Programs end in .exe on Windows, and in nothing elsewhere.
EXE     := $(shell $(GO) env GOEXE)

# Tools for developers, pinned here and kept out of the product's go.mod.
GOLANGCI_LINT      := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
SHADOW             := golang.org/x/tools/go/analysis/passes/shadow/cmd/shadow@v0.51.0
GORELEASER         := github.com/goreleaser/goreleaser/v2@v2.16.0
PROTOC_GEN_GO      := google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
PROTOC_GEN_GO_GRPC := google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2

SHELL         := bash
.DEFAULT_GOAL := build
.PHONY: build test lines format vet lint bench demo docs pictures man release-check guard-score proto clean help

help: ## Show what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## Build picoclaw and its plugins into bin/
	$(GO) build -ldflags '$(LDFLAGS) -X main.version=$(VERSION) -X "main.source=$(SOURCE)"' -o bin/picoclaw$(EXE) ./cmd/picoclaw
	$(GO) build -ldflags '$(LDFLAGS) -X main.version=$(VERSION)' -o bin/picoclaw-hub$(EXE) ./cmd/picoclaw-hub
	@set -e; for p in $(PLUGINS); do \
		mkdir -p bin/plugins/$$p; \
		$(GO) build -ldflags '$(LDFLAGS)' -o bin/plugins/$$p/$$p$(EXE) ./plugins/$$p; \
		bin/plugins/$$p/$$p$(EXE) describe > bin/plugins/$$p/plugin.json; \
	done
	@mkdir -p bin/plugins/mcp # which becomes a plugin for each server
	$(GO) build -ldflags '$(LDFLAGS)' -o bin/plugins/mcp/mcp$(EXE) ./plugins/mcp

# The packages with goroutines of their own, which `make test RACE=1` tests with the race detector.
RACED := ./host/session ./host/agent/... ./host/audit ./host/console ./host/fleet/... ./host/hooks ./host/mcp ./host/schedule ./host/quota ./host/store \
	./host/supervise ./host/telemetry ./sdk ./sdk/workspace ./plugins/shell/...

# The packages whose tests start servers. `make test RACE=1` builds these servers with the race detector.
SERVING := $(addprefix ./cmd/picoclaw/internal/cmd/,approvals console fleet gateway hub mcp)

test: format ## Run the tests, in minutes: RACE=1 with the race detector where packages have goroutines
	.ci/install tests
	@built=$$(mktemp -d) && trap 'rm -rf "$$built"' EXIT && export PICOCLAW_TEST_BUILT="$$built" && set -x && \
	if [ -z '$(RACE)' ]; then \
		$(GO) test -short -timeout 20m -exec "$(CURDIR)/.ci/twice" ./...; \
	else \
		$(GO) test -short -timeout 20m -exec "$(CURDIR)/.ci/twice" $$($(GO) list ./... | grep -vxFf <($(GO) list $(RACED) $(SERVING))) && \
		PICOCLAW_TEST_RACE=1 $(GO) test -short -timeout 20m -exec "$(CURDIR)/.ci/twice" $(SERVING) && \
		CGO_ENABLED=1 $(GO) test -short -race -timeout 20m -exec "$(CURDIR)/.ci/twice" $(RACED); \
	fi

# Packages of tests and documentation: they build programs, make homes, play models and collectors, and play the docs' examples.
TESTSUPPORT := -e '^cmd/internal/clitest/' -e '^docs/internal/' -e '^internal/measure/' -e '^host/hosttest/' -e 'modeltest/' -e 'collectortest/' -e 'logintest/'

lines: ## Count the lines of Go per package, without tests and their support, generated code and testdata
	@git ls-files '*.go' | grep -v -e '_test\.go$$' -e '\.pb\.go$$' -e '/testdata/' $(TESTSUPPORT) | xargs wc -l | grep -v ' total$$' | \
		awk '{ name = $$2; sub(/\/[^\/]*$$/, "", name); lines[name] += $$1; total += $$1 } \
			END { for (name in lines) print lines[name], name; print total, "in all" }' | sort -n

format:
	@unformatted=$$(gofmt -l cmd docs host internal isolation plugins sdk); \
		[ -z "$$unformatted" ] || { echo "not formatted by gofmt: $$unformatted"; exit 1; }

vet: ## Check the sources for the systems that are not tested here
	GOOS=windows $(GO) vet ./...
	GOOS=darwin $(GO) vet ./...
	$(GO) vet -tags long ./cmd/... ./docs/... ./host/...
	$(GO) vet $$(git ls-files '*/testdata/*.go' | xargs -n1 dirname | sort -u | sed 's,^,./,')
	GOARCH=riscv64 $(GO) vet ./isolation
	@# An error that is shadowed where it is used later gets lost.
	@tool=$$(mktemp -d) && trap 'rm -rf "$$tool"' EXIT && GOBIN="$$tool" $(GO) install $(SHADOW) && set -ex && \
		for os in linux windows darwin; do GOOS=$$os "$$tool/shadow" -test=false ./...; done

lint: ## Run the pinned golangci-lint
	$(GO) run $(GOLANGCI_LINT) run ./...

bench: ## Measure what picoclaw costs: ONLY=files for a part, SAVE=1 to save the figures, CHECK=1 to compare with them
	.ci/install tests
	@built=$$(mktemp -d) && trap 'rm -rf "$$built"' EXIT && export PICOCLAW_TEST_BUILT="$$built" && \
		$(GO) run ./internal/measure/report -only '$(ONLY)' $(if $(RUNS),-runs $(RUNS)) $(if $(SAVE),-save) $(if $(CHECK),-check)
	$(if $(SAVE),$(GO) test ./docs -run TestPagesQuoteSavedFigures -update)

demo: build ## Play a short agent session on a copy of this repository
	.ci/install
	.ci/demo

docs: build ## Write what follows from the program in docs/: configuration, tools, commands, the recorded session
	$(GO) run ./cmd/picoclaw/internal/reference bin docs
	$(GO) run ./docs/internal/record -programs bin -o docs/session.svg

pictures: build ## Make the pictures of the console in docs/pictures
	.ci/install tests
	PICOCLAW_TEST_PICTURES="$(CURDIR)/docs/pictures" $(GO) test -count=1 -tags long -run TestConsoleInBrowser \
		./cmd/picoclaw/internal/cmd/console

man: ## Write the manual pages into bin/man/
	$(GO) run ./cmd/picoclaw/internal/man bin/man '$(VERSION)'

release-check: ## Check the release's configuration, and make its archives and packages in dist/ without publishing anything
	$(GO) run $(GORELEASER) check --config .ci/goreleaser.yaml
	$(GO) run $(GORELEASER) release --config .ci/goreleaser.yaml --snapshot --clean --skip sbom

guard-score: ## Measure the guard on labelled commands: FILES='a.jsonl b.jsonl' for others than the repository's
	$(GO) test ./sdk/guard -run '^TestCorpus$$' -count 1 -v -args -corpus '$(abspath $(FILES))'

proto: ## Generate the wire's code again (needs protoc)
	@command -v protoc >/dev/null || { echo "install protoc first, such as with: apt-get install protobuf-compiler"; exit 1; }
	@tools=$$(mktemp -d) && trap 'rm -rf "$$tools"' EXIT && \
		GOBIN="$$tools" $(GO) install $(PROTOC_GEN_GO) && GOBIN="$$tools" $(GO) install $(PROTOC_GEN_GO_GRPC) && \
		PATH="$$tools:$$PATH" protoc -I sdk/pluginpb \
			--go_out=sdk/pluginpb --go_opt=paths=source_relative \
			--go-grpc_out=sdk/pluginpb --go-grpc_opt=paths=source_relative plugin.proto

clean: ## Remove what was built
	rm -rf bin
