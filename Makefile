# The product is built with Go alone; what the sandbox and the tests need besides is installed by .ci/install.
GO      ?= go
PLUGINS := filesystem grep shell
LDFLAGS := -s -w
export CGO_ENABLED = 0

.PHONY: build test lint bench demo proto clean install-tools

build: ## picoclaw and its plugins into bin/
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/picoclaw ./cmd/picoclaw
	@for p in $(PLUGINS); do \
		mkdir -p bin/plugins/$$p && \
		$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/plugins/$$p/$$p ./plugins/$$p && \
		bin/plugins/$$p/$$p describe > bin/plugins/$$p/plugin.json || exit 1; \
	done

demo: ## a short agent session on a copy of this repository, then five attempts to get out
	@bash .ci/demo
