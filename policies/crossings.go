package policies

// Crossings returns what the calls of every kind but tool and builtin look like, by the kind's name, which is
// also the call's tool. A gate builds their requests from these; rules are checked against them.
// (A builtin has effects, sinks and parameters of none, whatever its name.)
func Crossings() []ToolSchema {
	text := []byte(`{"type":"string"}`)
	whole := []byte(`{"type":"integer"}`)
	return []ToolSchema{
		// The user gets the answer and the run ends. The user is inside: this is no egress.
		{Name: KindAnswer, Params: []ParamSchema{{Name: "value", Sink: SinkContent, Required: true}}},
		// More readers for a value. Kind is bool, int, enum or other; bits is how much it can say.
		{Name: KindDeclassify, Params: []ParamSchema{
			{Name: "value", Required: true}, {Name: "readers", Schema: []byte(`{"type":"array","items":{"type":"string"}}`), Required: true},
			{Name: "why", Schema: text}, {Name: "kind", Schema: text}, {Name: "bits", Schema: whole},
		}},
		// More trust for a value.
		{Name: KindEndorse, Params: []ParamSchema{
			{Name: "value", Required: true}, {Name: "trust", Schema: text, Required: true},
			{Name: "why", Schema: text}, {Name: "kind", Schema: text}, {Name: "bits", Schema: whole},
		}},
		// A model without tools answers a question about data.
		{Name: KindModel, Effects: []string{EffectEgress}, Params: []ParamSchema{
			{Name: "question", Schema: text, Sink: SinkModel, Required: true}, {Name: "data", Sink: SinkModel},
			{Name: "schema"}, {Name: "provider", Schema: text},
		}},
		// The model that writes the programs is shown a value.
		{Name: KindObserve, Effects: []string{EffectEgress}, Params: []ParamSchema{
			{Name: "value", Sink: SinkModel, Required: true}, {Name: "name", Schema: text}, {Name: "provider", Schema: text},
		}},
		// A program starts: its text, and the inputs that it is given. A program may hold secrets: nothing leaves by that.
		{Name: KindProgram, Params: []ParamSchema{{Name: "text", Schema: text, Required: true}, {Name: "inputs", Sink: SinkSecret}}},
	}
}
