package syntax

import (
	"slices"
	"testing"
	"time"
)

// tenLines is what a model writes in a turn.
const tenLines = `total = 0
for order in orders.list(status = "open"):
    mails = mail.search(subject = order["id"])
    if not mails:
        print("no mail for", order["id"])
        continue
    invoice = mails[0]
    if endorse(invoice["amount"] == order["amount"], why = "amounts agree"):
        bank.pay(order = order["id"], iban = vendors[order["vendor"]], amount = order["amount"])
        total += order["amount"]
`

// BenchmarkTenLines prints, beside the time of this parser, how many times as
// long go.starlark.net takes in the same run.
func BenchmarkTenLines(b *testing.B) { benchmark(b, []byte(tenLines)) }

// BenchmarkLarge parses the largest program of go.starlark.net's tests.
func BenchmarkLarge(b *testing.B) {
	var largest []byte
	for _, chunk := range stockChunks(b) {
		if _, err := Parse("x.star", chunk, Limits{}); err == nil && len(chunk) > len(largest) {
			largest = chunk
		}
	}
	benchmark(b, largest)
}

func benchmark(b *testing.B, src []byte) {
	ours := func() {
		if _, err := Parse("x.star", src, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
	stock := func() {
		if _, err := options().Parse("x.star", src, 0); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		ours()
	}
	b.ReportMetric(ratio(stock, ours), "stock/ours")
}

// ratio returns the median of how many times as long f takes as g, in rounds of turn and turn about:
// what else the machine does then slows both.
func ratio(f, g func()) float64 {
	n := 1
	for elapsed(n, f) < time.Millisecond {
		n *= 2
	}
	var ratios [51]float64
	for i := range ratios {
		ratios[i] = float64(elapsed(n, f)) / float64(elapsed(n, g))
	}
	slices.Sort(ratios[:])
	return ratios[len(ratios)/2]
}

func elapsed(n int, f func()) time.Duration {
	begin := time.Now()
	for range n {
		f()
	}
	return time.Since(begin)
}
