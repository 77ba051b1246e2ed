package kubeadm

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// DefaultPort is the API server's port where none is given.
const DefaultPort = 6443

// Endpoint joins the host and port of an API server to host:port, with brackets around an IPv6 address. A port of zero
// means the port that is part of host, else DefaultPort. It refuses what would make an address that nobody answers at:
// a scheme or path in host, or two ports that differ.
func Endpoint(host string, port int32) (string, error) {
	host = strings.TrimSpace(host)
	switch {
	case host == "":
		return "", fmt.Errorf("the control plane endpoint has no host")
	case strings.Contains(host, "://"):
		return "", fmt.Errorf("the control plane endpoint's host %q has a scheme: give the name or address alone", host)
	case strings.ContainsAny(host, "/ "):
		return "", fmt.Errorf("the control plane endpoint's host %q has a path or a space: give the name or address alone", host)
	}
	bare, own, err := splitPort(host)
	if err != nil {
		return "", err
	}
	switch {
	case port < 0 || port > 65535:
		return "", fmt.Errorf("the control plane endpoint's port %d is outside 1 to 65535", port)
	case port == 0 && own == 0:
		port = DefaultPort
	case port == 0:
		port = own
	case own != 0 && own != port:
		return "", fmt.Errorf("the control plane endpoint's host %q names port %d but its port is %d: leave the port out of the host", host, own, port)
	}
	return net.JoinHostPort(bare, strconv.Itoa(int(port))), nil
}

// ServerURL is the URL of the API server at Endpoint.
func ServerURL(host string, port int32) (string, error) {
	e, err := Endpoint(host, port)
	if err != nil {
		return "", err
	}
	return "https://" + e, nil
}

// splitPort takes a port off the host, if it has one, and brackets too.
func splitPort(host string) (string, int32, error) {
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return strings.Trim(host, "[]"), 0, nil
	}
	if !strings.Contains(host, ":") {
		return host, 0, nil
	}
	bare, text, err := net.SplitHostPort(host)
	if err != nil {
		return "", 0, fmt.Errorf("the control plane endpoint's host %q is neither a name, an address, nor one with a port", host)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return "", 0, fmt.Errorf("the control plane endpoint's host %q names a port that is no number from 1 to 65535", host)
	}
	return bare, int32(port), nil
}
