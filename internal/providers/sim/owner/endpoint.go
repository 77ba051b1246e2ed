package owner

import (
	"errors"
	"fmt"
	"net"
	"syscall"

	"k8s.io/apimachinery/pkg/types"

	"slipway.dev/slipway/internal/providers/sim/world"
)

// Unserved says why a cluster's endpoint is not served and how that is mended.
func Unserved(p world.Place, err *world.ListenError) string {
	switch {
	case err.Holder != types.NamespacedName{}:
		return fmt.Sprintf("Port %d of the API endpoint is that of SimCluster %s too. Delete the Cluster of one of the two, and make it again with another controlPlaneEndpoint, "+
			"or with none to have a port chosen", p.Port, err.Holder)
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Sprintf("Port %d of the API endpoint is taken by another program. End that program: the cluster's Nodes and kubeconfigs know the endpoint by this port", p.Port)
	case IsUnusable(err):
		return fmt.Sprintf("The API endpoint %s cannot be listened on: %s. It takes an address of this computer, such as 127.0.0.1, and a port that Slipway may open, such as one above 1023, "+
			"and cannot be changed: delete the Cluster and make it again with another controlPlaneEndpoint, or with none to have one chosen", err.Address, Cause(err))
	}
	return fmt.Sprintf("The API endpoint %s cannot be listened on: %s. It is tried again", err.Address, Cause(err))
}

// IsUnusable tells whether an endpoint itself is what is wrong, so that trying again does not help.
func IsUnusable(err *world.ListenError) bool {
	lookup, named := errors.AsType[*net.DNSError](err)
	_, malformed := errors.AsType[*net.AddrError](err)
	return malformed || named && lookup.IsNotFound || errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EAFNOSUPPORT)
}

// Cause is what the system said, without what was tried.
func Cause(err *world.ListenError) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	if lookup, ok := errors.AsType[*net.DNSError](err); ok {
		return lookup.Err + " " + lookup.Name
	}
	return err.Err.Error()
}
