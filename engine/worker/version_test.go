package worker

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"callgate/engine/eval"
	"callgate/engine/value"
)

// Both sides of a connection may be of different builds. What frames hold belongs to a version of theirs.
func TestFramesAreThoseOfTheirVersion(t *testing.T) {
	none := value.NoneOf(low)
	var e encoder
	sum := sha256.New()
	for _, write := range []func(*encoder){
		(&hello{achieved: []string{"a"}}).write,
		(&start{tools: []eval.ToolSig{{Name: "t", Params: []string{"p"}}}, inputs: []eval.Input{{Name: "i", Value: none}}, anew: []string{"i"}}).write,
		(&program{}).write, (&refusal{err: &eval.CallError{}}).write, (&started{names: []string{"n"}}).write, (&answer{v: none}).write, (&blob{}).write,
		(&ended{out: eval.Outcome{
			Err: &eval.Error{Stack: []eval.Site{{}}}, Answer: &none, Prints: []eval.Print{{Args: []value.Value{none}}}, Rises: []eval.Rise{{}}, Permits: map[string]int64{"p": 1},
		}, names: []string{"n"}}).write,
		func(e *encoder) { writeCall(e, &eval.Call{Args: []eval.Arg{{Name: "a", Value: none}}}) },
		func(e *encoder) { writeResult(e, &eval.Result{Value: none}) },
		func(e *encoder) { writeResult(e, &eval.Result{Err: &eval.CallError{}}) },
	} {
		e.reset()
		write(&e)
		fmt.Fprintf(sum, "%x\n", e.body(0))
	}
	const version, want = 2, "36a7eb67ee9ab761"
	if got := fmt.Sprintf("%x", sum.Sum(nil)[:8]); got != want || Version != version {
		t.Errorf("the frames of version %d are %s, and were %s in version %d: count Version up, and put both here", Version, got, want, version)
	}
}
