package std

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// resolver finds the addresses of a name; [net.Resolver] is one.
type resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// reserved are the addresses, besides those that package netip knows, that lead to no server of the public network: to this
// machine, to this network, to a cloud's metadata, or through a gateway to any of these. Of IPv6 only 2000::/3 is public at all.
var reserved = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"168.63.129.16/32",                                     // metadata, though it looks public
	"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", // Teredo, documentation, 6to4
)

var publicV6 = netip.MustParsePrefix("2000::/3")

func prefixes(list ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// special says what kind of address it is if it is not public, or "".
func special(a netip.Addr) string {
	a = a.Unmap()
	switch {
	case a.IsLoopback():
		return "loopback"
	case a.IsPrivate():
		return "private"
	case a.IsLinkLocalUnicast():
		return "link-local"
	case a.IsMulticast():
		return "multicast"
	case !a.IsValid() || a.IsUnspecified() || a.Zone() != "",
		a.Is6() && !publicV6.Contains(a),
		slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(a) }):
		return "reserved"
	}
	return ""
}

// addressError says that a host has no address that may be reached.
type addressError struct{ host, kind string }

func (e *addressError) Error() string {
	return fmt.Sprintf("%s: its address is %s, and none that the agent's file lists in networks", e.host, e.kind)
}

// dialer connects to public addresses, and to those of networks.
type dialer struct {
	networks []netip.Prefix
	resolver resolver
}

// check returns an error for an address that must not be reached.
func (d *dialer) check(host string, a netip.Addr) error {
	kind := special(a)
	if kind == "" || slices.ContainsFunc(d.networks, func(p netip.Prefix) bool { return p.Contains(a.Unmap()) }) {
		return nil
	}
	return &addressError{host, kind}
}

// dial resolves a host once, and connects to one of the addresses that were found and may be reached. What is connected to is looked at again
// when the socket is there: no second lookup comes between.
func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	var found []netip.Addr
	if a, err := netip.ParseAddr(host); err == nil {
		found = []netip.Addr{a}
	} else if found, err = d.resolver.LookupNetIP(ctx, "ip", host+"."); err != nil { // the dot: no search list
		return nil, err
	}
	socket := &net.Dialer{Timeout: 10 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return &addressError{host, "reserved"}
		}
		return d.check(host, at.Addr())
	}}
	err = &net.DNSError{Err: "no addresses", Name: host, IsNotFound: true}
	for _, a := range found {
		if refused := d.check(host, a); refused != nil {
			err = refused
			continue
		}
		conn, failed := socket.DialContext(ctx, network, net.JoinHostPort(a.Unmap().String(), port))
		if failed == nil {
			return conn, nil
		}
		err = failed
		if ctx.Err() != nil {
			break
		}
	}
	return nil, err
}

// transport speaks to servers, and to no proxy. It adds nothing to a request and decodes no reply.
func (d *dialer) transport() *http.Transport {
	return &http.Transport{
		Proxy: nil, DialContext: d.dial, DisableCompression: true,
		TLSHandshakeTimeout: 10 * time.Second, ExpectContinueTimeout: time.Second, IdleConnTimeout: 30 * time.Second,
		MaxIdleConns: 16, MaxIdleConnsPerHost: 2, MaxConnsPerHost: 16, MaxResponseHeaderBytes: 64 << 10,
	}
}

// unreachable says in words why a server could not be spoken to, without what only the machine's owner should know.
func unreachable(host string, err error) error {
	if bad, ok := errors.AsType[*addressError](err); ok {
		return fail("not-allowed", "%v", bad)
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return fail("connection", "%s: there is no such host", host)
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return fail("timeout", "%s: no answer in time", host)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return fail("connection", "%s: %s: %v", host, op.Op, op.Err)
	}
	return fail("connection", "%s: %v", host, err)
}
