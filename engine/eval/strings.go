package eval

// addStringMethods adds the methods of strings and bytes.
func addStringMethods() {}
