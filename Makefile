# make help explains what there is. ./dev is the same for newcomers: it installs what is missing first.

SHELL    := /bin/sh
BIN      := bin
SLIPWAY  := $(BIN)/slipway
# One set of build flags: others would build the API server a second time.
LDFLAGS   = -s -w $(shell hack/versionflags.sh)
# What imports k8s.io/kubernetes is not built with -race: it would take minutes and find others' races. Nor is what only looks
# at the built binary from outside.
HEAVY    := slipway.dev/slipway/internal/plane slipway.dev/slipway/cmd/slipway slipway.dev/slipway/test/plane
LIGHT     = $(filter-out $(HEAVY),$(shell go list ./...))

.DEFAULT_GOAL := build
.PHONY: help build kubectl generate lint test test-race test-plane test-api oracle vet verify fresh bench crash demo clean deflake

help: ## explain the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/slipway (the first time takes minutes: it contains a Kubernetes API server)
	@CGO_ENABLED=0 go build -ldflags "$(LDFLAGS)" -o $(SLIPWAY) ./cmd/slipway
	@ln -sf slipway $(BIN)/kubectl-slipway && ln -sf slipway $(BIN)/kubectl_complete-slipway

kubectl: ## build bin/kubectl when none within one minor version is on the PATH
	@hack/kubectl.sh $(BIN)

generate: ## write everything that follows from the types in api/
	@hack/generate.sh

test: build kubectl ## run all tests, without a network
	@$(MAKE) --no-print-directory test-race test-plane test-api oracle

# Tests of controllers and flows wait more than they compute: more of them at once than there are cores.
BUSY := $(shell expr $$(nproc) + 1)
test-race: build kubectl ## test what does not import k8s.io/kubernetes, with the race detector
	SLIPWAY_BIN=$(CURDIR)/$(SLIPWAY) CGO_ENABLED=1 go test -race -p $(BUSY) -parallel $(BUSY) -timeout 20m $(ARGS) $(LIGHT)

test-plane: build kubectl ## test the embedded management plane, from inside and from outside
	SLIPWAY_BIN=$(CURDIR)/$(SLIPWAY) CGO_ENABLED=0 go test -timeout 20m $(ARGS) $(HEAVY)

test-api: ## test the API module on its own, as its users build it
	cd api && GOWORK=off CGO_ENABLED=0 go test $(ARGS) ./...

oracle: ## compare our API with the Cluster API's own types and schemas
	cd test/oracle && GOWORK=off CGO_ENABLED=0 go test $(ARGS) ./...

LINT := $(BIN)/golangci-lint
# What reads facts of every dependency: for k8s.io/kubernetes that costs more than all the rest. go vet looks there too.
FACTS := exhaustive,govet,nilerr,staticcheck,unparam

$(LINT): hack/lint/go.mod hack/lint/go.sum
	@cd hack/lint && GOWORK=off CGO_ENABLED=0 go build -ldflags "-s -w" -o ../../$(BIN)/ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

lint: $(LINT) ## run the linters (the first time takes some minutes)
	CGO_ENABLED=0 $(LINT) run $(ARGS) $(patsubst slipway.dev/slipway/%,./%,$(LIGHT))
	CGO_ENABLED=0 $(LINT) run --disable $(FACTS) $(ARGS) $(patsubst slipway.dev/slipway/%,./%,$(HEAVY))
	cd api && CGO_ENABLED=0 ../$(LINT) run $(ARGS) ./...

vet: ## run go vet
	CGO_ENABLED=0 go vet ./...
	cd api && GOWORK=off CGO_ENABLED=0 go vet ./...

fresh: ## fail when generated files or the list of replaced modules are stale
	@hack/fresh.sh

verify: test vet lint fresh ## what CI runs

bench: build ## print how fast, how big and how quiet it is
	@SLIPWAY_BIN=$(CURDIR)/$(SLIPWAY) go run ./test/bench $(ARGS)

crash: build ## kill the plane after 50 writes, delete clusters in 100 orders, restore, strip, write conditions from many sides (SLIPWAY_SEED=n for others)
	SLIPWAY_BIN=$(CURDIR)/$(SLIPWAY) SLIPWAY_CRASH_KILLS=50 SLIPWAY_DELETE_ORDERS=100 CGO_ENABLED=0 go test -count=1 -v -timeout 60m $(ARGS) ./test/flows
	SLIPWAY_BIN=$(CURDIR)/$(SLIPWAY) SLIPWAY_CONDITION_ROUNDS=1000 CGO_ENABLED=0 go test -count=1 -v -run OfManyWriters ./internal/controllers/machine

demo: build kubectl ## start the plane and bring up a cluster of three and three
	@hack/demo.sh

deflake: build ## run the tests again and again until one fails
	@while SLIPWAY_BIN=$(CURDIR)/$(SLIPWAY) CGO_ENABLED=1 go test -race -count=1 $(ARGS) $(LIGHT); do :; done

clean: ## remove what was built
	rm -rf $(BIN)
