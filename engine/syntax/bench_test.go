package syntax

import (
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
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("x.star", src, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
	ours := b.Elapsed()
	begin := time.Now()
	for range b.N {
		if _, err := options().Parse("x.star", src, 0); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(time.Since(begin))/float64(ours), "stock/ours")
}
