package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// acceptedContent lets an API server answer in the form that is cheapest to read, if it speaks it.
const acceptedContent = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON

// connection is the open way into one cluster. It is made once and never changed, but for what is made lazily.
type connection struct {
	key types.NamespacedName
	// secretVersion is the resource version of the kubeconfig Secret that was used.
	secretVersion string
	kubeconfig    string

	config    *rest.Config // with credentials, for upgraded connections
	network   *dials
	transport *http.Transport
	door      *door
	http      *http.Client
	base      *url.URL
	core      *rest.RESTClient // core/v1, for what the door itself asks
	nodes     *nodeStore
	pods      *podStore
	watches   []*watched
	etcd      *etcdPool
	end       context.CancelFunc
	follow    func(*watched) // starts a watch that ends with the connection
	told      atomic.Bool    // set once subscribers know of the connection; what was there before is no news

	kinds  kinds
	client func() (client.Client, error)
}

// newConnection prepares a connection; nothing is dialled yet.
func (c *Clusters) newConnection(key types.NamespacedName, config *rest.Config) (*connection, error) {
	config.UserAgent = c.options.UserAgent
	network := newDials()
	transport, err := newTransport(config, network, http2First())
	if err != nil {
		return nil, err
	}
	authenticated, err := rest.HTTPWrappersForConfig(config, transport)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errMalformed, err)
	}
	forward, err := newForwarder(config, c.options)
	if err != nil {
		return nil, err
	}
	d := &door{next: authenticated, timeout: c.options.Timeout, now: c.options.Now}
	conn := &connection{
		key: key, config: config, network: network, transport: transport, door: d, http: &http.Client{Transport: d}, base: forward.base, kinds: c.kinds,
		etcd: newEtcdPool(forward),
	}
	publish := func(name, providerID string) {
		if conn.told.Load() {
			c.nodeChanges.publish(NodeEvent{Cluster: key, Name: name, ProviderID: providerID})
		}
	}
	conn.nodes = newNodeStore(publish)
	conn.pods = newPodStore(func(node string) { publish(node, conn.nodes.providerID(node)) })
	if err := conn.makeClients(c.options, c.codecs); err != nil {
		return nil, err
	}
	return conn, nil
}

func (conn *connection) makeClients(options Options, codecs serializer.CodecFactory) error {
	// The transport is ours, so what would make client-go build one is left out here.
	plain := &rest.Config{
		Host:    conn.config.Host,
		APIPath: "/api",
		ContentConfig: rest.ContentConfig{
			GroupVersion:         &corev1.SchemeGroupVersion,
			NegotiatedSerializer: codecs.WithoutConversion(),
			AcceptContentTypes:   acceptedContent,
			ContentType:          runtime.ContentTypeJSON,
		},
		UserAgent: options.UserAgent,
		QPS:       -1,
	}
	core, err := rest.RESTClientForConfigAndClient(plain, conn.http)
	if err != nil {
		return fmt.Errorf("%w: %w", errMalformed, err)
	}
	conn.core = core
	conn.watches = []*watched{conn.watchNodes(), conn.watchPods()}
	conn.client = sync.OnceValues(func() (client.Client, error) {
		limited := rest.CopyConfig(plain)
		limited.GroupVersion, limited.NegotiatedSerializer, limited.APIPath = nil, nil, ""
		limited.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(options.QPS, options.Burst)
		limited.WarningHandlerWithContext = rest.NoWarnings{}
		made, err := client.New(limited, client.Options{HTTPClient: conn.http, Scheme: conn.kinds.scheme, Mapper: conn.kinds.mapper})
		if err != nil {
			return nil, fmt.Errorf("make a client for cluster %s: %w", conn.key, err)
		}
		return made, nil
	})
	return nil
}

// probe asks the API server whether it is ready.
func (conn *connection) probe(ctx context.Context) error {
	target := conn.base.JoinPath("readyz")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return fmt.Errorf("probe %s: %w", target, err)
	}
	resp, err := conn.http.Do(req)
	if err != nil {
		return fmt.Errorf("probe the API server: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("probe %s: the API server does not accept the credentials of the kubeconfig", target)
	case !alive(resp.StatusCode):
		return fmt.Errorf("probe %s: %s: %s", target, resp.Status, firstFailure(answer))
	case err != nil:
		return fmt.Errorf("probe %s: read the answer: %w", target, err)
	}
	return nil
}

// fill reads the Nodes and Pods for the first time.
func (conn *connection) fill(ctx context.Context) error {
	for _, w := range conn.watches {
		if err := w.list(ctx); err != nil {
			return err
		}
	}
	return nil
}

// close ends the connection and everything that goes through it, but for what it returns: connections to etcd members,
// which take their leave of a server that may not listen, so that closing them can take seconds.
func (conn *connection) close() []*grpc.ClientConn {
	conn.door.closed.Store(true)
	if conn.end != nil {
		conn.end()
	}
	conn.network.close()
	conn.transport.CloseIdleConnections()
	return conn.etcd.close()
}

func (conn *connection) watchNodes() *watched {
	return &watched{
		connection: conn, resource: "nodes",
		newList: func() runtime.Object { return &corev1.NodeList{} },
		replace: func(lists []runtime.Object) {
			var nodes []*corev1.Node
			for _, list := range lists {
				items := list.(*corev1.NodeList).Items
				for i := range items {
					node := items[i] // a copy, so that the store does not hold on to the page
					nodes = append(nodes, &node)
				}
			}
			conn.nodes.replace(nodes)
		},
		put: func(object runtime.Object) {
			if node, ok := object.(*corev1.Node); ok {
				conn.nodes.put(node)
			}
		},
		remove: func(object metav1.Object) { conn.nodes.remove(object.GetName()) },
	}
}

func (conn *connection) watchPods() *watched {
	return &watched{
		connection: conn, resource: "pods", namespace: metav1.NamespaceSystem, labels: "tier=control-plane",
		newList: func() runtime.Object { return &corev1.PodList{} },
		replace: func(lists []runtime.Object) {
			var pods []*corev1.Pod
			for _, list := range lists {
				items := list.(*corev1.PodList).Items
				for i := range items {
					pods = append(pods, &items[i])
				}
			}
			conn.pods.replace(pods)
		},
		put: func(object runtime.Object) {
			if pod, ok := object.(*corev1.Pod); ok {
				conn.pods.put(pod)
			}
		},
		remove: func(object metav1.Object) { conn.pods.remove(object.GetName()) },
		denied: func(err error) bool {
			// Clusters whose control plane is run by somebody else need not show us its Pods.
			if !apierrors.IsForbidden(err) {
				return false
			}
			conn.pods.deny(err)
			return true
		},
	}
}

// firstFailure is the line of an answer of /readyz that says what is wrong: those begin with [-].
func firstFailure(answer []byte) string {
	const most = 200
	text := answer
	for line := range bytes.Lines(answer) {
		if len(line) > 2 && string(line[:3]) == "[-]" {
			text = line
			break
		}
	}
	return string(text[:min(len(text), most)])
}

// reason makes a sentence for people of an error of the network: the innermost cause, without Go's wrapping of URLs.
func reason(err error) string {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err.Error()
	}
	return err.Error()
}
