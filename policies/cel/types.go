package cel

import (
	"fmt"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// objectType is the type of an [object]. Its name cannot be written as an
// expression, so that no type is taken for a variable; it is shown in messages.
type objectType struct {
	name   string
	typ    *types.Type
	order  []string
	fields map[string]*types.FieldType

	// others are fields that this type lacks and its siblings have: the parameters
	// of other tools that the same rule applies to. They are never set.
	others map[string]bool
}

func newObjectType(name string) *objectType {
	return &objectType{name: name, typ: types.NewObjectType(name), fields: map[string]*types.FieldType{}}
}

// add declares a field. The getter may return an error value; has may be nil for
// a field that is always there.
func (t *objectType) add(name string, typ *types.Type, get func(from any) ref.Val, has func(from any) bool) *objectType {
	if has == nil {
		has = func(any) bool { return true }
	}
	t.order = append(t.order, name)
	t.fields[name] = &types.FieldType{
		Type:  typ,
		IsSet: has,
		GetFrom: func(from any) (any, error) {
			v := get(from)
			if e, ok := v.(*types.Err); ok {
				return nil, e
			}
			return v, nil
		},
	}
	return t
}

// field returns a field's type, or nil.
func (t *objectType) field(name string) *types.FieldType {
	if f := t.fields[name]; f != nil {
		return f
	}
	if t.others[name] {
		return absentField
	}
	return nil
}

// absentField is the type of a field that is never there: asking for it is an error.
var absentField = &types.FieldType{
	Type:    types.DynType,
	IsSet:   func(any) bool { return false },
	GetFrom: func(any) (any, error) { return nil, fmt.Errorf("no such parameter") },
}

// provider resolves types for the checker and the planner: the types of the
// document, and those of one policy and one tool.
type provider struct {
	own map[string]*objectType // by name; hides documentTypes
}

func (p *provider) object(name string) *objectType {
	if t := p.own[name]; t != nil {
		return t
	}
	return documentTypes[name]
}

func (p *provider) FindStructType(name string) (*types.Type, bool) {
	t := p.object(name)
	if t == nil {
		return nil, false
	}
	return types.NewTypeTypeWithParam(t.typ), true
}

func (p *provider) FindStructFieldNames(name string) ([]string, bool) {
	t := p.object(name)
	if t == nil {
		return nil, false
	}
	return slices.Clone(t.order), true
}

func (p *provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	t := p.object(name)
	if t == nil {
		return nil, false
	}
	f := t.field(field)
	return f, f != nil
}

// FindIdent resolves the names of CEL's own types, such as string in type(x) == string.
func (p *provider) FindIdent(name string) (ref.Val, bool) {
	t := basicTypes[name]
	return t, t != nil
}

func (p *provider) EnumValue(name string) ref.Val {
	return types.NewErr("unknown enum name %q", name)
}

// NewValue refuses: expressions read objects and do not make them.
func (p *provider) NewValue(name string, _ map[string]ref.Val) ref.Val {
	return types.NewErr("%s cannot be made in an expression", name)
}

var basicTypes = func() map[string]*types.Type {
	m := map[string]*types.Type{}
	for _, t := range []*types.Type{
		types.BoolType, types.BytesType, types.DoubleType, types.DurationType, types.IntType, types.ListType,
		types.MapType, types.NullType, types.OptionalType, types.StringType, types.TimestampType, types.TypeType, types.UintType,
	} {
		m[t.TypeName()] = t
	}
	return m
}()
