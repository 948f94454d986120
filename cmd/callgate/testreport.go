package main

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/cmd/internal/console"
)

// counts are how many tests passed, failed and were skipped.
type counts struct{ passed, failed, skipped int }

func countOf(list []outcome) (n counts) {
	for _, o := range list {
		switch o.status {
		case passed:
			n.passed++
		case failed:
			n.failed++
		default:
			n.skipped++
		}
	}
	return n
}

func (n counts) String() string {
	s := fmt.Sprintf("%d passed", n.passed)
	if n.failed > 0 {
		s += fmt.Sprintf(", %d failed", n.failed)
	}
	if n.skipped > 0 {
		s += fmt.Sprintf(", %d skipped", n.skipped)
	}
	return s
}

// byFile returns the outcomes of each file, in the order of the files.
func (t *testRun) byFile() (files []string, of map[string][]outcome) {
	of = map[string][]outcome{}
	for _, o := range t.out {
		if of[o.file] == nil {
			files = append(files, o.file)
		}
		of[o.file] = append(of[o.file], o)
	}
	return files, of
}

// writeText writes a line for each file, what failed in it, and a summary.
func (t *testRun) writeText(w io.Writer, look console.Look, took time.Duration) error {
	var b strings.Builder
	if err := t.writeBenched(&b); err != nil {
		return err
	}
	files, of := t.byFile()
	for _, file := range files {
		n := countOf(of[file])
		word := "ok  "
		if n.failed > 0 {
			word = "FAIL"
		}
		fmt.Fprintf(&b, "%s  %s  %s\n", word, file, n)
		for _, o := range of[file] {
			if o.status != failed {
				continue
			}
			fmt.Fprintf(&b, "      %s\n", o.name)
			for _, f := range o.failures {
				fmt.Fprintf(&b, "        %s: %s\n", f.pos, f.text)
				for _, line := range f.more {
					fmt.Fprintf(&b, "          %s\n", line)
				}
			}
			for line := range strings.SplitSeq(strings.TrimRight(o.output, "\n"), "\n") {
				if line != "" {
					fmt.Fprintf(&b, "        printed: %s\n", line)
				}
			}
			if t.trace && o.events != nil {
				b.WriteString("\n")
				tl := console.NewTimeline(&b, console.Options{Look: look})
				for _, e := range o.events {
					tl.Event(e)
				}
				if err := tl.Close(); err != nil {
					return err
				}
				b.WriteString("\n")
			}
		}
	}
	if t.coverage != nil {
		t.coverage.writeText(&b)
	}
	fmt.Fprintf(&b, "%s in %s\n", countOf(t.out), took.Round(time.Millisecond))
	text := b.String()
	if !t.trace { // a timeline is clean, and may have colours
		text = console.Clean(text)
	}
	_, err := io.WriteString(w, text)
	return err
}

// jsonFailure is a difference in JSON.
type jsonFailure struct {
	File    string   `json:"file,omitempty"`
	Line    int      `json:"line,omitempty"`
	Column  int      `json:"column,omitempty"`
	Message string   `json:"message"`
	More    []string `json:"more,omitempty"`
}

// jsonOutcome is a line of --json.
type jsonOutcome struct {
	Test     string        `json:"test"`
	Kind     string        `json:"kind"`
	File     string        `json:"file"`
	Line     int           `json:"line"`
	Status   string        `json:"status"`
	Ms       float64       `json:"ms"`
	Failures []jsonFailure `json:"failures,omitempty"`
	Output   string        `json:"output,omitempty"`
}

// writeJSON writes a line for each test, one for each row of a suite, one for the coverage if that is asked for, and a summary.
func (t *testRun) writeJSON(w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	for _, o := range t.out {
		line := jsonOutcome{Test: o.name, Kind: o.kind, File: o.file, Line: o.pos.Line, Status: o.status, Ms: milliseconds(o.took), Output: o.output}
		for _, f := range o.failures {
			line.Failures = append(line.Failures, jsonFailure{f.pos.File, f.pos.Line, f.pos.Column, f.text, f.more})
		}
		if err := out.Encode(line); err != nil {
			return err
		}
	}
	for _, b := range t.benched {
		for _, s := range b.served {
			if err := out.Encode(map[string]any{"agent": b.file, "served": s}); err != nil {
				return err
			}
		}
		for _, p := range b.pairs {
			if err := out.Encode(map[string]any{"agent": b.file, "attacked": p}); err != nil {
				return err
			}
		}
	}
	if t.coverage != nil {
		if err := out.Encode(map[string]any{"coverage": t.coverage.report()}); err != nil {
			return err
		}
	}
	n := countOf(t.out)
	return out.Encode(map[string]any{"summary": map[string]int{"passed": n.passed, "failed": n.failed, "skipped": n.skipped}})
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// The elements of a JUnit report.
type (
	junitReport struct {
		XMLName  xml.Name `xml:"testsuites"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Skipped  int      `xml:"skipped,attr"`
		Time     string   `xml:"time,attr"`
		Suites   []junitSuite
	}
	junitSuite struct {
		XMLName  xml.Name `xml:"testsuite"`
		Name     string   `xml:"name,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Skipped  int      `xml:"skipped,attr"`
		Time     string   `xml:"time,attr"`
		Cases    []junitCase
	}
	junitCase struct {
		XMLName xml.Name      `xml:"testcase"`
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		File    string        `xml:"file,attr"`
		Line    int           `xml:"line,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitFailure `xml:"failure"`
		Skipped *struct{}     `xml:"skipped"`
		Output  string        `xml:"system-out,omitempty"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// writeJUnit writes the report that continuous integration reads.
func (t *testRun) writeJUnit(file string) error {
	seconds := func(list []outcome) string {
		var all time.Duration
		for _, o := range list {
			all += o.took
		}
		return fmt.Sprintf("%.3f", all.Seconds())
	}
	n := countOf(t.out)
	report := junitReport{Tests: len(t.out), Failures: n.failed, Skipped: n.skipped, Time: seconds(t.out)}
	files, of := t.byFile()
	for _, file := range files {
		n := countOf(of[file])
		s := junitSuite{Name: file, Tests: len(of[file]), Failures: n.failed, Skipped: n.skipped, Time: seconds(of[file])}
		for _, o := range of[file] {
			c := junitCase{Class: strings.TrimSuffix(filepath.ToSlash(file), filepath.Ext(file)), Name: o.name, File: o.file, Line: o.pos.Line, Time: seconds([]outcome{o}), Output: printable(o.output)}
			switch o.status {
			case skipped:
				c.Skipped = &struct{}{}
			case failed:
				var lines []string
				for _, f := range o.failures {
					lines = append(lines, append([]string{f.pos.String() + ": " + f.text}, f.more...)...)
				}
				c.Failure = &junitFailure{Message: printable(o.failures[0].text), Text: printable(strings.Join(lines, "\n"))}
			}
			s.Cases = append(s.Cases, c)
		}
		report.Suites = append(report.Suites, s)
	}
	b, err := xml.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, slices.Concat([]byte(xml.Header), b, []byte("\n")), 0o666)
}

// printable leaves out what XML cannot hold.
func printable(s string) string { return console.Clean(s) }
