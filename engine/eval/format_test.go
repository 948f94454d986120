package eval

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"strconv"
	"testing"

	"callgate/engine/label"
)

// TestFormatIsCPythons compares format specifications and % formatting with what CPython 3.11 makes of
// them: each line of testdata/format.jsonl is [way, type, value, format, text], where null for
// the text stands for an error.
func TestFormatIsCPythons(t *testing.T) {
	file, err := os.Open("testdata/format.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s, err := NewSession(Config{Host: &recorder{}, Limits: Limits{Steps: 1e9, Memory: 1 << 30}})
	if err != nil {
		t.Fatal(err)
	}
	th := s.thread(context.Background(), label.BottomID)
	lines := 0
	for scan := bufio.NewScanner(file); scan.Scan(); lines++ {
		var row [5]*string
		if err := json.Unmarshal(scan.Bytes(), &row); err != nil {
			t.Fatalf("line %d: %v", lines+1, err)
		}
		v, err := valueOf(*row[1], *row[2])
		if err != nil {
			t.Fatalf("line %d: %v", lines+1, err)
		}
		got := ""
		e := catch(th, func() {
			if *row[0] == "percent" {
				got = th.percent(stringVal(*row[3], label.BottomID), v, pos{}).str()
			} else {
				got = th.formatSpec(v, *row[3], label.BottomID, pos{})
			}
		})
		switch want := row[4]; {
		case e != nil && want != nil:
			t.Errorf("%s of %s %s under %q: error %q, want %q", *row[0], *row[1], *row[2], *row[3], e.Text, *want)
		case e == nil && want == nil:
			t.Errorf("%s of %s %s under %q: got %q, want an error", *row[0], *row[1], *row[2], *row[3], got)
		case e == nil && got != *want:
			t.Errorf("%s of %s %s under %q: got %q, want %q", *row[0], *row[1], *row[2], *row[3], got, *want)
		}
	}
	if lines < 1000 {
		t.Errorf("read %d lines", lines)
	}
}

func valueOf(kind, text string) (val, error) {
	switch kind {
	case "int":
		i, ok := new(big.Int).SetString(text, 10)
		if !ok {
			return val{}, fmt.Errorf("no int: %s", text)
		}
		return bigVal(i, label.BottomID), nil
	case "float":
		f, err := strconv.ParseFloat(text, 64)
		return floatVal(f, label.BottomID), err
	case "bool":
		return boolVal(text == "True", label.BottomID), nil
	}
	return stringVal(text, label.BottomID), nil
}
