package eval

import "testing"

func TestStringMethods(t *testing.T) { checkFile(t, "strings.star") }
func TestFormatting(t *testing.T)    { checkFile(t, "format.star") }
func TestJSON(t *testing.T)          { checkFile(t, "json.star") }
