package queue_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/queue"
)

// ports returns ports of which nobody makes use.
func ports(t *testing.T, n int) []int {
	t.Helper()
	var found []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		found = append(found, l.Addr().(*net.TCPAddr).Port)
	}
	return found
}

// TestThreeServers: of three servers that keep a queue one is killed, and the run goes on.
func TestThreeServers(t *testing.T) {
	var routes []*url.URL
	at := ports(t, 3)
	for _, port := range at {
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
	}
	var servers []*server.Server
	var urls []string
	for i, port := range at {
		o := &server.Options{
			ServerName: fmt.Sprint("s", i), Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true,
			StoreDir: t.TempDir(), NoLog: true, NoSigs: true, Routes: routes,
			Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: port},
		}
		s, err := server.NewServer(o)
		require.NoError(t, err)
		s.Start()
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
		servers = append(servers, s)
	}
	for _, s := range servers {
		require.True(t, s.ReadyForConnections(time.Minute))
		urls = append(urls, s.ClientURL())
	}
	var q *queue.Queue
	require.Eventually(t, func() (ok bool) { // when they have a leader
		var err error
		q, err = queue.Open(t.Context(), queue.Options{URL: strings.Join(urls, ","), Replicas: 3, Lease: long})
		return err == nil
	}, 2*time.Minute, 100*time.Millisecond)
	t.Cleanup(q.Close)
	// Several that count at a time wait for each other.
	var counted sync.WaitGroup
	for i := range 40 {
		counted.Go(func() { assert.NoError(t, q.Reserve(t.Context(), queue.Run{ID: "many"}, i, 1, 1)) })
	}
	counted.Wait()
	const n = 6
	r := submit(t, q, "r", n, nil)
	held := take(t, q, r, "w")
	require.NoError(t, take(t, q, r, "w").Commit(queue.Done{Outcome: "pass"}, []byte("first")))

	killed := false
	for _, s := range servers { // the one that leads the stream of units
		if s.JetStreamIsStreamLeader("$G", "SDD_EVAL_UNITS") {
			s.Shutdown()
			killed = true
			break // the next one may lead by now, and two have to be left
		}
	}
	require.True(t, killed)
	if err := held.Commit(queue.Done{Outcome: "pass"}, []byte("held")); err != nil { // then the unit is offered again
		require.ErrorContains(t, err, "the lease is lost")
	}
	units, err := q.Units(t.Context(), r)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		o, err := q.Next(t.Context(), claude)
		if err == nil && o != nil {
			l, err := o.Take(t.Context(), r, units[o.N], "w")
			if err == nil && l != nil {
				_ = l.Commit(queue.Done{Outcome: "pass"}, []byte("later"))
			}
		}
		s, err := q.Status(t.Context(), "r")
		return err == nil && s.Counts().Done == n
	}, 5*time.Minute, 10*time.Millisecond)
	for _, rec := range status(t, q, "r").Records {
		_, err := q.Load(t.Context(), *rec.Done.Archive)
		require.NoError(t, err)
	}
}

// authority is one that makes certificates.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	a.make(t, "ca")
	return a
}

