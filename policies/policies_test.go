package policies

import (
	"testing"

	"callgate/engine/label"
)

func TestMayRead(t *testing.T) {
	ana := Principal{Sub: "ana@corp.example", Groups: []string{"finance"}}
	for _, test := range []struct {
		name    string
		who     Principal
		readers label.Readers
		want    bool
	}{
		{"what everybody may", ana, label.Public(), true},
		{"what everybody may, without a name", Principal{}, label.Public(), true},
		{"by name", ana, label.Only("ana@corp.example"), true},
		{"another's", ana, label.Only("bob@corp.example"), false},
		{"nobody's", ana, label.Readers{}, false},
		{"the group's", ana, label.Only("group:finance"), true},
		{"another group's", ana, label.Only("group:sales"), false},
		{"a reader who is called as the group", ana, label.Only("finance"), false},
		{"everybody's there", ana, label.Only("corp.example"), true},
		{"everybody's elsewhere", ana, label.Only("example"), false},
		{"a group's, without a name", Principal{Groups: []string{"finance"}}, label.Only("group:finance"), false},
		{"a reader without a name, without a name", Principal{}, label.Only(""), false},
		{"a reader without a name, of no host", Principal{Sub: "ana@"}, label.Only(""), false},
		{"a group's name as a name", Principal{Sub: "group:finance"}, label.Only("group:finance"), false},
	} {
		if got := test.who.MayRead(label.New(label.User, test.readers, nil)); got != test.want {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}
