// Package contract is the only place that looks into objects of foreign kinds: infrastructure, bootstrap
// configurations and control planes of any provider, and the templates they are made from.
//
// # From a reference to an object
//
// A reference names group, kind and name, never a version. The version comes from the labels of the kind's
// CustomResourceDefinition, whose name follows from the kind:
//
//	FooMachine, infrastructure.cluster.x-k8s.io
//	  └─ CRD foomachines.infrastructure.cluster.x-k8s.io (metadata only, cached)
//	       └─ label cluster.x-k8s.io/v1beta2: v1beta1_v1beta2   the newest contract that we speak and the CRD names
//	            └─ version v1beta2                              the value's highest version, as Kubernetes ranks them
//	                 └─ Object{contract v1beta2}
//
// A kind that is not installed, or that names no contract we speak, is an outcome.Stall that says how to mend it; it is
// never mistaken for an object that is not there. That one shows through apierrors.IsNotFound.
//
// # From an object to facts
//
// An Object is turned into facts by its role: InfrastructureCluster, InfrastructureMachine, BootstrapConfig or
// ControlPlane. Each view reads every field of its contract once, by path, in the version of the contract that the
// object speaks. A Flag is true, false or unset, and knows its path for messages. A field of the wrong type is an
// outcome.Stall naming the path; a field that is missing is not an error.
//
// # Caches and watches
//
// Foreign objects are watched and read as unstructured, also where a Go type is compiled in, as for the simulated
// machines: all controllers of a process then share one informer for a kind, and Watches and Resolver use the same one.
// A second form (typed, or metadata alone) would hold every object twice. The manager's client must therefore read
// unstructured objects from the cache, and the cache strips managed fields. Views read cached objects in place, without
// a copy; whoever changes one asks for a Copy.
package contract