// make makes a certificate, and the files name.pem and name.key.
func (a *authority) make(t *testing.T, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true, IsCA: a.cert == nil,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	require.NoError(t, err)
	if a.cert == nil {
		a.key = key
		a.cert, err = x509.ParseCertificate(der)
		require.NoError(t, err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	a.write(t, name+".pem", "CERTIFICATE", der)
	a.write(t, name+".key", "PRIVATE KEY", private)
	pair, err := tls.LoadX509KeyPair(a.file(name+".pem"), a.file(name+".key"))
	require.NoError(t, err)
	return pair
}

func (a *authority) write(t *testing.T, name, kind string, data []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(a.file(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600))
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// TestTLS: a server that shows another authority's certificate is not trusted, and nobody who has no certificate is let
// in.
func TestTLS(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	pair := a.make(t, "server")
	a.make(t, "client")
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	s := serve(t, t.TempDir(), func(o *server.Options) {
		o.TLS, o.TLSVerify, o.TLSTimeout = true, true, 10
		o.TLSConfig = &tls.Config{
			Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
			MinVersion: tls.VersionTLS12,
		}
	})
	o := queue.Options{
		URL: "tls://" + s.Addr().String(), CA: a.file("ca.pem"), Cert: a.file("client.pem"), Key: a.file("client.key"),
		Lease: long,
	}
	q, err := queue.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(q.Close)
	r := submit(t, q, "r", 1, nil)
	require.NoError(t, take(t, q, r, "w").Commit(queue.Done{Outcome: "pass"}, nil))

	for want, change := range map[string]func(*queue.Options){
		"unknown authority":      func(o *queue.Options) { o.CA = other.file("ca.pem") },
		"tls":                    func(o *queue.Options) { o.Cert, o.Key = "", "" },
		"none.pem: no such file": func(o *queue.Options) { o.CA = a.file("none.pem") },
		"none.key: no such file": func(o *queue.Options) { o.Key = a.file("none.key") },
	} {
		bad := o
		change(&bad)
		_, err := queue.Open(t.Context(), bad)
		require.ErrorContains(t, err, want)
	}
}

// TestCredentials: with credentials of another account one sees nothing of a run, and without any nothing at all.
func TestCredentials(t *testing.T) {
	operator, err := nkeys.CreateOperator()
	require.NoError(t, err)
	public := func(k nkeys.KeyPair) string {
		text, err := k.PublicKey()
		require.NoError(t, err)
		return text
	}
	claims := jwt.NewOperatorClaims(public(operator))
	token, err := claims.Encode(operator)
	require.NoError(t, err)
	trusted, err := jwt.DecodeOperatorClaims(token)
	require.NoError(t, err)
	resolver := &server.MemAccResolver{}
	newAccount := func(limits jwt.JetStreamLimits) nkeys.KeyPair {
		account, err := nkeys.CreateAccount()
		require.NoError(t, err)
		claims := jwt.NewAccountClaims(public(account))
		claims.Limits.JetStreamLimits = limits
		token, err := claims.Encode(operator)
		require.NoError(t, err)
		require.NoError(t, resolver.Store(public(account), token))
		return account
	}
	credentials := func(name string) string {
		account := newAccount(jwt.JetStreamLimits{DiskStorage: 1 << 30, Streams: -1, Consumer: -1})
		user, err := nkeys.CreateUser()
		require.NoError(t, err)
		token, err := jwt.NewUserClaims(public(user)).Encode(account)
		require.NoError(t, err)
		seed, err := user.Seed()
		require.NoError(t, err)
		data, err := jwt.FormatUserConfig(token, seed)
		require.NoError(t, err)
		file := filepath.Join(t.TempDir(), name+".creds")
		require.NoError(t, os.WriteFile(file, data, 0o600))
		return file
	}
	ours, theirs := credentials("ours"), credentials("theirs")
	system := public(newAccount(jwt.JetStreamLimits{}))
	s := serve(t, t.TempDir(), func(o *server.Options) {
		o.SystemAccount = system
		o.TrustedOperators, o.AccountResolver = []*jwt.OperatorClaims{trusted}, resolver
	})
	open := func(file string) (*queue.Queue, error) {
		q, err := queue.Open(t.Context(), queue.Options{URL: s.ClientURL(), Credentials: file, Lease: long})
		if err == nil {
			t.Cleanup(q.Close)
		}
		return q, err
	}
	q, err := open(ours)
	require.NoError(t, err)
	r := submit(t, q, "r", 1, nil)
	foreign, err := open(theirs)
	require.NoError(t, err)
	_, err = foreign.Run(t.Context(), "r")
	require.ErrorIs(t, err, queue.ErrNoRun)
	o, err := foreign.Next(t.Context(), claude)
	require.NoError(t, err)
	require.Nil(t, o)
	_, err = open("")
	require.ErrorContains(t, err, "Authorization Violation")
	require.NoError(t, take(t, q, r, "w").Commit(queue.Done{Outcome: "pass"}, nil))
}
