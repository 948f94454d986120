package builtins

import (
	"context"
	"slices"
	"strings"
	"testing"

	"callgate/engine/label"
	"callgate/engine/value"
)

func casesTool() *Tool {
	internal := label.New(label.Internal, label.Public(), nil)
	return &Tool{
		Name: "web.get", Params: []Param{{Name: "url", Sink: "url"}}, Effects: Read,
		Label: Source{Class: label.New(label.Untrusted, label.Public(), nil), Of: "{args.url.host}", Cases: []Case{
			{When: "the office", Class: internal, Fits: func(args map[string]any) bool { s, _ := args["url"].(string); return strings.Contains(s, "office") }},
		}},
		Run: func(context.Context, *Invocation) (any, error) { return nil, nil },
	}
}

func TestCasesLabelWhatFits(t *testing.T) {
	tool := casesTool()
	for url, want := range map[any]label.Trust{"https://office.example/x": label.Internal, "https://evil.example/x": label.Untrusted, nil: label.Untrusted, int64(5): label.Untrusted} {
		args, err := value.Of(map[string]any{"url": url}, label.Bottom())
		if err != nil {
			t.Fatal(err)
		}
		got, err := tool.LabelResult([]any{"x"}, args)
		if err != nil || got.Deep().Trust() != want {
			t.Errorf("%v: got %s %v, want %s", url, got.Deep(), err, want)
		}
		if s, ok := url.(string); ok {
			if src := got.Deep().Sources(); len(src) != 1 || !strings.Contains(s, src[0].Of) || strings.Contains(src[0].Of, "/") {
				t.Errorf("%v: its sources are %v, want the host", url, src)
			}
		}
	}
	if got := tool.Assumptions(); !slices.Equal(got, []string{"web.get: result, of the office: assumed to be internal/public"}) {
		t.Errorf("assumed: %q", got)
	}
}

// Who declares a class for all of a tool's results declares it for its cases too.
func TestADeclaredClassIsThatOfEveryCase(t *testing.T) {
	tool := casesTool()
	low := label.New(label.Untrusted, label.Only(), nil)
	if bad := tool.Declare(Declaration{Class: &low}); bad != nil {
		t.Fatal(bad)
	}
	args, err := value.Of(map[string]any{"url": "https://office.example/"}, label.Bottom())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := tool.LabelResult("x", args); err != nil || !got.Deep().SameClass(low) {
		t.Errorf("got %s %v, want %s", got.Deep(), err, low)
	}
	high := label.New(label.Internal, label.Public(), nil)
	if bad := casesTool().Declare(Declaration{Class: &high}); bad == nil {
		t.Error("a class above that of the tool's errors was taken")
	}
}

func TestACaseThatIsLowerThanErrorsIsRefused(t *testing.T) {
	tool := casesTool()
	tool.Label.Cases[0].Class = label.Top()
	if err := new(Set).Add(tool); err == nil || !strings.Contains(err.Error(), `case "the office"`) {
		t.Errorf("got %v", err)
	}
	tool = casesTool()
	tool.Label.Cases[0].Fits = nil
	if err := new(Set).Add(tool); err == nil {
		t.Error("a case without a condition was taken")
	}
}
