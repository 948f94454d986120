package cel

// lint reports what type checking does not: names that come from data.
func (p *policy) lint() {}
