#!/bin/sh
# fresh.sh fails when a generated file, a go.mod or the list of replaced staging modules is not what it would be if made
# now. It works on a copy of the checkout, which stays as it is.
set -eu
cd "$(dirname "$0")/.."
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT INT TERM
git ls-files -z | xargs -0 cp --parents -t "$copy"
cd "$copy"
git init -q .
git add -A
hack/generate.sh
hack/staging.sh
go mod tidy
(cd api && GOWORK=off go mod tidy)
if ! git diff --quiet; then
	git --no-pager diff --stat
	echo "stale: run make generate, hack/staging.sh and go mod tidy, and commit what they change" >&2
	exit 1
fi
echo "generated files are fresh"
