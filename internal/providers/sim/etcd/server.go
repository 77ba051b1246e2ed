package etcd

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"slipway.dev/slipway/internal/providers/sim/handed"
)

// handshakeTimeout bounds how long a client may take to say who it is.
const handshakeTimeout = 10 * time.Second

// Server answers for the members of all simulated clusters.
type Server struct {
	grpc *grpc.Server

	start    sync.Once
	listener *handed.Listener
	serving  sync.WaitGroup
}

// NewServer makes a server that runs nothing until the first connection.
func NewServer() *Server {
	s := &Server{listener: handed.NewListener(pipeAddr{})}
	s.grpc = grpc.NewServer(grpc.Creds(memberCredentials{}), grpc.ConnectionTimeout(handshakeTimeout),
		// Small buffers: an answer is a few hundred bytes.
		grpc.ReadBufferSize(4<<10), grpc.WriteBufferSize(4<<10))
	pb.RegisterClusterServer(s.grpc, clusterService{})
	pb.RegisterMaintenanceServer(s.grpc, maintenanceService{})
	pb.RegisterKVServer(s.grpc, kvService{})
	return s
}

// accept hands a connection to the gRPC server.
func (s *Server) accept(ctx context.Context, conn net.Conn) error {
	s.start.Do(func() {
		s.serving.Go(func() { _ = s.grpc.Serve(s.listener) }) // ends when Close stops it
	})
	if s.listener.Hand(conn, ctx.Done()) {
		return nil
	}
	return cmp.Or(ctx.Err(), net.ErrClosed)
}

// Close ends all connections and waits for what was running.
func (s *Server) Close() {
	s.grpc.Stop()
	_ = s.listener.Close() // when it was never served
	s.serving.Wait()
}

// pipeAddr is a name only.
type pipeAddr struct{}

// Network names the network.
func (pipeAddr) Network() string { return "pipe" }

// String names the address.
func (pipeAddr) String() string { return "etcd" }

// memberInfo tells a request which member it reached.
type memberInfo struct {
	credentials.TLSInfo
	cluster *Cluster
	member  string
}

// memberCredentials choose the certificate by the member that a connection leads to.
type memberCredentials struct{}

var errServerOnly = errors.New("these credentials are a server's")

// ClientHandshake is not for servers.
func (memberCredentials) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errServerOnly
}

// ServerHandshake speaks TLS as the member.
func (memberCredentials) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	m, ok := raw.(*memberConn)
	if !ok {
		return nil, nil, fmt.Errorf("a %T does not lead to a member", raw)
	}
	conn := tls.Server(raw, m.cluster.tlsConfig(m.member))
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout) //nolint:forbidigo // The interface has none.
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, nil, errors.Join(err, raw.Close())
	}
	info := memberInfo{
		TLSInfo: credentials.TLSInfo{
			State: conn.ConnectionState(), CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity},
		},
		cluster: m.cluster, member: m.member,
	}
	return conn, info, nil
}

// Info describes the credentials.
func (memberCredentials) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

// Clone copies the credentials.
func (c memberCredentials) Clone() credentials.TransportCredentials { return c }

// OverrideServerName is not for servers.
func (memberCredentials) OverrideServerName(string) error { return errServerOnly }

func (c *Cluster) tlsConfig(member string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2"},
		ClientAuth: tls.RequireAndVerifyClientCert,
		ClientCAs:  c.config.ClientCAs,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return c.config.Certificate(member)
		},
	}
}
