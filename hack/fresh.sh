#!/bin/sh
# fresh.sh fails when a generated file, a go.mod or the list of replaced staging modules is not what it would be if made
# now. It works on a copy, so that the checkout stays as it is.
set -eu
cd "$(dirname "$0")/.."
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT INT TERM
git ls-files -z | xargs -0 cp --parents -t "$copy" 2>/dev/null || true
mkdir -p "$copy/bin"
cp -r bin/tools "$copy/bin/" 2>/dev/null || true
(
	cd "$copy"
	git init -q . && git add -A
	hack/generate.sh
	hack/staging.sh
	go mod tidy
	(cd api && GOWORK=off go mod tidy)
)
if ! diff -r -q --exclude=.git --exclude=bin "$copy" . >/dev/null 2>&1; then
	git -C "$copy" --no-pager diff --stat
	if ! git -C "$copy" diff --quiet; then
		echo "stale: run make generate, hack/staging.sh and go mod tidy, and commit what they change" >&2
		exit 1
	fi
fi
echo "generated files are fresh"
