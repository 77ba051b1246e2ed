#!/bin/sh
# demo.sh shows the main job: it starts the plane, brings up a cluster of three control-plane machines and three workers,
# and looks at it with kubectl. It leaves everything running.
set -eu
cd "$(dirname "$0")/.."
PATH=$PWD/bin:$PATH
run() { printf '\n$ %s\n' "$*"; "$@"; }

run slipway up --detach
# A demo that was run before has left its cluster.
if slipway get cluster demo -o name >/dev/null 2>&1; then
	run slipway rollout status demo --wait
else
	run slipway create cluster demo --provider sim --control-plane 3 --workers 3 --wait
fi
run slipway tree demo
kubeconfig=$(mktemp)
trap 'rm -f "$kubeconfig"' EXIT
printf '\n$ slipway kubeconfig demo > demo.kubeconfig\n'
slipway kubeconfig demo > "$kubeconfig"
printf '\n$ kubectl --kubeconfig demo.kubeconfig get nodes -o wide\n'
kubectl --kubeconfig "$kubeconfig" get nodes -o wide
cat <<'EOF'

The plane and the cluster keep running. With the programs on your PATH,

  export PATH="$PWD/bin:$PATH"

try next:

  slipway scale demo --workers 5 --wait
  slipway upgrade demo --version v1.37.2 --yes --wait
  slipway delete cluster demo --yes --confirm demo --wait && slipway down
EOF
