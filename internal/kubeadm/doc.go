// Package kubeadm is everything Slipway knows about kubeadm that needs no API client: what kubeadm reads, what it
// writes, and what it leaves in a cluster. Its parts are pure: values in, values out, time passed in.
//
// A machine becomes a node like this:
//
//	KubeadmConfig.spec ─┐
//	Cluster (endpoint,  │   config            cloudinit                     the machine
//	  CIDRs, domain) ───┼─► kubeadm.yaml ───► #cloud-config ──► Secret ───► cloud-init writes the files,
//	token ──────────────┤   (v1beta3 or       (write_files,                 runs the commands
//	                    │    v1beta4)          runcmd, users…)                 │
//	certs ──────────────┴──────────────────────▲                               ▼
//	  <cluster>-ca, -etcd, -proxy, -sa                                      kubeadm init   (the first machine)
//	    │                                                                   kubeadm join   (every other)
//	    └─► kubeconfig: <cluster>-kubeconfig                                   │
//	                                                                           ▼
//	                    initobjects: kubeadm-config, kubelet-config, cluster-info, RBAC
//
// The first control plane machine gets the private keys of all CAs and runs "kubeadm init", which uploads its
// configuration and opens the way in for others. A further control plane machine gets the same keys and runs
// "kubeadm join" with a bootstrap token; a worker gets no key at all, only the token and the pin of the cluster's CA
// (caCertHashes), by which it recognises the right API server before it trusts it with the token.
//
// A token is short-lived. While its machine has no node it is prolonged (token.Plan); the data Secret of a
// machine that has booted is never rewritten, because what it held is spent.
//
// The same files are also read here, strictly, as cloud-init and kubeadm would read them: config.Parse and
// cloudinit.Read name what they do not know instead of passing over it. The simulated provider boots from them, so
// that a mistake in what is written fails there as it would on a real machine.
//
// Three rules hold everywhere below:
//   - YAML is made by a library from data, never pasted from strings.
//   - Inputs are never changed; a secret's bytes appear in the bootstrap data and nowhere else.
//   - Output is deterministic: the same inputs give the same bytes, so that "has it changed?" is a comparison.
package kubeadm
